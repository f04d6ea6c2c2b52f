"""Retention: expired quotes go, and signed bytes go once their order is final."""

from quietswap.ports.outside import Clock
from quietswap.ports.stores import ByteStore, QuoteStore

BATCH = 500
_QUOTES_KEPT_MS = 24 * 3600 * 1000
"""Long after its last use, so that a refused order can still be compared with what was issued."""
_BYTES_KEPT_MS = 3600 * 1000


class KeepHouse:
    """Small batches, so that no request waits for a long deletion."""

    def __init__(self, quotes: QuoteStore, orders: ByteStore, clock: Clock) -> None:
        self._quotes = quotes
        self._orders = orders
        self._clock = clock

    async def __call__(self) -> bool:
        """Clear one batch of each kind; return whether more may be waiting. Raises StoreDown."""
        now = self._clock.now_ms()
        quotes = await self._quotes.purge(now - _QUOTES_KEPT_MS, BATCH)
        dropped = await self._orders.drop_raw(now - _BYTES_KEPT_MS, BATCH)
        return BATCH in (quotes, dropped)
