"""How long orders usually wait for a block: the record of all processes, read now and then."""

from quietswap.rules.operator.figures import Measure
from quietswap.rules.operator.inclusion import UNKNOWN, usual_wait
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.base.clock import Clock
from quietswap.service.storage.figures import FigureStore

_DAY_MS = 86_400_000
_DAYS = 7
_TTL_S = 60.0


class UsualWait:
    """Text for people. An order is not kept waiting for it: one caller a minute reads, the others
    get the text of before.
    """

    def __init__(self, figures: FigureStore, clock: Clock) -> None:
        self._figures = figures
        self._clock = clock
        self._text = UNKNOWN
        self._fresh_until: float | None = None

    async def __call__(self) -> str:
        """Return the text of the last week, or of before where the database is unavailable."""
        moment = self._clock.monotonic()
        if self._fresh_until is None or moment >= self._fresh_until:
            self._fresh_until = moment + _TTL_S
            since = self._clock.now_ms() - _DAYS * _DAY_MS
            try:
                rows = await self._figures.read([Measure.INCLUSION_BLOCKS], since, _DAY_MS)
            except StoreUnavailable:
                return self._text
            self._text = usual_wait(rows)
        return self._text
