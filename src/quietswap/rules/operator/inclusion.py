"""How many blocks transactions waited for inclusion, by what this service has counted."""

from collections import Counter
from collections.abc import Iterable

from quietswap.rules.operator.figures import FigureRow, Measure
from quietswap.rules.orders.statistics import percentiles
from quietswap.rules.trial.next_block import SLOT_S

LEAST_ORDERS = 20
"""Fewer orders in a block say nothing of the next one."""
UNKNOWN = "not known yet: this service has counted fewer than 20 orders in a block in the last week"


def usual_wait(rows: Iterable[FigureRow]) -> str:
    """Return how long orders of all endpoints waited, for people, by rows of INCLUSION_BLOCKS.

    Their values are rounded up to a bound of the measure, so "within" holds. Orders that no block
    had are not in it.
    """
    waited: Counter[int] = Counter()
    for row in rows:
        if row.measure == Measure.INCLUSION_BLOCKS:
            waited[max(row.value, 1)] += row.n
    blocks = percentiles(waited)
    if blocks is None or blocks.count < LEAST_ORDERS:
        return UNKNOWN
    return f"usually within {_blocks(blocks.p50)}, nine of ten within {_blocks(blocks.p90)}"


def _blocks(count: int) -> str:
    return f"{count} {'block' if count == 1 else 'blocks'} ({count * SLOT_S} seconds)"
