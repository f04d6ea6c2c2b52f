"""Commit an order, send its bytes once, and write down what the relay said.

The row stands, with its hash, before the relay is called. Once it stands the send is finished even
if the client hangs up: the work runs in a task of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.domain.order import Move, Order, OrderEvent, Sighting
from quietswap.domain.protection import EndpointType, ShareMode
from quietswap.ports.outside import Chain, Clock, Relay, RelayAnswer, RelayOutcome
from quietswap.ports.stores import DuplicateTransaction, OrderStore, StoreDown
from quietswap.services.move_order import move
from quietswap.services.relay_verdict import move_after


@dataclass(frozen=True, slots=True)
class Delivered:
    """The order as it stands, and what the relay answered to this delivery.

    `outcome` is None when nothing may be concluded from it: another post had sent the same bytes,
    somebody else moved the order meanwhile, or the answer could not be written down.
    """

    order: Order
    outcome: RelayOutcome | None


def send(relay: Relay, order: Order, raw: bytes) -> Awaitable[RelayAnswer]:
    """Send the order's bytes to the endpoint of our own table that it was issued for."""
    kind, share = EndpointType(order.endpoint_type), ShareMode(order.share_mode)
    return relay.submit(raw, kind, share)


_Commit = Callable[[], Awaitable[tuple[Order, bool]]]
"""Stores an order; returns it, or the one in its place, and whether it is this delivery's."""


class Delivery:
    """`relays` by tier. Posts of the same bytes at the same time share one delivery."""

    def __init__(
        self, orders: OrderStore, chain: Chain, relays: Mapping[int, Relay], clock: Clock
    ) -> None:
        self._orders = orders
        self._chain = chain
        self._relays = relays
        self._clock = clock
        self._running: dict[str, asyncio.Task[Delivered]] = {}

    async def new(self, order: Order) -> Delivered:
        """Deliver a new pending order; the answer holds another one if the bytes are known.

        Raises StoreDown when it is not certain that it was stored: it was not sent then.
        """
        return await self._once(order.tx_hash, lambda: self._add(order))

    async def again(self, dead: Order, fresh: Order) -> Delivered:
        """Deliver a dead order once more, with the times and the relay of `fresh`."""
        return await self._once(dead.tx_hash, lambda: self._reopen(dead, fresh))

    async def settled(self, order: Order) -> Order:
        """Return the order after the delivery of it under way, if there is one."""
        task = self._running.get(order.tx_hash)
        return order if task is None else (await asyncio.shield(task)).order

    async def drain(self) -> None:
        """Wait until every delivery under way has ended, as a server does before it stops."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _once(self, tx_hash: str, commit: _Commit) -> Delivered:
        task = self._running.get(tx_hash)
        if task is None:
            task = asyncio.create_task(self._deliver(commit))
            self._running[tx_hash] = task
            task.add_done_callback(lambda _: self._running.pop(tx_hash))
        return await asyncio.shield(task)

    async def _deliver(self, commit: _Commit) -> Delivered:
        order, is_ours = await commit()
        if not is_ours:
            return Delivered(order, None)
        assert order.raw is not None
        answer = await send(self._relays[order.tier], order, order.raw)
        try:
            return await self._record(order, answer)
        except StoreDown:
            return Delivered(order, None)

    async def _add(self, order: Order) -> tuple[Order, bool]:
        line = OrderEvent(
            order.order_id, self._clock.now_ms(), "posted", None, order.status, "bytes committed"
        )
        try:
            await self._orders.add(order, line)
        except DuplicateTransaction as error:
            return error.order, False
        observe.order_moved(order.order_id, line.sighting, order.status, line.evidence)
        return order, True

    async def _reopen(self, dead: Order, fresh: Order) -> tuple[Order, bool]:
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
        step = Move(Sighting.REPOSTED, "its client posted the same bytes again")
        moved = await move(self._orders, changed, step, self._clock.now_ms(), untouched=True)
        return moved.order, moved.applied

    async def _record(self, order: Order, answer: RelayAnswer) -> Delivered:
        """Write what the answer means.

        "Nothing was sent" is only true while nobody else has touched the order, since the tracker
        claims an order by writing it before it sends the bytes again.
        """
        step = await move_after(answer, order, self._orders, self._chain)
        if step is None:
            return Delivered(order, answer.outcome)
        unsent = step.sighting is Sighting.NOT_SENT
        moved = await move(self._orders, order, step, self._clock.now_ms(), untouched=unsent)
        return Delivered(moved.order, answer.outcome if moved.applied else None)
