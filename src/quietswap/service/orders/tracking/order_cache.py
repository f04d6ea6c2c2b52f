"""The tracked orders in memory, written through to the database."""

import asyncio
from dataclasses import replace

from quietswap.rules.orders.order import (
    FailureCode,
    Order,
    OrderEvent,
    OrderEventType,
    Transition,
)
from quietswap.rules.orders.order_changes import FINALIZED
from quietswap.rules.orders.tracking import (
    TrackedOrder,
    TrackingRules,
)
from quietswap.service.base.clock import Clock
from quietswap.service.orders.tracking.index import OrderIndex
from quietswap.service.orders.transition import apply_transition, remark
from quietswap.service.storage.orders import OrderStore

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
            cached = self.watches.get(order_id)
            if cached is None or cached.order.version != version:
                await self.refresh(order_id)
                watch = self.watches.get(order_id)
                if watch is not None and watch.order.attempts == 0:  # a block has it already
                    self.watches.doubted[order_id] = watch
        self._adopted_at_ms = now_ms

    async def refresh(self, order_id: str) -> Order | None:
        """Return the order as stored, with its bytes, and record it."""
        order = await self.orders.find(order_id)
        if order is not None:
            self.record(order)
        return order

    def record(self, order: Order) -> None:
        watch = self.watches.get(order.order_id)
        if order.watched:
            self.watches.put(order)
        elif watch is not None:
            self.watches.drop(watch)

    async def apply(self, watch: TrackedOrder, step: Transition) -> None:
        """Apply a transition if the table still allows it.

        One that rests on what the order was, not on the chain, is dropped if the order has changed.
        """
        now, untouched = self.clock.now_ms(), step.event_type in _ONLY_IF_UNCHANGED
        moved = await apply_transition(self.orders, watch.order, step, now, untouched=untouched)
        if not moved.applied:
            watch.is_undone = False
        self.record(moved.order)

    async def remark(self, watch: TrackedOrder, event_type: str, evidence: str) -> None:
        now = self.clock.now_ms()
        watch.order = await remark(self.orders, watch.order, event_type, evidence, now)

    async def close(self, watch: TrackedOrder, final_depth: int | None = None) -> None:
        """Stop tracking: its time is over, so that the bytes may be deleted, or the block that
        used its nonce is final, with `final_depth` confirmations.
        """
        order, line = replace(watch.order, watched=False), None
        if final_depth is not None:
            line = OrderEvent(
                order_id=order.order_id,
                at_ms=self.clock.now_ms(),
                event_type=FINALIZED,
                from_status=order.status,
                to_status=order.status,
                evidence=_final_evidence(order, final_depth),
                depth=0 if _was_never_sent(order) else final_depth,
            )
        if await self.orders.update(order, line):
            self.watches.drop(watch)
        else:
            await self.refresh(order.order_id)


def _was_never_sent(order: Order) -> bool:
    return order.failure is not None and order.failure.code is FailureCode.NOT_SENT


def _final_evidence(order: Order, depth: int) -> str:
    """Return which block is final: only an order that was mined has one of its own."""
    if order.inclusion is not None:
        return f"its block is final, {depth} deep"
    used = f"the block that used its nonce is final, {depth} deep"
    return f"it was never sent; {used}" if _was_never_sent(order) else used
