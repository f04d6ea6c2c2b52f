"""GET /api/v1/inclusion, and the estimate of a new order, from the orders of all clients."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cachetools import TTLCache

from quietswap.rules.operator.inclusion import (
    UNKNOWN,
    InclusionReport,
    inclusion_report,
    mined_order,
)
from quietswap.rules.time_units import DAY_MS
from quietswap.service.base.clock import Clock
from quietswap.service.orders.statistics import MOST_ORDERS, relay_name
from quietswap.service.storage.inclusion import InclusionStore

if TYPE_CHECKING:
    from quietswap.service.relays.relay import Relay

USUAL_DAYS = 7
_TTL_S = 60.0
_WINDOWS = 90


class GetInclusion:
    """A report is kept for a minute, and holds nothing of a client.

    `usual_wait` is the text of the last week, as `refresh` read it last.
    """

    def __init__(self, orders: InclusionStore, relays: Mapping[int, "Relay"], clock: Clock) -> None:
        self._orders = orders
        self._relays = relays
        self._clock = clock
        self.usual_wait = UNKNOWN
        self._kept: TTLCache[int, InclusionReport]
        self._kept = TTLCache(_WINDOWS, _TTL_S, timer=clock.monotonic)

    async def __call__(self, days: int) -> InclusionReport:
        """Return the report of the last `days` days. Raises StoreUnavailable."""
        report = self._kept.get(days)
        if report is None:
            report = self._kept[days] = await self._read(days)
        return report

    async def refresh(self) -> None:
        """Read what `usual_wait` says. Raises StoreUnavailable."""
        self.usual_wait = (await self(USUAL_DAYS)).usual_wait

    async def _read(self, days: int) -> InclusionReport:
        now_ms = self._clock.now_ms()
        since_ms = (now_ms - days * DAY_MS) // DAY_MS * DAY_MS
        rows = await self._orders.mined(since_ms, MOST_ORDERS)
        orders = [mined_order(row, relay_name(self._relays, row.tier)) for row in rows]
        expired = await self._orders.expired(since_ms)
        is_complete = len(rows) < MOST_ORDERS
        return inclusion_report(orders, expired, since_ms, now_ms, is_complete=is_complete)
