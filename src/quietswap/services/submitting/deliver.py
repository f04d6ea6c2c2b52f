"""Store an order, send its bytes once, and store the relay's response.

The row with its hash is committed before the relay is called. From then on the send completes even
if the client disconnects, because it runs in its own task.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.domain.order.order import Order, OrderEvent, OrderEventType, Transition
from quietswap.domain.order.order_change import POSTED
from quietswap.domain.order.relay_response import (
    EarlierSend,
    RelayOutcome,
    RelayResponse,
    response_text,
)
from quietswap.ports.chain import ChainReader
from quietswap.ports.clock import Clock
from quietswap.ports.relay import Relay
from quietswap.ports.stores import DuplicateTransaction, OrderStore, StoreUnavailable
from quietswap.resilience.single_flight import SingleFlight
from quietswap.services.lifecycle.apply_transition import apply_transition, remark
from quietswap.services.lifecycle.relay_transition import RELAY_SAID, transition_for_response
from quietswap.services.lifecycle.send import PASSED_ON, passed_on, send


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
        observe.order_moved(order.order_id, line.sighting, order.status, line.evidence)
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
            order = await remark(self._orders, order, RELAY_SAID, response_text(answer), now())
            return DeliveryResult(order, outcome)
        unsent = outcome is RelayOutcome.NOT_SENT
        moved = await apply_transition(self._orders, order, step, now(), untouched=unsent)
        return DeliveryResult(moved.order, outcome if moved.applied else None)
