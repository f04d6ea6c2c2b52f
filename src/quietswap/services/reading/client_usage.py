"""GET /api/v1/mev/usage: what the client of a key may use, and has used today."""

import asyncio

from quietswap.domain.client_limits import ClientLimits, ClientUsage, day_of
from quietswap.ports.clients import ApiKey, UsageStore
from quietswap.ports.clock import Clock


class GetUsage:
    """Reads the counters of the day and the open orders."""

    def __init__(self, usage: UsageStore, clock: Clock) -> None:
        self._usage = usage
        self._clock = clock

    async def __call__(self, key: ApiKey) -> ClientUsage:
        """Return usage and limits of the key's client. Raises StoreUnavailable."""
        now = self._clock.now_ms()
        used, open_orders = await asyncio.gather(
            self._usage.day(key.client_id, day_of(now)), self._usage.open_orders(key.client_id)
        )
        return ClientUsage(key.client_id, key.limits or ClientLimits(), used, open_orders, now)
