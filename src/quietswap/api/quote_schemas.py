"""What quotes look like, every field with its unit."""

from typing import Any

from quietswap.api.fields import (
    EXAMPLE_CALLDATA,
    EXAMPLE_ROUTER,
    EXAMPLE_SWAP_METADATA,
    EXAMPLE_USDC,
    EXAMPLE_WRAP_METADATA,
)
from quietswap.api.schema import (
    Schema,
    address,
    array,
    boolean,
    constant,
    ether,
    integer,
    moment,
    number,
    or_null,
    text,
    thing,
    units,
)
from quietswap.domain.protection import PROVIDER, EndpointType, ShareMode
from quietswap.domain.quote import Operation, Outcome, ThreatLevel, Verification
from quietswap.domain.token import WETH

OPERATION = text("Direction", "wrap", enum=[o.value for o in Operation])
TIER = integer("Protection tier: 2 the relay, 4 the operator's second one", 2, enum=[2, 4])
_CALLDATA = {"pattern": "^0x([0-9a-f]{2})*$"}


def _settings(*, rebate: bool) -> Schema:
    members = {
        "endpoint": text("Relay RPC endpoint URL with query parameters", format="uri"),
        "endpointType": text("Relay endpoint", enum=[e.value for e in EndpointType]),
        "expectedRebate": number("Expected rebate in USD", 0.04),
        "shareMode": text(
            "What searchers may see of the transaction", enum=[s.value for s in ShareMode]
        ),
        "revertProtection": boolean("Whether the relay drops it once it would revert"),
        "useBoost": constant(False, "Boost needs a priority fee, which is always 0"),
    }
    if not rebate:
        del members["expectedRebate"]
    return thing("Relay settings", members)


def _protection(
    nonce: Schema, *, to: str, data: str, value: str, metadata: dict[str, Any]
) -> Schema:
    rebate = "expectedRebate" in metadata["mevRelayMetadata"]
    params = thing(
        "The EIP-1559 transaction to sign, unchanged",
        {
            "to": address("Contract to call", to),
            "data": text("Calldata as hex", data, **_CALLDATA),
            "value": units("Wei to send along; 0 for swaps and unwraps", value),
            "gasLimit": units("Most gas units", "262500"),
            "maxFeePerGas": units("Most wei per gas unit", "2000000000"),
            "maxPriorityFeePerGas": constant("0", "Always 0: the relay orders privately"),
            "nonce": nonce,
            "chainId": constant(1, "Ethereum mainnet"),
            "type": constant(2, "EIP-1559"),
        },
    )
    settings = thing(
        "To be sent back unchanged with the order",
        {
            "provider": constant(PROVIDER, "The relay"),
            "tier": TIER,
            "mevRelayMetadata": _settings(rebate=rebate),
        },
    )
    return thing(
        "How the transaction is protected",
        {
            "provider": text("Display name of the relay", "MEV Blocker"),
            "transactionParams": params,
            "providerMetadata": {**settings, "examples": [metadata]},
        },
    )


_ROUTE = thing(
    "The route",
    {
        "dex": text("Selected DEX", "uniswap-v3"),
        "target": address("Router; the sell token must be approved to it", EXAMPLE_ROUTER),
        "path": array("Tokens along the path", address("Token", WETH)),
        "data": text("Swap calldata as hex; immutable", EXAMPLE_CALLDATA, **_CALLDATA),
    },
)

_SCORING = thing(
    "What the route nets",
    {
        "netValueUsd": number("Net value after gas in USD; 0 when priceAvailable is false", 2999.1),
        "gasCostUsd": number("Estimated gas cost in USD; 0 when ETH has no price", 0.63),
        "priceAvailable": boolean("Whether netValueUsd is a measurement", True),
    },
)

_ALTERNATIVE = thing(
    "A lower-ranked route",
    {
        "source": text("Aggregator", "velora"),
        "buyAmount": units("Expected output, smallest units", "2990000000"),
        "netValueUsd": number("Net value in USD; 0 when scoring.priceAvailable is false", 2989.2),
    },
)

_SOURCE = thing(
    "What became of one aggregator",
    {
        "source": text("Aggregator", "kyberswap"),
        "outcome": text("What happened", "won", enum=[o.value for o in Outcome]),
        "latencyMs": integer("Time it took in milliseconds", 210),
        "promised": or_null(units("Promised output, smallest units")),
        "simulated": or_null(units("Simulated output, smallest units")),
        "differenceBps": or_null(integer("Simulated against promised, basis points")),
        "reason": or_null(text("Why it did not win, in plain words")),
    },
)

SWAP_QUOTE = thing(
    "Swap quote, valid for about 30 seconds",
    {
        "source": text("Winning aggregator", "kyberswap"),
        "sellToken": address("Sold token", WETH),
        "buyToken": address("Bought token", EXAMPLE_USDC),
        "sellAmount": units("Input, smallest units", "1000000000000000000"),
        "buyAmount": units("Expected output before slippage, smallest units", "3000000000"),
        "minBuyAmount": units("Least output after slippage, smallest units", "2985000000"),
        "estimatedGas": integer("Estimated gas units", 210_000),
        "priceImpact": number(
            "Percent (0.12 means 0.12 %); 0 when priceImpactAvailable is false", 0.12
        ),
        "priceImpactAvailable": boolean("Whether priceImpact is a measurement", True),
        "dexRoute": _ROUTE,
        "scoring": _SCORING,
        "alternatives": array("Lower-ranked routes, best first", _ALTERNATIVE),
        "mevAnalysis": thing(
            "What a sandwich would take if the swap were sent publicly",
            {
                "threatLevel": text("Threat", "LOW", enum=[t.value for t in ThreatLevel]),
                "estimatedProtectionUsd": number("Loss avoided, up to, in USD", 15.0),
            },
        ),
        "mevProtection": _protection(
            integer("The wallet's next nonce", 7),
            to=EXAMPLE_ROUTER,
            data=EXAMPLE_CALLDATA,
            value="0",
            metadata=EXAMPLE_SWAP_METADATA,
        ),
        "verification": thing(
            "Whether the route was simulated",
            {
                "status": text("Verdict", "verified", enum=[v.value for v in Verification]),
                "notes": array("What to know, in plain words", text("Note")),
            },
        ),
        "sources": array("Every aggregator that was configured", _SOURCE),
    },
)

WRAP_QUOTE = thing(
    "Wrap or unwrap quote, valid for 5 minutes",
    {
        "quote": thing(
            "The quote",
            {
                "quoteId": text(
                    "Id, weth_<operation>_<epoch_ms>_<suffix>",
                    "weth_wrap_1800000000000_4f3a9c",
                    pattern="^weth_(wrap|unwrap)_[0-9]+_[0-9a-zA-Z]+$",
                ),
                "operation": OPERATION,
                "amount": ether("Amount in ETH", "1.5"),
                "amountWei": units("Amount in wei", "1500000000000000000"),
                "inputToken": text("ETH, or the WETH address", "ETH"),
                "outputToken": text("The WETH address, or ETH", WETH),
                "mevProtection": _protection(
                    {"type": "null", "description": "The client sets the wallet's next nonce"},
                    to=WETH,
                    data="0xd0e30db0",
                    value="1500000000000000000",
                    metadata=EXAMPLE_WRAP_METADATA,
                ),
                "deadline": integer("Expiry in Unix seconds", 1_800_000_300),
                "estimatedGas": units("Estimated gas units", "45041"),
                "createdAt": moment("When it was issued"),
                "validUntil": moment("Expiry", "2027-01-15T08:05:00.000Z"),
            },
        )
    },
)
