"""Store an order, send its bytes once, and store the relay's response.

The row with its hash is committed before the relay is called. From then on the send completes even
if the client disconnects, because it runs in its own task.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.amounts import difference_bps
from quietswap.chain.chain import ChainReader, NodeUnavailable
from quietswap.chain.signed import decode
from quietswap.clock import Clock
from quietswap.concurrency import SingleFlight
from quietswap.operator.figures import UNKNOWN_TIP, tip_class
from quietswap.orders.order import (
    POSTED,
    Inclusion,
    Order,
    OrderEvent,
    OrderEventType,
    OrderKind,
    OrderStatus,
    Transition,
)
from quietswap.orders.stores import DuplicateTransaction, StoreUnavailable
from quietswap.relays.answers import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    answer_transition,
    conflict_transition,
    nonce_used_transition,
    response_text,
    words_of,
)
from quietswap.relays.relay import Relay
from quietswap.relays.settings import BACKUP_TIER, FIRST_TIER, EndpointType, ShareMode
from quietswap.storage.orders import OrderStore

# Send the signed bytes of an order to its relay, with the privacy options of its quote.


def send(relay: Relay, order: Order, raw: bytes) -> Awaitable[RelayResponse]:
    """Send the order's bytes to the endpoint it was issued for, taken from our own table."""
    kind, share = EndpointType(order.endpoint_type), ShareMode(order.share_mode)
    return relay.submit(raw, kind, share)


def passed_on(order: Order, answer: RelayResponse, relays: Mapping[int, Relay]) -> Order | None:
    """Return the order for the backup, if the first relay did not take it; else None.

    The bytes are the same, so at most one is mined. The backup must promise as much: an order that
    is dropped if it would revert stays with a relay that drops it.
    """
    backup = relays.get(BACKUP_TIER)
    if answer.outcome is not RelayOutcome.NOT_TAKEN or order.tier != FIRST_TIER:
        return None
    if backup is None or not backup.is_up:
        return None
    kind = EndpointType(order.endpoint_type)
    if relays[FIRST_TIER].drops_reverts(kind) and not backup.drops_reverts(kind):
        return None
    return replace(order, tier=BACKUP_TIER, relay_answer=words_of(answer))


PASSED_ON = "the relay takes no transactions at the moment: the backup gets it"


# Apply a transition: a compare-and-set on the stored version, together with its event.


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
                tip = await _tip(orders, moved) if observe.keeps_figures() else UNKNOWN_TIP
                _observe_inclusion(moved, moved.inclusion, tip)
            return TransitionResult(replace(moved, version=order.version + 1), applied=True)
        fresh = await orders.find(order.order_id)
        assert fresh is not None, "orders are never deleted"
        order = fresh
        if untouched:
            break
    return TransitionResult(order, applied=False)


def _observe_inclusion(order: Order, block: Inclusion, tip: str) -> None:
    """Measure the time to the block, and the amount delivered by a successful swap."""
    bps = None
    if block.succeeded and block.received is not None and order.kind is OrderKind.SWAP:
        bps = difference_bps(block.received, order.buy_amount)
    sent, sent_ms = order.submitted_head, order.submitted_at_ms
    observe.order_mined(
        order.source,
        order.tier,
        blocks=None if sent is None else max(block.block_number - sent, 0),
        ms=None if sent_ms is None else max(block.block_time_ms - sent_ms, 0),
        delivered_bps=bps,
        endpoint=order.endpoint_type,
        tip=tip,
    )


async def _tip(orders: OrderStore, order: Order) -> str:
    """Return the class of the priority fee; unknown without the signed bytes.

    The tracker holds no bytes, so they are read: once for each mined order.
    """
    try:
        raw = order.raw or (await orders.raws([order.order_id])).get(order.order_id, b"")
        return tip_class(decode(f"0x{raw.hex()}").priority_fee)
    except (StoreUnavailable, ValueError):  # ValueError: no EIP-1559 transaction
        return UNKNOWN_TIP


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
    """Return the event of a transition of `order`."""
    return OrderEvent(
        order_id=order.order_id,
        at_ms=now_ms,
        event_type=step.event_type.value,
        from_status=order.status.value,
        to_status=to.value,
        evidence=step.evidence,
        depth=step.depth,
    )


# The transition that a relay's response justifies, checked at the order store and the node.


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


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The order as stored, and the relay's outcome of this delivery.

    `outcome` is None if it permits no conclusion: another post had sent the same bytes, another
    writer changed the order meanwhile, or the response could not be stored.
    """

    order: Order
    outcome: RelayOutcome | None


_Commit = Callable[[], Awaitable[tuple[Order, bool]]]
"""Stores an order; returns the stored order, and whether this delivery stored it."""


class OrderDelivery:
    """`relays` by tier. Posts of the same bytes at the same time share one delivery."""

    def __init__(
        self, orders: OrderStore, chain: ChainReader, relays: Mapping[int, Relay], clock: Clock
    ) -> None:
        self._orders = orders
        self._chain = chain
        self._relays = relays
        self._clock = clock
        self._in_flight: SingleFlight[str, DeliveryResult] = SingleFlight()

    async def new(
        self, order: Order, checked: str = "", spends: Sequence[str] = ()
    ) -> DeliveryResult:
        """Deliver a new pending order; if the bytes are known, return the order that has them.

        `checked` is the result of the preflight, as text for the event log; `spends` are further
        quotes that its nonce spends.

        Raises the errors of `OrderStore.add`, and StoreUnavailable when it is not certain that the
        order was stored: it was not sent then.
        """
        return await self._once(
            order.tx_hash, lambda: self._add(order, checked, spends), EarlierSend.NONE
        )

    async def redeliver(self, dead: Order, fresh: Order, checked: str = "") -> DeliveryResult:
        """Deliver an ended order once more, with the times and the relay of `fresh`."""
        earlier = EarlierSend.CERTAIN if dead.is_at_large else EarlierSend.NONE
        return await self._once(dead.tx_hash, lambda: self._reopen(dead, fresh, checked), earlier)

    async def wait_for(self, order: Order) -> Order:
        """Return the order after its running delivery, if there is one."""
        delivered = await self._in_flight.wait_for(order.tx_hash)
        return order if delivered is None else delivered.order

    async def drain(self) -> None:
        """Wait until all running deliveries have ended: called before the process stops."""
        await self._in_flight.drain()

    async def _once(self, tx_hash: str, commit: _Commit, earlier: EarlierSend) -> DeliveryResult:
        return await self._in_flight(tx_hash, lambda: self._deliver(commit, earlier=earlier))

    async def _deliver(self, commit: _Commit, *, earlier: EarlierSend) -> DeliveryResult:
        order, is_ours = await commit()
        if not is_ours:
            return DeliveryResult(order, None)
        assert order.raw is not None
        answer = await send(self._relays[order.tier], order, order.raw)
        try:
            moved = passed_on(order, answer, self._relays)
            if moved is not None:
                now = self._clock.now_ms()
                changed = await remark(self._orders, moved, RELAY_SAID, PASSED_ON, now)
                if changed is not moved:  # stored before the backup gets it
                    order, earlier = changed, EarlierSend.CERTAIN
                    answer = await send(self._relays[order.tier], order, changed.raw or b"")
            return await self._record(order, answer, earlier=earlier)
        except StoreUnavailable:
            return DeliveryResult(order, None)

    async def _add(self, order: Order, checked: str, spends: Sequence[str]) -> tuple[Order, bool]:
        evidence = "; ".join(filter(None, ("bytes committed", checked)))
        now = self._clock.now_ms()
        line = OrderEvent(order.order_id, now, POSTED, None, order.status, evidence)
        try:
            await self._orders.add(order, line, spends)
        except DuplicateTransaction as error:
            return error.order, False
        observe.order_moved(order.order_id, line.event_type, order.status, line.evidence)
        return order, True

    async def _reopen(self, dead: Order, fresh: Order, checked: str) -> tuple[Order, bool]:
        changed = replace(
            dead,
            tier=fresh.tier,
            endpoint_type=fresh.endpoint_type,
            share_mode=fresh.share_mode,
            expires_at_ms=fresh.expires_at_ms,
            watch_until_ms=fresh.watch_until_ms,
            submitted_at_ms=None,
            submitted_head=None,
            relay_answer=None,
            sent_head=fresh.sent_head,
            attempts=dead.attempts + 1,
        )
        evidence = "; ".join(filter(None, ("its client posted the same bytes again", checked)))
        step = Transition(OrderEventType.REPOSTED, evidence)
        moved = await apply_transition(
            self._orders, changed, step, self._clock.now_ms(), untouched=True
        )
        return moved.order, moved.applied

    async def _record(
        self, order: Order, answer: RelayResponse, *, earlier: EarlierSend
    ) -> DeliveryResult:
        """Store what the response means.

        "Nothing was sent" is true only while no other writer has changed the order: the tracker
        writes an order before it sends the bytes again.
        """
        now, outcome = self._clock.now_ms, answer.outcome
        step = await transition_for_response(answer, order, self._orders, self._chain, earlier)
        if step is None:
            heard = replace(order, relay_answer=words_of(answer))
            stored = await remark(self._orders, heard, RELAY_SAID, response_text(answer), now())
            return DeliveryResult(order if stored is heard else stored, outcome)
        unsent = outcome is RelayOutcome.NOT_SENT
        moved = await apply_transition(self._orders, order, step, now(), untouched=unsent)
        return DeliveryResult(moved.order, outcome if moved.applied else None)
