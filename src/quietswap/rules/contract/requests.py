"""What requests hold: path segments, query parameters and bodies.

`quietswap.service.api.parsing` reads queries as text and reports every fault of a body at once.
Both use the names, types and limits that are declared here.
"""

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from quietswap.rules import wire as base
from quietswap.rules.contract import request_limits as limits
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import AddressText, EtherText, RequestStruct, WireStruct, doc, ref

OWN_CODE = "own_code"
"""Key in `Meta.extra`: the error code that a wrong JSON type of this member has."""

ANY_KIND = "any"
"""A filter by kind that lists all orders."""

_UserAddress = Annotated[AddressText, doc("Wallet address with its EIP-55 checksum.", base.WALLET)]
_ChainId = Annotated[int, Meta(ge=MAINNET, le=MAINNET), doc("Ethereum mainnet only.", MAINNET)]
_OrderId = Annotated[
    str, doc("The id of the submitted order.", base.ORDER_ID, pattern=base.ID_PATTERN)
]
WholeNumber = Annotated[float, Meta(multiple_of=1)]
"""1.0 is a whole number, too: the shape check accepts each JSON number."""
SellToken = Annotated[AddressText, doc("Token to sell, EIP-55; native ETH is rejected.", WETH)]
BuyToken = Annotated[
    AddressText, doc("Token to buy, EIP-55; must differ from sellToken.", base.USDC)
]
SELL_AMOUNT = "Amount to sell in the sell token's smallest units: decimal digits, 1 to 2^255 - 1."
UINT256 = {"format": "uint256", "pattern": base.UINT256_PATTERN}
_OPERATIONS = [operation.value for operation in WrapOperation]


class OrderPath(WireStruct, frozen=True, kw_only=True):
    """Path of the status and cancel endpoints."""

    order_id: _OrderId


class WalletPath(WireStruct, frozen=True, kw_only=True):
    """Path of the history endpoint."""

    user_address: _UserAddress


class SwapQuoteQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/quote."""

    sell_token: SellToken
    buy_token: BuyToken
    sell_amount: Annotated[
        str | None,
        doc(
            f"{SELL_AMOUNT} Required, unless minBuyAmount stands in its place.",
            base.ONE_ETHER,
            type="string",
            **UINT256,
            **base.USUAL,
        ),
    ] = None
    user_address: Annotated[
        _UserAddress, doc("Address of the wallet that will sign, with its EIP-55 checksum.")
    ]
    chain_id: _ChainId = MAINNET
    slippage_bps: Annotated[
        int,
        Meta(ge=1, le=limits.MAX_SLIPPAGE_BPS),
        doc("Slippage tolerance in basis points (50 = 0.5 %).", limits.DEFAULT_SLIPPAGE_BPS),
    ] = limits.DEFAULT_SLIPPAGE_BPS
    min_buy_amount: Annotated[
        str | None,
        doc(
            "In the place of sellAmount: the least that must arrive, in the buy token's smallest"
            " units, 1 to 2^255 - 1. The quote has the least sellAmount found with at most three"
            " quotes whose minBuyAmount is at least this.",
            "3000000000",
            type="string",
            **UINT256,
        ),
    ] = None
    conversion: Annotated[
        str | None,
        doc(
            "For a delegated wallet: batch also wraps what is sold (wrap; sellToken is WETH), or"
            " unwraps minBuyAmount (unwrap; buyToken is WETH).",
            "wrap",
            type="string",
            enum=_OPERATIONS,
        ),
    ] = None


class PriceQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/price: that of a quote without its wallet."""

    sell_token: SellToken
    buy_token: BuyToken
    sell_amount: Annotated[str, doc(SELL_AMOUNT, base.ONE_ETHER, **UINT256)]
    chain_id: _ChainId = MAINNET
    sources: Annotated[
        str | None,
        doc(
            "own: ask the service's own source only, at no vendor's budget, whatever it finds.",
            "own",
            type="string",
            enum=["own"],
        ),
    ] = None


class TokensQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/tokens."""

    search: Annotated[
        str | None,
        doc(
            "Part of a symbol or name, or an address. A whole address also finds unlisted tokens.",
            "weth",
            type="string",
            maxLength=limits.MAX_SEARCH,
        ),
    ] = None
    limit: Annotated[
        int, Meta(ge=1, le=limits.MAX_LIMIT), doc("Tokens per page.", limits.DEFAULT_LIMIT)
    ] = limits.DEFAULT_LIMIT
    offset: Annotated[int, Meta(ge=0, le=limits.MAX_OFFSET), doc("Tokens to skip.", 0)] = 0


class BalancesQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/balances/:userAddress."""

    tokens: Annotated[
        str | None,
        doc(
            f"Token addresses, EIP-55, separated by commas, at most {limits.MAX_BALANCE_TOKENS}. "
            "Without it: WETH. ETH is always in the answer.",
            f"{WETH},{base.USDC}",
            type="string",
            format="eip55-list",
        ),
    ] = None


class OrderHistoryQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/orders/user/:userAddress."""

    limit: Annotated[
        int, Meta(ge=1, le=limits.MAX_LIMIT), doc("Orders per page.", limits.DEFAULT_LIMIT)
    ] = limits.DEFAULT_LIMIT
    offset: Annotated[int, Meta(ge=0, le=limits.MAX_OFFSET), doc("Orders to skip.", 0)] = 0
    as_of: Annotated[
        int,
        Meta(ge=0, le=limits.MAX_OFFSET),
        doc(
            "The `total` of your first page: orders that arrived since are skipped, so that each"
            " order comes once. 0: not given.",
            0,
        ),
    ] = 0
    status: Annotated[
        str | None, doc("Only orders in this status.", "confirmed", type="string", enum=OrderStatus)
    ] = None
    kind: Annotated[
        str,
        doc(
            "Only orders of this kind, or of `any` kind. `approval` and `transaction` come from"
            " wallet RPC URLs.",
            "swap",
            enum=[*(kind.value for kind in OrderKind), ANY_KIND],
        ),
    ] = "swap"


class WrapInfoQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/wrap/info."""

    user_address: _UserAddress


class EstimatedProtection(RequestStruct, frozen=True, kw_only=True):
    """Estimated protection."""

    amount: Annotated[base.Figure | None, doc("Amount in `currency`.", 12.5)] = None
    currency: Annotated[str | None, doc("Currency, such as USD.", "USD")] = None


class EstimatedSavings(RequestStruct, frozen=True, kw_only=True):
    """Estimated savings."""

    estimated_protection: Annotated[EstimatedProtection | None, doc("Estimated protection.")] = None


class ThreatAnalysis(RequestStruct, frozen=True, kw_only=True):
    """The threat in the client's view. Its shape is checked, its values are not used."""

    threat_score: Annotated[float | None, doc("Score.", 20)] = None
    threat_level: Annotated[str | None, doc("The quote's mevAnalysis.threatLevel.", "LOW")] = None
    confidence: Annotated[float | None, doc("Confidence.", 0.9)] = None
    risk_factors: Annotated[list[Any] | None, doc("Risk factors.", [])] = None
    estimated_savings: Annotated[EstimatedSavings | None, doc("Estimated savings.")] = None
    timestamp: Annotated[WholeNumber | None, doc("Unix milliseconds.", 1_800_000_000_000)] = None


class OrderedRoute(RequestStruct, frozen=True, kw_only=True):
    """The quote's dexRoute. Members without a type are accepted and not used."""

    target: Annotated[str, doc("The quote's dexRoute.target.", base.ROUTER)]
    data: Annotated[str, doc("The quote's dexRoute.data.", base.CALLDATA)]
    source: Annotated[str | None, doc("The quote's source.", "kyberswap")] = None
    dex: Annotated[Any, doc("The quote's dexRoute.dex.", "uniswap-v3")] = None
    path: Annotated[Any, doc("The quote's dexRoute.path.", [WETH, base.USDC])] = None
    estimated_gas: Annotated[Any, doc("The quote's estimatedGas, gas units.", 210_000)] = None


class SwapOrderParams(RequestStruct, frozen=True, kw_only=True):
    """What was quoted."""

    from_token: Annotated[str, doc("The quote's sellToken.", WETH)]
    to_token: Annotated[str, doc("The quote's buyToken.", base.USDC)]
    amount: Annotated[str, doc("The quote's sellAmount, smallest units.", base.ONE_ETHER)]
    min_return_amount: Annotated[
        str, doc("The quote's minBuyAmount, smallest units.", "2985000000")
    ]
    user_address: Annotated[str, doc("The wallet that signed.", base.WALLET)]
    chain_id: Annotated[WholeNumber, doc("1 = Ethereum mainnet.", MAINNET)]
    deadline: Annotated[
        WholeNumber,
        doc(
            "Unix seconds; rejected once passed, and if in milliseconds.",
            1_800_000_600,
            exclusiveMaximum=limits.DEADLINE_END,
        ),
    ]
    slippage_bps: Annotated[WholeNumber, doc("The quote's slippage, basis points.", 50)]
    selected_tier: Annotated[WholeNumber, doc("The quote's providerMetadata.tier.", 2)]
    threat_analysis: Annotated[ThreatAnalysis, doc("The threat in the client's view; not used.")]
    transaction_value_usd: Annotated[base.Figure, doc("The quote's scoring.netValueUsd.", 2999.1)]
    dex_route: Annotated[OrderedRoute, doc("The quote's dexRoute.")]
    referrer: Annotated[str | None, doc("Referrer identifier.", "example")] = None


_SIGNED = "The signed type 2 transaction, RLP-encoded, as 0x-prefixed hex."
_METADATA = "The quote's mevProtection.providerMetadata, unchanged."


class SwapOrderBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/orders."""

    order_params: Annotated[SwapOrderParams, doc("What was quoted.")]
    signed_transaction: Annotated[str, doc(_SIGNED, base.SIGNED)]
    provider_metadata: Annotated[
        dict[str, Any], doc(_METADATA, base.SWAP_METADATA, **ref("SwapProviderMetadata"))
    ]


class OrderCancelBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/orders/:orderId/cancel: both members, or neither."""

    json_schema: ClassVar[dict[str, Any]] = {
        "dependentRequired": {
            "signedTransaction": ["providerMetadata"],
            "providerMetadata": ["signedTransaction"],
        }
    }

    signed_transaction: Annotated[
        str | None,
        doc(
            "The signed cancel, as 0x-prefixed hex; without it the answer is what to sign.",
            base.SIGNED,
        ),
    ] = None
    provider_metadata: Annotated[
        dict[str, Any] | None,
        doc(
            "The first answer's providerMetadata, unchanged; required with signedTransaction.",
            base.WRAP_METADATA,
            **ref("ProviderMetadata"),
        ),
    ] = None


class WrapQuoteBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/wrap/quote."""

    operation: Annotated[
        str,
        Meta(extra={OWN_CODE: "INVALID_OPERATION"}),
        doc("Direction.", "wrap", enum=_OPERATIONS),
    ]
    amount: Annotated[
        EtherText,
        Meta(extra={OWN_CODE: "INVALID_AMOUNT"}),
        doc(
            "Positive decimal amount in ETH (not wei), at most 18 decimals.", "1.5", format="ether"
        ),
    ]
    user_address: Annotated[_UserAddress, Meta(extra={OWN_CODE: "INVALID_ADDRESS"})]
    chain_id: Annotated[
        Annotated[WholeNumber, doc("Ethereum mainnet", enum=[MAINNET])] | None,
        doc("1, the default, is the only chain.", MAINNET),
    ] = None


class WrapOrderBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/wrap/order."""

    quote_id: Annotated[
        Annotated[str, doc("Quote id", pattern=base.ID_PATTERN)] | None,
        doc("The quote's id. If given, that quote must match.", base.WRAP_QUOTE_ID),
    ] = None
    signed_transaction: Annotated[str, doc(_SIGNED, base.SIGNED)]
    provider_metadata: Annotated[
        dict[str, Any], doc(_METADATA, base.WRAP_METADATA, **ref("ProviderMetadata"))
    ]
    operation: Annotated[str, doc("The quote's operation.", "wrap", enum=_OPERATIONS)]
    amount: Annotated[
        Annotated[EtherText, doc("Decimal ETH", format="ether")] | None,
        doc("The quote's amount in ETH.", "1.5"),
    ] = None
