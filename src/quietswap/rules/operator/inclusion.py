"""How many blocks orders waited for inclusion, by what this service has counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quietswap.rules.operator.figures import FigureRow, Measure
from quietswap.rules.orders.order import OrderEventType
from quietswap.rules.orders.statistics import Percentiles, percentiles
from quietswap.rules.trial.next_block import SLOT_S

LEAST_ORDERS = 20
"""Fewer orders in a block say nothing of the next one."""
LEAST_OF_GROUP = 5
"""A smaller group is counted as `OTHER`: it could be one wallet's."""
OTHER = "other"
WITHIN = 1, 2, 5, 25
"""Numbers of blocks for which a share is given; 25 is what a bundle of a relay lives for."""
UNKNOWN = "not known yet: fewer than 20 orders in a block were counted"


class Group(NamedTuple):
    """The orders of one relay endpoint and class of the priority fee; `waited` in blocks."""

    endpoint: str
    tip: str
    waited: Counter[int]

    @property
    def percentiles(self) -> Percentiles | None:
        return percentiles(self.waited)

    def within(self, blocks: int) -> int:
        """Return how many waited for at most so many blocks."""
        return sum(n for value, n in self.waited.items() if value <= blocks)


@dataclass(frozen=True, slots=True)
class InclusionReport:
    """From `since_ms` to `until_ms`, Unix ms. `expired` orders were in no block in time."""

    since_ms: int
    until_ms: int
    groups: Sequence[Group]
    expired: int

    @property
    def total(self) -> Group:
        """Return all groups as one."""
        return Group(OTHER, OTHER, sum((group.waited for group in self.groups), Counter()))

    @property
    def usual_wait(self) -> str:
        """Return within how many blocks half of the orders were included, and nine of ten."""
        blocks = self.total.percentiles
        if blocks is None or blocks.count < LEAST_ORDERS:
            return UNKNOWN
        text = f"usually within {_blocks(blocks.p50)}, nine of ten within {_blocks(blocks.p90)}"
        orders = blocks.count + self.expired
        return f"{text}; {self.expired} of {orders} orders expired" if self.expired else text


def inclusion_report(rows: Iterable[FigureRow], since_ms: int, until_ms: int) -> InclusionReport:
    """Return the report of rows of INCLUSION_BLOCKS and ORDER_MOVED.

    The blocks are rounded up to a bound of the measure, so "within" holds.
    """
    waited: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    expired = 0
    for row in rows:
        if row.measure == Measure.INCLUSION_BLOCKS:
            waited[row.subject, row.detail][max(row.value, 1)] += row.n
        elif row.measure == Measure.ORDER_MOVED and row.detail == OrderEventType.EXPIRED:
            expired += row.n
    groups, rest = list[Group](), Counter[int]()
    for (endpoint, tip), blocks in sorted(waited.items()):
        if blocks.total() < LEAST_OF_GROUP:
            rest += blocks
        else:
            groups.append(Group(endpoint, tip, blocks))
    if rest:
        groups.append(Group(OTHER, OTHER, rest))
    return InclusionReport(since_ms, until_ms, groups, expired)


def _blocks(count: int) -> str:
    return f"{count} {'block' if count == 1 else 'blocks'} ({count * SLOT_S} seconds)"
