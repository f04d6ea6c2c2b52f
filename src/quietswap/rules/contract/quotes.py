"""The answer of GET /api/v1/quote."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from quietswap.rules import wire as base
from quietswap.rules.contract.transactions import SwapMevProtection, TransactionParams
from quietswap.rules.quotes import quote
from quietswap.rules.quotes.quote import SourceOutcome
from quietswap.rules.safety.loss import LossCause, LossLevel
from quietswap.rules.tokens.token import WETH
from quietswap.rules.wire import AddressText, AmountText, Count, Figure, WireStruct, doc, ref


class LossCauseEntry(WireStruct, frozen=True, kw_only=True):
    """One cause of a loss."""

    cause: Annotated[str, doc("Cause", "price_impact", enum=LossCause)]
    bps: Annotated[
        Count | None, doc("Share of the value in basis points; null for an unknown price", 420)
    ]


class LossJudgement(WireStruct, frozen=True, kw_only=True):
    """What may be lost. Ask a person by `level` before anything is signed."""

    level: Annotated[
        str,
        doc(
            "Ask nothing, show a notice (from 1 %), ask for a confirmation in words (from 3 %, or"
            " if the price is unknown), or let the person type the loss (from 15 %)",
            "confirm",
            enum=LossLevel,
        ),
    ]
    bps: Annotated[Count, doc("The greatest known share of the value in basis points", 420)]
    causes: Annotated[
        tuple[LossCauseEntry, ...], doc("Causes of 1 % or more, the greatest first; gas from 10 %")
    ]


class DexRoute(WireStruct, frozen=True, kw_only=True):
    """The route."""

    dex: Annotated[str, doc("Name of the selected DEX", "uniswap-v3")]
    target: Annotated[
        AddressText,
        doc("Router; the sell token must be approved to it (EIP-55 checksummed)", base.ROUTER),
    ]
    path: Annotated[
        tuple[Annotated[AddressText, doc("Token (EIP-55 checksummed)", WETH)], ...],
        doc("Tokens along the path"),
    ]
    data: Annotated[base.HexText, doc("Swap calldata as hex; do not change it", base.CALLDATA)]


class Scoring(WireStruct, frozen=True, kw_only=True):
    """Value of the route after gas."""

    net_value_usd: Annotated[
        Figure, doc("Net value after gas in USD; 0 when priceAvailable is false", 2999.1)
    ]
    gas_cost_usd: Annotated[
        Figure, doc("Estimated gas cost in USD; 0 when the price of ETH is unknown", 0.63)
    ]
    price_available: Annotated[bool, doc("Whether netValueUsd is a measurement", True)] = True


class AlternativeEntry(WireStruct, frozen=True, kw_only=True):
    """A lower-ranked route."""

    source: Annotated[str, doc("Aggregator", "velora")]
    buy_amount: Annotated[AmountText, doc("Expected output, smallest units", "2990000000")]
    net_value_usd: Annotated[
        Figure, doc("Net value in USD; 0 when scoring.priceAvailable is false", 2989.2)
    ]


class MevAnalysis(WireStruct, frozen=True, kw_only=True):
    """Estimated loss to a sandwich if the swap were sent to the public mempool."""

    threat_level: Annotated[
        str,
        doc(
            "Threat level; if `known` is false, the highest level that the known values allow",
            "LOW",
            enum=quote.ThreatLevel,
        ),
    ]
    estimated_protection_usd: Annotated[
        Figure, doc("Upper bound of the loss avoided in USD; 0 when the value is unknown", 15.0)
    ]
    known: Annotated[
        bool, doc("Whether the value and price impact that the level needs are known", True)
    ] = True


class Verification(WireStruct, frozen=True, kw_only=True):
    """Whether the route was simulated, and whether its router enforces the terms."""

    status: Annotated[
        str, doc("Result of the simulation", "verified", enum=quote.VerificationStatus)
    ]
    bound: Annotated[
        bool | UnsetType,
        doc("Whether the router is proven to enforce minimum, amount and recipient", True),
    ] = UNSET
    notes: Annotated[tuple[Annotated[str, doc("Note")], ...], doc("Notes for people")] = ()


_REFERENCE = doc("Promise minus the pools' price before fees, in basis points", -31)


class SourceEntry(WireStruct, frozen=True, kw_only=True):
    """Result of one aggregator."""

    source: Annotated[str, doc("Aggregator", "kyberswap")]
    outcome: Annotated[str, doc("Result", "won", enum=quote.SourceOutcome)]
    latency_ms: Annotated[Count, doc("Response time in milliseconds", 210)]
    promised: Annotated[
        AmountText | None, doc("Output by the aggregator, smallest units of the buy token")
    ] = None
    simulated: Annotated[
        AmountText | None, doc("Output of the simulation, smallest units of the buy token")
    ] = None
    difference_bps: Annotated[
        int | None, doc("Simulated minus promised output in basis points")
    ] = None
    reason: Annotated[
        str | None, doc("Why the route was not chosen; a vendor's own words follow `vendor:`")
    ] = None
    reference_bps: Annotated[int | None, _REFERENCE] = None


class AllowanceIssue(WireStruct, frozen=True, kw_only=True):
    """The router may move less of the sell token than the sell amount."""

    spender: Annotated[
        AddressText, doc("Router to approve: dexRoute.target (EIP-55 checksummed)", base.ROUTER)
    ]
    actual: Annotated[AmountText, doc("Present allowance, smallest units", "0")]
    needed: Annotated[AmountText, doc("Sell amount, smallest units", base.ONE_ETHER)]


class BalanceIssue(WireStruct, frozen=True, kw_only=True):
    """The wallet holds less of the sell token than the sell amount."""

    token: Annotated[AddressText, doc("Sell token (EIP-55 checksummed)", WETH)]
    actual: Annotated[AmountText, doc("Present balance, smallest units", "0")]
    needed: Annotated[AmountText, doc("Sell amount, smallest units", base.ONE_ETHER)]


class GasIssue(WireStruct, frozen=True, kw_only=True):
    """The wallet holds less ETH than gasLimit x maxFeePerGas."""

    actual: Annotated[AmountText, doc("Present balance in wei", "0")]
    needed: Annotated[AmountText, doc("Wei that the transaction may cost", "525000000000000")]


class Issues(WireStruct, frozen=True, kw_only=True):
    """Why the wallet cannot submit the quote at present; null where nothing is missing."""

    allowance: Annotated[AllowanceIssue | None, doc("Missing allowance of the router")] = None
    balance: Annotated[BalanceIssue | None, doc("Missing balance of the sell token")] = None
    gas: Annotated[GasIssue | None, doc("Missing ETH for gas")] = None


class BatchedSwap(WireStruct, frozen=True, kw_only=True):
    """Approve and swap in one transaction of the wallet to itself (ERC-7821), if it is delegated.

    Sign either these transactionParams or those of mevProtection, never both. With a conversion the
    same transaction wraps sellAmount of the wallet's ETH first, or unwraps minBuyAmount last: what
    arrives above the minimum stays WETH. Its value is 0: the calls inside carry the ETH.
    """

    delegate: Annotated[
        AddressText, doc("The contract whose code the wallet has (EIP-7702)", base.DELEGATE)
    ]
    transaction_params: Annotated[
        TransactionParams | None,
        doc("The simulated transaction to sign, unchanged; null if the wallet cannot use it"),
    ] = None
    estimated_gas: Annotated[Count | None, doc("Estimated gas units", 260_000)] = None
    reason: Annotated[str | None, doc("Why the wallet cannot use it; null if it can")] = None
    conversion: Annotated[
        base.WrapOperation | None,
        doc("The conversion that was asked for; null: ETH is neither sold nor bought"),
    ] = None


class SwapQuoteResponse(WireStruct, frozen=True, kw_only=True):
    """Swap quote, valid for about 30 seconds."""

    source: Annotated[str, doc("Aggregator of the best route", "kyberswap")]
    sell_token: Annotated[AddressText, doc("Sold token (EIP-55 checksummed)", WETH)]
    buy_token: Annotated[AddressText, doc("Bought token (EIP-55 checksummed)", base.USDC)]
    sell_amount: Annotated[AmountText, doc("Input, smallest units", base.ONE_ETHER)]
    buy_amount: Annotated[
        AmountText, doc("Expected output before slippage, smallest units", "3000000000")
    ]
    min_buy_amount: Annotated[
        AmountText, doc("Minimum output after slippage, smallest units", "2985000000")
    ]
    estimated_gas: Annotated[Count, doc("Estimated gas units", 210_000)]
    price_impact: Annotated[
        Figure, doc("Percent (0.12 means 0.12 %); 0 when priceImpactAvailable is false", 0.12)
    ]
    price_impact_available: Annotated[bool, doc("Whether priceImpact is a measurement", True)] = (
        True
    )
    dex_route: Annotated[DexRoute, doc("The route")]
    executable_until: base.ExecutableUntil = None
    scoring: Annotated[Scoring, doc("Value of the route after gas")]
    alternatives: Annotated[tuple[AlternativeEntry, ...], doc("Lower-ranked routes, best first")]
    mev_analysis: Annotated[MevAnalysis, doc("Estimated loss to a sandwich in the public mempool")]
    mev_protection: Annotated[SwapMevProtection, doc("How the swap is protected")]
    verification: Annotated[
        Verification | None, doc("Whether the route was simulated", **ref("Verification"))
    ] = None
    loss: Annotated[LossJudgement | None, doc("What the swap may lose", **ref("LossJudgement"))] = (
        None
    )
    sources: Annotated[tuple[SourceEntry, ...], doc("Results of all configured aggregators")] = ()
    issues: Annotated[Issues, doc("What the wallet lacks to submit the quote")] = Issues()
    batch: Annotated[
        BatchedSwap | None,
        doc("Approve and swap in one transaction; null for a wallet that is not delegated"),
    ] = None
    timestamp: Annotated[
        base.EnvelopeTimestamp | UnsetType, doc("The envelope's timestamp", **base.BESIDE_DATA)
    ] = UNSET
    """Set by the client from the envelope; the service does not send it in `data`."""

    @property
    def is_verified(self) -> bool:
        """Whether a simulation delivered at least the minimum."""
        return self.verification is not None and self.verification.status == "verified"


class SwapQuoteEnvelope(base.Envelope[SwapQuoteResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/quote; the only answer with a timestamp."""

    timestamp: base.EnvelopeTimestamp = 0


class StreamedRoute(WireStruct, frozen=True, kw_only=True):
    """A verified route of a quote that is not complete yet. A better one may follow."""

    signable: Annotated[
        bool, doc("Always false: only the quote of the last event is signed", const=False)
    ]
    source: Annotated[str, doc("Aggregator", "kyberswap")]
    buy_amount: Annotated[
        AmountText, doc("The smaller of promised and simulated, smallest units", "3000000000")
    ]
    min_buy_amount: Annotated[
        AmountText, doc("Minimum that the route enforces, smallest units", "2985000000")
    ]
    promised: Annotated[
        AmountText, doc("Output by the aggregator, smallest units of the buy token", "3000000000")
    ]
    simulated: Annotated[
        AmountText, doc("Output of the simulation, smallest units of the buy token", "3000000000")
    ]
    estimated_gas: Annotated[Count, doc("Gas units of the simulation", 210_000)]


_OUTCOMES = [
    outcome
    for outcome in SourceOutcome
    if outcome.value not in ("reverted", "short_delivery", "unverified", "unsafe")
]
"""The results of a source that do not need a simulation or calldata."""


class PriceSourceEntry(WireStruct, frozen=True, kw_only=True):
    """Result of one aggregator."""

    source: Annotated[str, doc("Aggregator", "kyberswap")]
    outcome: Annotated[str, doc("Result", "won", enum=_OUTCOMES)]
    latency_ms: Annotated[Count, doc("Response time in milliseconds", 210)]
    buy_amount: Annotated[
        AmountText | None, doc("Promised output, smallest units of the buy token", "3000000000")
    ] = None
    reason: Annotated[
        str | None, doc("Why it gave no price; a vendor's own words follow `vendor:`")
    ] = None
    reference_bps: Annotated[int | None, _REFERENCE] = None


class PriceResponse(WireStruct, frozen=True, kw_only=True):
    """An indicative price: the best promise of a source. Nothing was simulated or verified."""

    indicative: Annotated[bool, doc("Always true: this price cannot be traded", const=True)]
    verification: Annotated[
        Literal["none"], doc("Always none: ask for a quote before a trade", "none", type="string")
    ]
    source: Annotated[str, doc("Aggregator with the best promise", "kyberswap")]
    sell_token: Annotated[AddressText, doc("Sold token (EIP-55 checksummed)", WETH)]
    buy_token: Annotated[AddressText, doc("Bought token (EIP-55 checksummed)", base.USDC)]
    sell_amount: Annotated[AmountText, doc("Sold amount, smallest units", base.ONE_ETHER)]
    buy_amount: Annotated[AmountText, doc("Promised output, smallest units", "3000000000")]
    estimated_gas: Annotated[Count, doc("Gas units, by the source or a plain swap's", 210_000)]
    price_impact: Annotated[Figure, doc("Percent; 0 when priceImpactAvailable is false", 0.12)]
    price_impact_available: Annotated[bool, doc("Whether priceImpact is a measurement", True)]
    scoring: Annotated[Scoring, doc("Value of the promise after gas")]
    sources: Annotated[tuple[PriceSourceEntry, ...], doc("Results of all configured aggregators")]
    loss: Annotated[
        LossJudgement | None,
        doc("What a swap at this price may lose, without slippage", **ref("LossJudgement")),
    ] = None


class PriceEnvelope(base.Envelope[PriceResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/price; `timestamp` is when the sources were asked."""

    timestamp: base.EnvelopeTimestamp = 0
