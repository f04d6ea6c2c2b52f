"""The members of request bodies and the parameters of paths and queries, with units.

The shape check and the OpenAPI document read the same tables.
"""

from dataclasses import dataclass
from typing import Any

from quietswap.api.body import Field, Kind
from quietswap.api.meaning import (
    DEFAULT_LIMIT,
    DEFAULT_SLIPPAGE_BPS,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_SLIPPAGE_BPS,
)
from quietswap.api.schema import EIP55, ETHER, UINT256
from quietswap.domain.order import Status
from quietswap.domain.quote import Operation
from quietswap.domain.token import WETH
from quietswap.domain.transaction import MAINNET

_STRING, _NUMBER, _OBJECT, _ARRAY = Kind.STRING, Kind.NUMBER, Kind.OBJECT, Kind.ARRAY

EXAMPLE_USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
EXAMPLE_WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
EXAMPLE_ROUTER = "0x6131B5fae19EA4f9D964eAc0408E4408b66337b5"
EXAMPLE_CALLDATA = "0xe21fd0e9"
EXAMPLE_RAW = "0x02f8b0018080"
EXAMPLE_SWAP_METADATA = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/noreverts?shareSafe=1&referrer=quietswap",
        "endpointType": "noreverts",
        "expectedRebate": 0.04,
        "shareMode": "shareSafe",
        "revertProtection": True,
        "useBoost": False,
    },
}
EXAMPLE_WRAP_METADATA = {
    "provider": "mev_relay",
    "tier": 2,
    "mevRelayMetadata": {
        "endpoint": "https://rpc.mevblocker.io/fullprivacy?referrer=quietswap",
        "endpointType": "fullprivacy",
        "shareMode": "none",
        "revertProtection": True,
        "useBoost": False,
    },
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a path or query; `schema` is its JSON Schema."""

    name: str
    description: str
    schema: dict[str, Any]
    example: Any
    required: bool = False
    place: str = "query"


def _integer(least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


_ADDRESS = {"type": "string", **EIP55}
_ID = {"pattern": "^[!-~]{1,128}$"}
_USER = "Wallet address with its EIP-55 checksum."

QUOTE_PARAMETERS = (
    Parameter("sellToken", "Token to sell, EIP-55; native ETH is refused.", _ADDRESS, WETH, True),
    Parameter("buyToken", "Token to buy, EIP-55; another one.", _ADDRESS, EXAMPLE_USDC, True),
    Parameter(
        "sellAmount",
        "Amount to sell in the sell token's smallest units: decimal digits, 1 to 2^256 - 1.",
        {"type": "string", **UINT256},
        "1000000000000000000",
        True,
    ),
    Parameter("userAddress", _USER + " It will sign.", _ADDRESS, EXAMPLE_WALLET, True),
    Parameter("chainId", "Ethereum mainnet only.", _integer(MAINNET, MAINNET, MAINNET), MAINNET),
    Parameter(
        "slippageBps",
        "Slippage tolerance in basis points (50 = 0.5 %).",
        _integer(1, MAX_SLIPPAGE_BPS, DEFAULT_SLIPPAGE_BPS),
        DEFAULT_SLIPPAGE_BPS,
    ),
)

ORDER_PARAMETERS = (
    Parameter(
        "orderId",
        "The id the order was submitted under.",
        {"type": "string", **_ID},
        "ord_01",
        True,
        "path",
    ),
)

HISTORY_PARAMETERS = (
    Parameter("userAddress", _USER, _ADDRESS, EXAMPLE_WALLET, True, "path"),
    Parameter("limit", "Orders a page.", _integer(1, MAX_LIMIT, DEFAULT_LIMIT), DEFAULT_LIMIT),
    Parameter("offset", "Orders to skip.", _integer(0, MAX_OFFSET, 0), 0),
    Parameter(
        "status",
        "Only orders in this status.",
        {"type": "string", "enum": [status.value for status in Status]},
        "confirmed",
    ),
)

WRAP_INFO_PARAMETERS = (Parameter("userAddress", _USER, _ADDRESS, EXAMPLE_WALLET, True),)

_SIGNED = Field(
    "signedTransaction",
    _STRING,
    "The signed type 2 transaction, RLP-encoded, as 0x-prefixed hex.",
    EXAMPLE_RAW,
)

_PROTECTION = Field(
    "estimatedProtection",
    _OBJECT,
    "Estimated protection.",
    required=False,
    inside=(
        Field("amount", _NUMBER, "Amount in `currency`.", 12.5, False),
        Field("currency", _STRING, "Currency, such as USD.", "USD", False),
    ),
)

_THREAT = Field(
    "threatAnalysis",
    _OBJECT,
    "The threat as the client saw it; kept for its shape, not trusted.",
    inside=(
        Field("threatScore", _NUMBER, "Score.", 20, False),
        Field("threatLevel", _STRING, "The quote's mevAnalysis.threatLevel.", "LOW", False),
        Field("confidence", _NUMBER, "Confidence.", 0.9, False),
        Field("riskFactors", _ARRAY, "Risk factors.", [], False),
        Field(
            "estimatedSavings",
            _OBJECT,
            "Estimated savings.",
            required=False,
            inside=(_PROTECTION,),
        ),
        Field("timestamp", _NUMBER, "Unix milliseconds.", 1_800_000_000_000, False),
    ),
)

_ROUTE = Field(
    "dexRoute",
    _OBJECT,
    "The quote's dexRoute; it may also carry `estimatedGas`, which is not looked at.",
    inside=(
        Field("target", _STRING, "The quote's dexRoute.target.", EXAMPLE_ROUTER),
        Field("data", _STRING, "The quote's dexRoute.data.", EXAMPLE_CALLDATA),
        Field("source", _STRING, "The quote's source.", "kyberswap", False),
    ),
)

ORDER_FIELDS = (
    Field(
        "orderParams",
        _OBJECT,
        "What was quoted.",
        inside=(
            Field("fromToken", _STRING, "The quote's sellToken.", WETH),
            Field("toToken", _STRING, "The quote's buyToken.", EXAMPLE_USDC),
            Field("amount", _STRING, "The quote's sellAmount, smallest units.", str(10**18)),
            Field("minReturnAmount", _STRING, "The quote's minBuyAmount.", "2985000000"),
            Field("userAddress", _STRING, "The wallet that signed.", EXAMPLE_WALLET),
            Field("chainId", _NUMBER, "1 = Ethereum mainnet.", MAINNET),
            Field("deadline", _NUMBER, "Unix seconds; refused once passed.", 1_800_000_600),
            Field("slippageBps", _NUMBER, "The quote's slippage, basis points.", 50),
            Field("selectedTier", _NUMBER, "The quote's providerMetadata.tier.", 2),
            _THREAT,
            Field("transactionValueUsd", _NUMBER, "The quote's scoring.netValueUsd.", 2999.1),
            _ROUTE,
            Field("referrer", _STRING, "Referrer identifier.", "example", False),
        ),
    ),
    _SIGNED,
    Field(
        "providerMetadata",
        _OBJECT,
        "The quote's mevProtection.providerMetadata, unchanged.",
        EXAMPLE_SWAP_METADATA,
    ),
)

_OPERATIONS = {"enum": [operation.value for operation in Operation]}

WRAP_QUOTE_FIELDS = (
    Field("operation", _STRING, "Direction.", "wrap", judged_later=True, rule=_OPERATIONS),
    Field(
        "amount",
        _STRING,
        "Positive decimal amount in ETH (not wei), at most 18 decimals.",
        "1.5",
        judged_later=True,
        rule=ETHER,
    ),
    Field("userAddress", _STRING, _USER, EXAMPLE_WALLET, judged_later=True, rule=EIP55),
    Field(
        "chainId",
        _NUMBER,
        "1, the default, is the only chain.",
        MAINNET,
        False,
        rule={"enum": [MAINNET]},
    ),
)

WRAP_ORDER_FIELDS = (
    Field(
        "quoteId",
        _STRING,
        "The quote's id; when given, the transaction must be that quote's.",
        "weth_wrap_1800000000000_4f3a9c",
        False,
        rule=_ID,
    ),
    _SIGNED,
    Field(
        "providerMetadata",
        _OBJECT,
        "The quote's mevProtection.providerMetadata, unchanged.",
        EXAMPLE_WRAP_METADATA,
    ),
    Field("operation", _STRING, "The quote's operation.", "wrap", rule=_OPERATIONS),
    Field("amount", _STRING, "The quote's amount in ETH.", "1.5", False, rule=ETHER),
)
