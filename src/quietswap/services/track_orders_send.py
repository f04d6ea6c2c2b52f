"""What the tracker sends: the same bytes again, and the request to forget expired ones."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from quietswap import observe
from quietswap.domain.canon import BlockRef
from quietswap.domain.order import Order, Sighting, Status
from quietswap.domain.tracking import Watch, certainly_past, claimed, expired
from quietswap.ports.outside import Chain, Relay, RelayAnswer, RelayOutcome
from quietswap.services.deliver_order import send
from quietswap.services.relay_verdict import move_after
from quietswap.services.track_orders_board import Board
from quietswap.services.track_orders_look import Looks

T = TypeVar("T")

MOST_RESENT, MOST_EXPIRED = 64, 256
"""Orders sent again, and expired, per block: the rest waits for the next one."""
PARALLEL = 16


class Sender:
    """`relays` by tier. Identical bytes cannot be mined twice, so sending again is harmless."""

    def __init__(
        self, board: Board, chain: Chain, relays: Mapping[int, Relay], looks: Looks
    ) -> None:
        self._board = board
        self._chain = chain
        self._relays = relays
        self._looks = looks

    async def resend(self, tip: BlockRef) -> None:
        """Send again what is due: first what no relay is known to have."""
        if not any(relay.is_up for relay in self._relays.values()):
            return
        watches = self._board.watches
        due = watches.resend_pending.take(tip.number, MOST_RESENT)
        due += watches.resend_held.take(tip.number, MOST_RESENT - len(due))
        try:
            for piece in _pieces(due):
                await self._send_again(piece, tip)
        finally:
            for watch in filter(None, map(watches.get, due)):
                watches.file(watch, not_before=tip.number + 1)

    async def _send_again(self, due: Sequence[str], tip: BlockRef) -> None:
        """Write these as sent once more, and send them at once.

        Writing comes first: whoever then concludes that nothing was sent finds the row changed.
        What somebody else has changed since it was read is read again, and waits for a block.
        """
        watches = self._board.watches
        wanted = [w for w in map(watches.get, due) if w is not None and self._may_be_sent(w, tip)]
        raws = await self._board.orders.claim([watch.order for watch in wanted], tip.number)
        claims = [(w, raws[w.order.order_id]) for w in wanted if w.order.order_id in raws]
        for watch, _ in claims:
            watch.must_go_out = False
            watch.order = claimed(watch.order, tip.number)
        await _each(claims, self._send)
        for watch in wanted:
            if watch.order.order_id not in raws:
                await self._board.refresh(watch.order.order_id)

    async def _send(self, claim: tuple[Watch, bytes]) -> None:
        watch, raw = claim
        order = watch.order
        answer = await send(self._relays[order.tier], order, raw)
        observe.order_resent(order.order_id, order.attempts, answer.outcome.value)
        await self._conclude(watch, order, answer)

    def _may_be_sent(self, watch: Watch, tip: BlockRef) -> bool:
        relay = self._relays.get(watch.order.tier)
        if watch.order.status.is_terminal or relay is None or not relay.is_up:
            return False
        return self._past(tip) < watch.order.expires_at_ms or tip.number < watch.spared_until

    def _past(self, tip: BlockRef) -> int:
        return certainly_past(self._board.clock.now_ms(), tip.time, self._board.rules)

    async def _conclude(self, watch: Watch, order: Order, answer: RelayAnswer) -> None:
        """A pending order moves by the answer; one the relay had accepted moves by the chain only.

        Not to have reached the relay this time says nothing of the time before.
        """
        if answer.outcome is RelayOutcome.NONCE_USED:
            self._board.watches.doubted[order.order_id] = watch
        if order.status is not Status.PENDING:
            return
        step = await move_after(answer, order, self._board.orders, self._chain)
        if step is not None and step.sighting is not Sighting.NOT_SENT:
            await self._board.apply(watch, step)

    async def expire(self, tip: BlockRef) -> None:
        """End what is over in time, unless a last look finds it on its way into the chain."""
        watches = self._board.watches
        due = watches.expiry.take(self._past(tip), MOST_EXPIRED)
        found = [w for w in map(watches.get, due) if w is not None]
        try:
            await self._looks.look([w for w in found if _may_expire(w, tip.number)])
            over = [w.order.order_id for w in found if _may_expire(w, tip.number)]
            await _each(over, self._expire)
        finally:
            for watch in filter(None, map(watches.get, due)):
                watches.file(watch)

    async def _expire(self, order_id: str) -> None:
        watch = self._board.watches.get(order_id)
        assert watch is not None
        relay, hint = self._relays.get(watch.order.tier), None
        if relay is not None:
            await relay.cancel(watch.order.tx_hash)
            hint = await relay.hint(watch.order.tx_hash)
        await self._board.apply(watch, expired(hint))


def _may_expire(watch: Watch, head: int) -> bool:
    return (
        watch.is_open and not watch.is_placed and watch.doubt is None and head >= watch.spared_until
    )


def _pieces(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + PARALLEL] for start in range(0, len(keys), PARALLEL))


async def _each(items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do the work for each item, a few at a time; raise the first trouble when all have ended."""
    waiting = iter(items)
    troubles: list[Exception] = []

    async def take() -> None:
        for item in waiting:
            try:
                await work(item)
            except Exception as error:  # noqa: BLE001  raised below
                troubles.append(error)

    await asyncio.gather(*(take() for _ in range(min(PARALLEL, len(items)))))
    if troubles:
        raise troubles[0]
