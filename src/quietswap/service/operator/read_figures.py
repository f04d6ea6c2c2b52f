"""Figures of the last hours, in at most 57 slots whatever their number, or in slots of a length."""

from collections.abc import Sequence

from quietswap.rules.operator.figures import BUCKET_MS, FigureWindow, Measure
from quietswap.rules.operator.operators import (
    ProcessReport,
)
from quietswap.rules.time_units import HOUR_MS
from quietswap.service.base.clock import Clock
from quietswap.service.storage.figures import FigureStore

REPORTS_S = 60
"""A process that reported within so many seconds is shown."""
_SLOTS = 56
_HOURS_A_SECOND = 12
"""A day is kept for 2 seconds, a week for 14: a longer one costs more and changes less."""


class ReadFigures:
    """Reads what all processes stored. Raises StoreUnavailable.

    A window is kept for a moment, so that many open pages cost no more than one.
    """

    def __init__(self, figures: FigureStore, clock: Clock) -> None:
        self._figures = figures
        self._clock = clock
        self._kept: dict[tuple[tuple[Measure, ...], int, int], tuple[float, FigureWindow]] = {}

    async def __call__(
        self, measures: Sequence[Measure], hours: int, step_ms: int | None = None
    ) -> FigureWindow:
        """Return the figures of the last `hours`, one of a few lengths.

        `step_ms` is the length of a slot, a multiple of BUCKET_MS; None: as `step_of`.
        """
        step = step_ms or step_of(hours)
        place, moment = (tuple(measures), hours, step), self._clock.monotonic()
        ends, window = self._kept.get(place, (moment, None))
        if window is None or not moment < ends:
            now = self._clock.now_ms()
            since = now - hours * HOUR_MS
            rows = await self._figures.read(measures, since, step)
            window = FigureWindow(since, now, step, rows)
            self._kept[place] = moment + hours / _HOURS_A_SECOND, window
        return window

    async def reports(self) -> Sequence[ProcessReport]:
        """Return the last reports of the processes that run."""
        return await self._figures.reports(self._clock.now_ms() - REPORTS_S * 1000)

    async def changes(self) -> int:
        """Return a number that changes when any process counted something."""
        counts = await self._figures.changes(self._clock.now_ms() - REPORTS_S * 1000)
        return hash(tuple(sorted(counts.items())))


def step_of(hours: int) -> int:
    """Return the length of a slot in ms: a multiple of the stored ten minutes."""
    buckets = -(-hours * HOUR_MS // (BUCKET_MS * _SLOTS))
    return buckets * BUCKET_MS
