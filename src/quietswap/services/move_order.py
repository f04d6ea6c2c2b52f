"""Writing a move of the transition table: compare-and-set on the stored version, with its event."""

from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.domain.order import TRANSITIONS, Move, Order, OrderEvent, Sighting, Status
from quietswap.ports.stores import OrderStore


@dataclass(frozen=True, slots=True)
class Moved:
    """The order as it is stored now, and whether this move is what made it so."""

    order: Order
    applied: bool


async def move(
    orders: OrderStore, order: Order, step: Move, now_ms: int, *, untouched: bool = False
) -> Moved:
    """Apply `step`; when another writer was first, on what that one wrote.

    Nothing is applied once the table does not know the move any more, or, with `untouched`, when
    anybody has written the order since it was read. Raises StoreDown.
    """
    while step.sighting in TRANSITIONS[order.status]:
        moved = after(order, step, now_ms)
        if await orders.update(moved, line_of(order, moved.status, step, now_ms)):
            observe.order_moved(order.order_id, step.sighting, moved.status, step.evidence)
            if moved.status is Status.CONFIRMED and moved.submitted_at_ms is not None:
                observe.order_confirmed(now_ms - moved.submitted_at_ms)
            return Moved(replace(moved, version=order.version + 1), applied=True)
        fresh = await orders.find(order.order_id)
        assert fresh is not None, "orders are never deleted"
        order = fresh
        if untouched:
            break
    return Moved(order, applied=False)


def after(order: Order, step: Move, now_ms: int) -> Order:
    """Return the order after `step`; the relay's acceptance is timed."""
    moved = order.after(step.sighting, failure=step.failure, inclusion=step.inclusion)
    if step.sighting is Sighting.RELAY_ACCEPTED:
        return replace(moved, submitted_at_ms=now_ms, submitted_head=order.sent_head)
    return moved


def line_of(order: Order, to: Status, step: Move, now_ms: int) -> OrderEvent:
    """Return the line of the diary for a move of `order`."""
    return OrderEvent(
        order_id=order.order_id,
        at_ms=now_ms,
        sighting=step.sighting.value,
        from_status=order.status.value,
        to_status=to.value,
        evidence=step.evidence,
    )
