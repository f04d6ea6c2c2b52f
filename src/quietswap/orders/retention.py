"""Retention: delete what is old.

Expired quotes, signed bytes of final orders, events and, if configured, final orders.
"""

from quietswap import observe
from quietswap.clock import Clock
from quietswap.storage.events import EventStore
from quietswap.storage.order_pages import OrderRetention
from quietswap.storage.orders import OrderStore
from quietswap.storage.quotes import QuoteStore

BATCH = 500
_QUOTES_KEPT_MS = 24 * 3600 * 1000
"""Much longer than a quote is used, so that an operator can compare a refused order with it."""
_BYTES_KEPT_MS = 3600 * 1000


class RetentionJob:
    """Delete in small batches, so that no request waits for a long deletion.

    Ended orders are deleted `orders_kept_ms` after their creation; None keeps all orders. Events
    are deleted after `events_kept_ms`.
    """

    def __init__(
        self,
        quotes: QuoteStore,
        orders: OrderStore,
        clock: Clock,
        history: OrderRetention,
        orders_kept_ms: int | None = None,
        *,
        events: EventStore,
        events_kept_ms: int,
    ) -> None:
        self._quotes = quotes
        self._orders = orders
        self._clock = clock
        self._history = history
        self._orders_kept_ms = orders_kept_ms
        self._events = events
        self._events_kept_ms = events_kept_ms

    async def __call__(self) -> bool:
        """Delete one batch of each kind; return whether more may be left.

        Raises StoreUnavailable.
        """
        now = self._clock.now_ms()
        quotes = await self._quotes.purge(now - _QUOTES_KEPT_MS, BATCH)
        dropped = await self._orders.drop_raw(now - _BYTES_KEPT_MS, BATCH)
        deleted = await self._delete_orders(now)
        told = await self._events.purge(now - self._events_kept_ms, BATCH)
        return BATCH in (quotes, dropped) or max(deleted, told) >= BATCH

    async def _delete_orders(self, now: int) -> int:
        if self._orders_kept_ms is None:
            return 0
        deleted = await self._history.delete_over(now - self._orders_kept_ms, BATCH)
        if deleted:
            observe.orders_deleted(deleted)
        return deleted
