"""Apply a transition to a stored order, and the transition that a relay's response justifies.

`apply_transition` is a compare-and-set on the stored version, together with its event.
"""

from dataclasses import dataclass, replace

from quietswap.rules.amounts import difference_bps
from quietswap.rules.chain.records import ChainReader, NodeUnavailable
from quietswap.rules.operator.figures import tip_class
from quietswap.rules.orders.order import (
    Inclusion,
    Order,
    OrderEvent,
    OrderEventType,
    OrderKind,
    OrderStatus,
    Transition,
)
from quietswap.service import observe
from quietswap.service.relays.answers import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    answer_transition,
    conflict_transition,
    nonce_used_transition,
    words_of,
)
from quietswap.service.storage.orders import OrderStore


@dataclass(frozen=True, slots=True)
class TransitionResult:
    """The order as stored now, and whether this transition was applied."""

    order: Order
    applied: bool


async def apply_transition(
    orders: OrderStore, order: Order, step: Transition, now_ms: int, *, untouched: bool = False
) -> TransitionResult:
    """Apply `step`; if another writer was first, apply it to the order that writer stored.

    Nothing is applied if the table does not allow the transition. With `untouched`, nothing is
    applied if the order has changed since it was read. Raises StoreUnavailable.
    """
    while order.can_move_by(step.event_type):
        moved = with_transition(order, step, now_ms)
        if await orders.update(moved, event_for(order, moved.status, step, now_ms)):
            observe.order_moved(order.order_id, step.event_type, moved.status, step.evidence)
            if moved.status is OrderStatus.CONFIRMED and moved.submitted_at_ms is not None:
                observe.order_confirmed(now_ms - moved.submitted_at_ms)
            if moved.inclusion is not None:
                _observe_inclusion(moved, moved.inclusion)
            return TransitionResult(replace(moved, version=order.version + 1), applied=True)
        fresh = await orders.find(order.order_id)
        assert fresh is not None, "retention deletes no order that is tracked"
        order = fresh
        if untouched:
            break
    return TransitionResult(order, applied=False)


def _observe_inclusion(order: Order, block: Inclusion) -> None:
    """Measure the time to the block, and the amount delivered by a successful swap."""
    bps = None
    if block.succeeded and block.received is not None and order.kind is OrderKind.SWAP:
        bps = difference_bps(block.received, order.buy_amount)
    sent, sent_ms = order.submitted_head, order.submitted_at_ms
    observe.order_mined(
        order.source,
        order.relays_label,
        blocks=None if sent is None else max(block.block_number - sent, 0),
        ms=None if sent_ms is None else max(block.block_time_ms - sent_ms, 0),
        delivered_bps=bps,
        endpoint=order.endpoint_type,
        tip=tip_class(order.priority_fee),
        facts=block.facts,
        fee_cap=order.fee_cap or 0,
    )


async def remark(
    orders: OrderStore, order: Order, event_type: str, evidence: str, now_ms: int
) -> Order:
    """Store an event that changes no status, and return the order as stored then.

    Nothing is written if the order has changed since it was read. Raises StoreUnavailable.
    """
    line = OrderEvent(order.order_id, now_ms, event_type, order.status, order.status, evidence)
    if not await orders.update(order, line):
        return order
    observe.order_moved(order.order_id, event_type, order.status, evidence)
    return replace(order, version=order.version + 1)


_BY_RELAY = (OrderEventType.RELAY_ACCEPTED, OrderEventType.REFUSED, OrderEventType.NOT_SENT)


def with_transition(order: Order, step: Transition, now_ms: int) -> Order:
    """Return the order after `step`, with the relay's words or the time of its acceptance."""
    moved = order.after(step.event_type, failure=step.failure, inclusion=step.inclusion)
    if step.event_type in _BY_RELAY:
        moved = replace(moved, relay_answer=step.relay_answer)
    if step.event_type is OrderEventType.RELAY_ACCEPTED:
        return replace(moved, submitted_at_ms=now_ms, submitted_head=order.sent_head)
    return moved


def event_for(order: Order, to: OrderStatus, step: Transition, now_ms: int) -> OrderEvent:
    return OrderEvent(
        order_id=order.order_id,
        at_ms=now_ms,
        event_type=step.event_type.value,
        from_status=order.status.value,
        to_status=to.value,
        evidence=step.evidence,
        depth=step.depth,
    )


RELAY_SAID = "relay_said"
"""The event type of a response that changes no status."""


async def transition_for_response(
    answer: RelayResponse,
    order: Order,
    orders: OrderStore,
    chain: ChainReader,
    earlier: EarlierSend,
) -> Transition | None:
    """Return the transition with the relay's words; None if nothing is decided or can be told.
    Raises StoreUnavailable.
    """
    step = await _transition(answer, order, orders, chain, earlier)
    return step and replace(step, relay_answer=words_of(answer))


async def _transition(
    answer: RelayResponse,
    order: Order,
    orders: OrderStore,
    chain: ChainReader,
    earlier: EarlierSend,
) -> Transition | None:
    if answer.outcome is RelayOutcome.CONFLICT:
        live = list(await orders.live_nonces(order.wallet))
        has_rival = live.count(order.nonce) > (not order.status.is_terminal)
        return conflict_transition(order, has_rival=has_rival)
    if answer.outcome is not RelayOutcome.NONCE_USED:
        return answer_transition(answer, earlier)
    try:
        receipts = await chain.receipts([order.tx_hash])
        if order.tx_hash not in receipts:
            return None
        if receipts[order.tx_hash] is not None:
            return nonce_used_transition(order, is_mined=True, next_nonce=0)
        used = (await chain.nonces([order.wallet]))[order.wallet]
    except NodeUnavailable:
        return None
    return nonce_used_transition(order, is_mined=False, next_nonce=used)
