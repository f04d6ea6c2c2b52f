"""The answer of GET /api/v1/price."""

from typing import Annotated, Literal

from quietswap.contract import examples
from quietswap.contract.base import (
    AddressText,
    AmountText,
    Count,
    Envelope,
    EnvelopeTimestamp,
    Figure,
    WireStruct,
    doc,
    ref,
)
from quietswap.contract.losses import LossJudgement
from quietswap.contract.quotes import Scoring
from quietswap.domain.quote.quote import SourceOutcome
from quietswap.domain.token import WETH

_OUTCOMES = [
    outcome.value
    for outcome in SourceOutcome
    if outcome
    not in (
        SourceOutcome.REVERTED,
        SourceOutcome.SHORT_DELIVERY,
        SourceOutcome.UNVERIFIED,
        SourceOutcome.UNBOUND,
        SourceOutcome.UNSAFE,
    )
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


class PriceResponse(WireStruct, frozen=True, kw_only=True):
    """An indicative price: the best promise of a source. Nothing was simulated or verified."""

    indicative: Annotated[bool, doc("Always true: this price cannot be traded", const=True)]
    verification: Annotated[
        Literal["none"], doc("Always none: ask for a quote before a trade", "none", type="string")
    ]
    source: Annotated[str, doc("Aggregator with the best promise", "kyberswap")]
    sell_token: Annotated[AddressText, doc("Sold token (EIP-55 checksummed)", WETH)]
    buy_token: Annotated[AddressText, doc("Bought token (EIP-55 checksummed)", examples.USDC)]
    sell_amount: Annotated[AmountText, doc("Sold amount, smallest units", examples.ONE_ETHER)]
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


class PriceEnvelope(Envelope[PriceResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/price; `timestamp` is when the sources were asked."""

    timestamp: EnvelopeTimestamp = 0
