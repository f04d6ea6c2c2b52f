"""Counted values of sources, relays, orders and the node, in buckets of ten minutes.

A value is rounded up to a bound of its measure. So a bucket has a bounded number of rows, and a
percentile is exact to its bound.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from quietswap.rules.orders.statistics import Percentiles, percentiles

BUCKET_MS = 600_000


class Measure(StrEnum):
    """What is counted; `subject` and `detail` of a figure depend on it. The values are stored."""

    SOURCE_OUTCOME = "source_outcome"
    """Subject: source. Detail: the outcome of one request."""
    SOURCE_MS = "source_ms"
    """Subject: source. Value: duration of a request in ms."""
    SOURCE_CHECK = "source_check"
    """Subject: source. Detail: `unsafe`, or `check_detail` of a route."""
    SOURCE_WON = "source_won"
    """Subject: source whose route a quote contains."""
    SOURCE_DELIVERED = "source_delivered_bps"
    """Subject: source. Value: received against the quoted output of a mined swap, basis points."""
    RELAY_OUTCOME = "relay_outcome"
    """Subject: relay. Detail: the outcome of one submission."""
    RELAY_MS = "relay_ms"
    """Subject: relay. Value: duration of a submission in ms."""
    INCLUSION_BLOCKS = "inclusion_blocks"
    """Subject: relay endpoint. Detail: class of the tip. Value: blocks since the acceptance."""
    INCLUSION_S = "inclusion_s"
    """As INCLUSION_BLOCKS, in seconds by the time of the block."""
    ORDER_MOVED = "order_moved"
    """Subject: the status that an order reached. Detail: what was observed."""
    ORDER_RESENT = "order_resent"
    """Subject: the relay's outcome."""
    ORDER_REFUNDED = "order_refunded"
    """Subject: status of the refund."""
    NODE_ERROR = "node_error"
    """Subject: node. Detail: kind of the error."""
    TRACKER_LAG = "tracker_lag_blocks"
    """Value: blocks that the tracker was behind when it read a head."""
    REORG = "reorg_depth"
    """Value: blocks that are no longer canonical."""


class Figure(NamedTuple):
    """One counted thing; `value` is 0 for a measure without values."""

    measure: Measure
    subject: str
    detail: str
    value: int


_MS = (
    5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000, 10_000,
)  # fmt: skip
_BLOCKS = (*range(11), 15, 20, 30, 50, 100, 150)
_SECONDS = (0, *range(3, 61, 3), 72, 90, 120, 180, 300, 600, 1200, 1800)
_BPS = (-1000, -500, -200, -100, -50, *range(-20, 21), 50, 100, 200, 500, 1000)
BOUNDS: Mapping[Measure, Sequence[int]] = {
    Measure.SOURCE_MS: _MS,
    Measure.RELAY_MS: _MS,
    Measure.INCLUSION_BLOCKS: _BLOCKS,
    Measure.INCLUSION_S: _SECONDS,
    Measure.SOURCE_DELIVERED: _BPS,
    Measure.TRACKER_LAG: _BLOCKS,
    Measure.REORG: _BLOCKS,
}


def rounded(measure: Measure, value: int) -> int:
    """Return the smallest bound that `value` does not exceed; the last bound for greater values.

    Basis points are rounded down instead: what a source delivered must not look better than it was.
    """
    bounds = BOUNDS[measure]
    if measure is Measure.SOURCE_DELIVERED:
        place = bisect_left(bounds, value + 1) - 1
        return bounds[max(place, 0)]
    return bounds[min(bisect_left(bounds, value), len(bounds) - 1)]


FAR_BELOW_BPS = 10
AS_PROMISED, BELOW = "as promised", "below its promise"
"""Details of SOURCE_CHECK. Version 0.3.0 and earlier stored `BELOW` without saying how far."""
FAR_BELOW = f"more than {FAR_BELOW_BPS} bps {BELOW}"


def check_detail(verdict: str, difference_bps: int | None) -> str:
    """Return the detail of SOURCE_CHECK of a route that broke no fund safety rule.

    `difference_bps` is the simulated against the promised output, None without a simulation.
    """
    if difference_bps is not None and difference_bps < 0:
        is_far = difference_bps < -FAR_BELOW_BPS
        return FAR_BELOW if is_far else f"up to {FAR_BELOW_BPS} bps {BELOW}"
    return AS_PROMISED if verdict == "answered" else verdict


def is_below(detail: str) -> bool:
    """Return whether a detail of SOURCE_CHECK says that the route delivers less than promised."""
    return detail.endswith(BELOW)


_GWEI = 10**9
_TIPS = (
    (0, "none"),
    (_GWEI // 10, "to 0.1 gwei"),
    (_GWEI, "to 1 gwei"),
    (5 * _GWEI, "to 5 gwei"),
)
UNKNOWN_TIP = "unknown"


def tip_class(priority_fee_wei: int | None) -> str:
    """Return the class of a transaction's highest priority fee per gas; None: not known."""
    if priority_fee_wei is None:
        return UNKNOWN_TIP
    return next((name for most, name in _TIPS if priority_fee_wei <= most), "over 5 gwei")


class FigureRow(NamedTuple):
    """`n` times a figure in the slot that begins at `at_ms`, a time in Unix ms."""

    at_ms: int
    measure: str
    subject: str
    detail: str
    value: int
    n: int


@dataclass(frozen=True, slots=True)
class FigureWindow:
    """Figures from `since_ms` to `until_ms`, in slots that begin at multiples of `step_ms`."""

    since_ms: int
    until_ms: int
    step_ms: int
    rows: Sequence[FigureRow]

    @property
    def slots(self) -> range:
        """Return the begin of each slot in Unix ms."""
        first = self.since_ms // self.step_ms * self.step_ms
        return range(first, self.until_ms + 1, self.step_ms)

    def of(self, measure: Measure, subject: str | None = None) -> "list[FigureRow]":
        """Return the rows of a measure, and of one subject unless it is None."""
        return [
            row
            for row in self.rows
            if row.measure == measure and (subject is None or row.subject == subject)
        ]

    def subjects(self, *measures: Measure) -> list[str]:
        """Return the subjects of these measures in alphabetical order."""
        return sorted({row.subject for row in self.rows if row.measure in measures})


def by_detail(rows: Iterable[FigureRow]) -> Counter[str]:
    """Return how many figures each detail has."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.detail] += row.n
    return counts


def by_subject(rows: Iterable[FigureRow]) -> Counter[str]:
    """Return how many figures each subject has."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.subject] += row.n
    return counts


def distribution(rows: Iterable[FigureRow]) -> Percentiles | None:
    """Return the percentiles of the values; None without a value."""
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row.value] += row.n
    return percentiles(counts)


def by_slot(rows: Iterable[FigureRow]) -> dict[int, list[FigureRow]]:
    """Return the rows by the begin of their slot."""
    slots: dict[int, list[FigureRow]] = {}
    for row in rows:
        slots.setdefault(row.at_ms, []).append(row)
    return slots
