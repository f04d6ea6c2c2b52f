"""The tracked orders in memory, written through to the database."""

import asyncio
from dataclasses import replace

from quietswap.domain.order.order import Order, OrderEvent, OrderEventType, Transition
from quietswap.domain.order.order_change import FINALIZED
from quietswap.domain.tracking.order_index import OrderIndex
from quietswap.domain.tracking.rules import TrackedOrder, TrackingRules
from quietswap.ports.clock import Clock
from quietswap.ports.stores import OrderStore
from quietswap.services.lifecycle.apply_transition import apply_transition, remark

_LATEST_ANSWER_MS = 600_000
"""The longest time from an order's post to its stored refusal: a relay has five minutes at most.

An order expires after it was posted. So an order that failed since the last read expires no earlier
than this time before that read."""
_ONLY_IF_UNCHANGED = OrderEventType.REORGANISED, OrderEventType.EXPIRED
"""Dropped if the order has changed since it was read: another process may have decided anew, or its
client may have posted it again."""
_PUT_AT_ONCE = 500
"""Orders loaded before the event loop may serve requests of the same process."""


class OrderCache:
    """All writes are compare-and-set: a change by another writer is read, never overwritten."""

    def __init__(self, orders: OrderStore, clock: Clock, rules: TrackingRules) -> None:
        self.orders = orders
        self.rules = rules
        self.clock = clock
        self.watches = OrderIndex(rules)
        self._adopted_at_ms = 0

    async def load(self) -> None:
        """Load every tracked order from the database. Raises StoreUnavailable."""
        watches = OrderIndex(self.rules)
        for place, order in enumerate(await self.orders.watched()):
            watches.put(order)
            if place % _PUT_AT_ONCE == 0:
                await asyncio.sleep(0)
        self.watches = watches

    async def load_changes(self) -> None:
        """Load the orders that the API has written since the last call, and only these."""
        now_ms = self.clock.now_ms()
        since_ms = min(self._adopted_at_ms, now_ms) - _LATEST_ANSWER_MS
        for order_id, version in await self.orders.arrivals(since_ms):
            if self.watches.version(order_id) != version:
                await self.refresh(order_id)
        self._adopted_at_ms = now_ms

    async def refresh(self, order_id: str) -> Order | None:
        """Return the order as stored, with its bytes, and record it."""
        order = await self.orders.find(order_id)
        if order is not None:
            self.record(order)
        return order

    def record(self, order: Order) -> None:
        """Record an order as stored now."""
        watch = self.watches.get(order.order_id)
        if order.watched:
            self.watches.put(order)
        elif watch is not None:
            self.watches.drop(watch)

    async def apply(self, watch: TrackedOrder, step: Transition) -> None:
        """Apply a transition if the table still allows it.

        One that rests on what the order was, not on the chain, is dropped if the order has changed.
        """
        now, untouched = self.clock.now_ms(), step.sighting in _ONLY_IF_UNCHANGED
        moved = await apply_transition(self.orders, watch.order, step, now, untouched=untouched)
        if not moved.applied:
            watch.is_undone = False
        self.record(moved.order)

    async def remark(self, watch: TrackedOrder, sighting: str, evidence: str) -> None:
        """Store an event that changes no status."""
        now = self.clock.now_ms()
        watch.order = await remark(self.orders, watch.order, sighting, evidence, now)

    async def close(self, watch: TrackedOrder) -> None:
        """Stop tracking: its time is over, and the bytes may be deleted."""
        await self._close(watch, None)

    async def finalize(self, watch: TrackedOrder, depth: int) -> None:
        """Stop tracking: the block that decided is final, with `depth` confirmations."""
        order = watch.order
        line = OrderEvent(
            order_id=order.order_id,
            at_ms=self.clock.now_ms(),
            sighting=FINALIZED,
            from_status=order.status,
            to_status=order.status,
            evidence=f"its block is final, {depth} deep",
            depth=depth,
        )
        await self._close(watch, line)

    async def _close(self, watch: TrackedOrder, line: OrderEvent | None) -> None:
        order = replace(watch.order, watched=False)
        if await self.orders.update(order, line):
            self.watches.drop(watch)
        else:
            await self.refresh(order.order_id)
