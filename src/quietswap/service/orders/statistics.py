"""GET /api/v1/mev/stats: results of the client's orders per source and per relay."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cachetools import TTLCache

from quietswap.rules.clients import ApiKey
from quietswap.rules.orders.statistics import TWO_RELAYS, Measure, OrderStatistics, grouped
from quietswap.rules.time_units import DAY_MS
from quietswap.service.base.clock import Clock
from quietswap.service.storage.order_statistics import OrderStatisticsStore

if TYPE_CHECKING:
    from quietswap.service.relays.relay import Relay


MOST_ORDERS = 20_000
"""Orders counted for one answer; of more, the newest."""
_CLIENTS = 256
_TTL_S = 10.0


class GetOrderStatistics:
    """An answer is kept for ten seconds, so that a page that polls does not count again."""

    def __init__(
        self, orders: OrderStatisticsStore, relays: Mapping[int, "Relay"], clock: Clock
    ) -> None:
        self._orders = orders
        self._relays = relays
        self._clock = clock
        self._kept: TTLCache[tuple[str, int], OrderStatistics]
        self._kept = TTLCache(_CLIENTS, _TTL_S, timer=clock.monotonic)

    async def __call__(self, key: ApiKey, days: int) -> OrderStatistics:
        """Return the statistics of the last `days` days. Raises StoreUnavailable."""
        place = key.client_id, days
        statistics = self._kept.get(place)
        if statistics is None:
            statistics = self._kept[place] = await self._count(*place)
        return statistics

    async def _count(self, client_id: str, days: int) -> OrderStatistics:
        now_ms = self._clock.now_ms()
        since_ms = now_ms - days * DAY_MS
        tallies = await self._orders.tallies(client_id, since_ms, MOST_ORDERS)
        by_source, by_tier = grouped(tallies)
        orders = sum(tally.orders for tally in tallies if tally.measure == Measure.ORDERS)
        return OrderStatistics(
            since_ms,
            now_ms,
            is_complete=orders < MOST_ORDERS,
            orders=orders,
            by_source=[*by_source.items()],
            by_relay=[(relay_name(self._relays, tier), of) for tier, of in by_tier.items()],
        )


def relay_name(relays: Mapping[int, "Relay"], tier: int) -> str:
    """Return the display name of the relay of a tier, as a tally has it."""
    if tier == TWO_RELAYS:
        return "both relays"
    relay = relays.get(tier)
    return f"tier {tier}" if relay is None else relay.name
