"""Statistics of orders per source and per relay. Pure functions over counted values."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Measure(StrEnum):
    """What a tally counts; the values are those of the SQL statement."""

    ORDERS = "orders"
    """`value` is 1 for an order whose bytes were sent again, else 0; `text` is the status."""
    REVERTED = "reverted"
    DROPPED = "dropped"
    """Taken by the relay, and in no block until it expired."""
    BLOCKS = "blocks"
    """Blocks from the relay's acceptance to inclusion."""
    SECONDS = "seconds"
    """The same in seconds, by the time of the block."""
    DELIVERED = "delivered"
    """Received against the quoted output, basis points."""
    REFUND = "refund"
    """`text` is the status and the amount in wei, separated by a space."""


TWO_RELAYS = 0
"""The tier of a tally of orders that two relays had: the chain does not show which had it mined."""


class Tally(NamedTuple):
    """`orders` orders of a source and tier have this value."""

    measure: str
    source: str | None
    tier: int
    text: str
    value: int
    orders: int


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Nearest-rank percentiles of `count` values."""

    count: int
    p50: int
    p90: int
    p99: int


@dataclass(slots=True)
class GroupStatistics:
    """Numbers of orders by status, and the distribution of their results. Refunds in wei."""

    statuses: Counter[str] = field(default_factory=Counter)
    reverted: int = 0
    dropped: int = 0
    resent: int = 0
    refunds: Counter[str] = field(default_factory=Counter)
    refunds_wei: Counter[str] = field(default_factory=Counter)
    values: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, tally: Tally) -> None:
        match tally.measure:
            case Measure.ORDERS:
                self.statuses[tally.text] += tally.orders
                self.resent += tally.orders * tally.value
            case Measure.REVERTED:
                self.reverted += tally.orders
            case Measure.DROPPED:
                self.dropped += tally.orders
            case Measure.REFUND:
                status, wei = tally.text.split(" ")
                self.refunds[status] += tally.orders
                self.refunds_wei[status] += tally.orders * int(wei)
            case _:
                self.values.setdefault(tally.measure, Counter())[tally.value] += tally.orders

    @property
    def orders(self) -> int:
        return self.statuses.total()

    def percentiles(self, measure: Measure) -> Percentiles | None:
        """Return the percentiles of a measure; None without a value."""
        return percentiles(self.values.get(measure, Counter()))


@dataclass(frozen=True, slots=True)
class OrderStatistics:
    """The statistics of a window, whose limits are Unix ms.

    `is_complete` is False if the window has more orders than were counted: then only the newest.
    """

    since_ms: int
    until_ms: int
    is_complete: bool
    orders: int
    by_source: Sequence[tuple[str, GroupStatistics]]
    by_relay: Sequence[tuple[str, GroupStatistics]]


def percentiles(values: Counter[int]) -> Percentiles | None:
    """Return nearest-rank percentiles: the smallest value that so many percent do not exceed."""
    total = values.total()
    if total == 0:
        return None
    ranks = [-(-total * percent // 100) for percent in (50, 90, 99)]
    ranked: list[int] = []
    seen = 0
    for value in sorted(values):
        seen += values[value]
        while len(ranked) < len(ranks) and seen >= ranks[len(ranked)]:
            ranked.append(value)
    return Percentiles(total, *ranked)


def grouped(
    tallies: Iterable[Tally],
) -> tuple[dict[str, GroupStatistics], dict[int, GroupStatistics]]:
    """Return the statistics by source and by tier. Orders without a source are in no source."""
    by_source: dict[str, GroupStatistics] = {}
    by_tier: dict[int, GroupStatistics] = {}
    for tally in tallies:
        by_tier.setdefault(tally.tier, GroupStatistics()).add(tally)
        if tally.source is not None:
            by_source.setdefault(tally.source, GroupStatistics()).add(tally)
    return dict(sorted(by_source.items())), dict(sorted(by_tier.items()))
