"""GET /api/v1/inclusion, and the estimate of a new order: what all processes have counted."""

from contextlib import suppress

from cachetools import TTLCache

from quietswap.rules.operator.figures import Measure
from quietswap.rules.operator.inclusion import UNKNOWN, InclusionReport, inclusion_report
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.base.clock import Clock
from quietswap.service.storage.figures import FigureStore

_DAY_MS = 86_400_000
_DAYS = 7
_TTL_S = 60.0
_WINDOWS = 90
_MEASURES = Measure.INCLUSION_BLOCKS, Measure.ORDER_MOVED


class GetInclusion:
    """A report is kept for a minute, and holds nothing of a client."""

    def __init__(self, figures: FigureStore, clock: Clock) -> None:
        self._figures = figures
        self._clock = clock
        self._usual_wait = UNKNOWN
        self._kept: TTLCache[int, InclusionReport]
        self._kept = TTLCache(_WINDOWS, _TTL_S, timer=clock.monotonic)

    async def __call__(self, days: int) -> InclusionReport:
        """Return the report of the last `days` days. Raises StoreUnavailable."""
        report = self._kept.get(days)
        if report is None:
            now = self._clock.now_ms()
            since = (now - days * _DAY_MS) // _DAY_MS * _DAY_MS
            rows = await self._figures.read(_MEASURES, since, _DAY_MS)
            report = self._kept[days] = inclusion_report(rows, since, now)
        return report

    async def usual_wait(self) -> str:
        """Return the text of the last week, or of before where the database is unavailable."""
        with suppress(StoreUnavailable):  # an order that was accepted does not fail for a text
            self._usual_wait = (await self(_DAYS)).usual_wait
        return self._usual_wait
