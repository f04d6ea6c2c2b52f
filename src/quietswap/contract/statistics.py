"""The answer of the statistics endpoint."""

from typing import Annotated

from msgspec import Meta

from quietswap.contract import examples
from quietswap.contract.base import AmountText, Count, Envelope, Timestamp, WireStruct, doc

MOST_DAYS = 90


class OrderStatsQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/stats."""

    days: Annotated[
        int, Meta(ge=1, le=MOST_DAYS), doc("Orders created in the last so many days.", 7)
    ] = 7


class PercentileRow(WireStruct, frozen=True, kw_only=True):
    """Percentiles by nearest rank."""

    count: Annotated[Count, doc("Number of values", 120)]
    p50: Annotated[int, doc("Half of the values are at most this", 1)]
    p90: Annotated[int, doc("90 % of the values are at most this", 2)]
    p99: Annotated[int, doc("99 % of the values are at most this", 5)]


class RefundStats(WireStruct, frozen=True, kw_only=True):
    """Refunds by relays."""

    reported: Annotated[Count, doc("Refunds that are only reported", 1)]
    reported_wei: Annotated[AmountText, doc("Their sum in wei", "14000000000000000")]
    paid: Annotated[Count, doc("Refunds seen on chain", 3)]
    paid_wei: Annotated[AmountText, doc("Their sum in wei", "42000000000000000")]


class StatsGroup(WireStruct, frozen=True, kw_only=True):
    """The orders of one source or relay. Shares are basis points of `orders`, rounded down."""

    name: Annotated[str, doc("Source, or display name of the relay", examples.RELAY)]
    orders: Annotated[Count, doc("Swaps and wraps", 125)]
    open: Annotated[Count, doc("Not decided yet", 1)]
    confirmed: Annotated[Count, doc("Mined successfully", 120)]
    reverted: Annotated[Count, doc("Mined and reverted", 0)]
    failed: Annotated[Count, doc("Failed, reverted ones included", 2)]
    cancelled: Annotated[Count, doc("Cancelled, replaced or expired", 2)]
    resent: Annotated[Count, doc("Sent to the relay more than once", 4)]
    confirmed_bps: Annotated[Count, doc("Share of `confirmed`", 9600)]
    failed_bps: Annotated[Count, doc("Share of `failed`", 160)]
    resent_bps: Annotated[Count, doc("Share of `resent`", 320)]
    inclusion_blocks: Annotated[
        PercentileRow | None, doc("Blocks from the relay's acceptance to inclusion; null: none")
    ] = None
    inclusion_seconds: Annotated[
        PercentileRow | None, doc("Seconds from the relay's acceptance to the block; null: none")
    ] = None
    delivered_bps: Annotated[
        PercentileRow | None,
        doc("Received against the quoted output in basis points; null: none known"),
    ] = None
    refunds: Annotated[RefundStats, doc("Refunds by relays")]


class OrderStatsResponse(WireStruct, frozen=True, kw_only=True):
    """Results of the client's swaps and wraps, per source and per relay."""

    since: Annotated[Timestamp, doc("Start of the window (ISO 8601, UTC)")]
    until: Annotated[Timestamp, doc("End of the window (ISO 8601, UTC)")]
    orders: Annotated[Count, doc("Swaps and wraps that were counted", 125)]
    complete: Annotated[
        bool, doc("False if the window has more orders; then only the newest were counted", True)
    ]
    sources: Annotated[tuple[StatsGroup, ...], doc("By aggregator; swaps only")]
    relays: Annotated[tuple[StatsGroup, ...], doc("By relay")]


class OrderStatsEnvelope(Envelope[OrderStatsResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/stats."""
