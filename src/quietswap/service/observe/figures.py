"""Counts for the operator view, kept in memory until a background task stores them.

They cost one dictionary operation per event, and nothing where the view is switched off. Subjects
and details are names of the settings and of closed lists, so their number is bounded.
"""

from collections import Counter
from collections.abc import Mapping

from quietswap.rules.operator.figures import BOUNDS, Figure, Measure, rounded

_MOST = 10_000
"""Different figures in memory while the database does not answer; further ones are not counted."""


class _Figures:
    def __init__(self) -> None:
        self.counts: Counter[Figure] | None = None


_kept = _Figures()


def keep_figures() -> None:
    """Count from now on."""
    _kept.counts = Counter()


def forget_figures() -> None:
    """Stop counting, and forget what was not taken."""
    _kept.counts = None


def count(measure: Measure, subject: str, detail: str = "", value: float = 0) -> None:
    """Count one event if the operator view is on. `value` is rounded for measures that have one."""
    counts = _kept.counts
    if counts is None:
        return
    figure = Figure(
        measure, subject, detail, rounded(measure, round(value)) if measure in BOUNDS else 0
    )
    if figure in counts or len(counts) < _MOST:
        counts[figure] += 1


def take_figures() -> Mapping[Figure, int]:
    """Return what was counted since the last call, and forget it."""
    counts, _kept.counts = _kept.counts, Counter()
    return counts or {}


def return_figures(figures: Mapping[Figure, int]) -> None:
    """Count figures again that could not be stored."""
    if _kept.counts is not None:
        _kept.counts.update(figures)
