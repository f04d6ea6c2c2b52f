"""Retention: delete what is old.

Expired quotes, signed bytes of final orders, events, ended watches and, if configured, final
orders.
"""

from dataclasses import dataclass

from quietswap.rules.time_units import DAY_MS, HOUR_MS
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.storage.events import EventStore
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import QuoteStore
from quietswap.service.storage.watches import WatchStore

BATCH = 500
_QUOTES_KEPT_MS = DAY_MS
"""Much longer than a quote is used, so that an operator can compare a refused order with it."""
_BYTES_KEPT_MS = HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionJob:
    """Delete in small batches, so that no request waits for a long deletion.

    Ended orders are deleted `orders_kept_ms` after their creation; None keeps all orders. Events
    and ended watches are deleted after `events_kept_ms`.
    """

    quotes: QuoteStore
    orders: OrderStore
    events: EventStore
    watches: WatchStore
    clock: Clock
    events_kept_ms: int
    orders_kept_ms: int | None = None

    async def __call__(self) -> bool:
        """Delete a batch of each kind; return whether more may be left. Raises StoreUnavailable."""
        now = self.clock.now_ms()
        quotes = await self.quotes.purge(now - _QUOTES_KEPT_MS, BATCH)
        dropped = await self.orders.drop_raw(now - _BYTES_KEPT_MS, BATCH)
        deleted = 0
        if self.orders_kept_ms is not None:
            deleted = await self.orders.delete_over(now - self.orders_kept_ms, BATCH)
        if deleted:
            observe.orders_deleted(deleted)
        purged = await self.events.purge(now - self.events_kept_ms, BATCH)
        ended = await self.watches.purge(now - self.events_kept_ms, BATCH)
        return BATCH in (quotes, dropped, ended) or max(deleted, purged) >= BATCH
