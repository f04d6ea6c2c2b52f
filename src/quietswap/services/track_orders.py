"""Following orders until the chain has decided, and until its decision is final.

At every new head: one full block is matched by hash and by (sender, nonce), receipts are fetched
for the matches alone, and a slice of all orders is looked at again. The cost of a block does not
grow with the number of orders. A node that is away is no information: nothing is concluded from it.
"""

from collections.abc import Mapping

from quietswap import observe
from quietswap.domain.canon import BlockRef
from quietswap.domain.tracking import (
    Rival,
    TrackingRules,
    Watch,
    certainly_past,
    depth,
    included,
    new_head,
    reorganised,
    rival_failure,
    taken,
    was_offered,
)
from quietswap.ports.outside import Block, Chain, ChainDown, Clock, Relay
from quietswap.ports.stores import OrderStore
from quietswap.services.track_orders_board import Board
from quietswap.services.track_orders_chain import ChainFollower, Progress
from quietswap.services.track_orders_look import BATCH, Looks
from quietswap.services.track_orders_send import Sender


class TrackOrders:
    """One active tracker follows all orders. `relays` by tier.

    `start` and `turn` raise ChainDown and StoreDown. Whatever a turn left undone, the next one does
    again: each step looks at what is known, not at what just happened.
    """

    def __init__(
        self,
        orders: OrderStore,
        chain: Chain,
        relays: Mapping[int, Relay],
        clock: Clock,
        rules: TrackingRules,
    ) -> None:
        self._chain = chain
        self._relays = relays
        self._board = Board(orders, clock, rules)
        self._begin()

    def _begin(self) -> None:
        self._follower = ChainFollower(self._chain)
        self._looks = Looks(self._board, self._chain, self._follower)
        self._sender = Sender(self._board, self._chain, self._relays, self._looks)
        self._must_look_at_all = True
        self._is_unfinished = False

    @property
    def watched(self) -> int:
        """Return how many orders are under watch."""
        return len(self._board.watches)

    async def start(self) -> None:
        """Begin from the database: look at every order first, then send again what may still go."""
        self._begin()
        await self._board.load()
        await self.turn()

    async def turn(self) -> None:
        """Look at the head once, and at the orders if it is a new one."""
        try:
            head = await self._chain.head()
            if self._follower.is_news(head):
                await self._board.adopt()
                self._note(await self._follower.advance(head))
                self._is_unfinished = True
            if self._is_unfinished:
                await self._conclude(self._follower.tip)
                self._is_unfinished = False
                observe.orders_watched(self._board.watches.statuses)
        except ChainDown:
            self._forget_doubts()
            raise

    def _note(self, progress: Progress) -> None:
        """Write into memory what the blocks say: where orders are, and where they are not."""
        watches = self._board.watches
        if progress.restarted:
            self._must_look_at_all = True
            for watch in watches:
                if watch.rival is not None or not watch.is_settled:
                    watches.place(watch, None)
        for ref in progress.removed:
            watches.leave_block(ref.hash)
        for block in progress.added:
            self._match(block)

    def _match(self, block: Block) -> None:
        watches = self._board.watches
        ref = BlockRef(block.number, block.hash, block.time)
        for tx in block.transactions:
            for watch in list(watches.concerned(tx.hash, tx.sender, tx.nonce)):
                if watch.order.tx_hash == tx.hash:
                    watches.place(watch, ref)
                else:
                    failure = rival_failure(watch.order, tx.hash, tx.to, tx.data_size)
                    watches.place(watch, None, Rival(ref, failure))

    async def _conclude(self, tip: BlockRef) -> None:
        await self._look()
        await self._take_back(tip)
        await self._settle(tip)
        for watch in list(self._board.watches.accepted.values()):
            if was_offered(watch.order, tip.number):
                await self._board.apply(watch, new_head(tip.number))
        await self._sender.expire(tip)
        await self._sender.resend(tip)
        if _is_turn_to_close(tip, self._board.rules):
            await self._close(tip)

    async def _look(self) -> None:
        """Look at all orders after a gap; else at the doubted ones and a slice of the rest."""
        watches = self._board.watches
        if self._must_look_at_all:
            await self._looks.look(list(watches))
            self._must_look_at_all = False
            return
        chosen = {w.order.order_id: w for w in watches.doubted.values()}
        if not _is_turn_to_close(self._follower.tip, self._board.rules):
            share = -(-len(watches) // self._board.rules.backstop_every)
            chosen |= {w.order.order_id: w for w in watches.next_round(min(share, BATCH))}
        await self._looks.look(list(chosen.values()))

    def _forget_doubts(self) -> None:
        for watch in self._board.watches.doubted.values():
            watch.trusts()

    async def _take_back(self, tip: BlockRef) -> None:
        """Take back the verdicts of blocks that are no longer canonical, and send again at once."""
        for watch in list(self._board.watches.undone.values()):
            watch.must_go_out = True
            watch.spared_until = tip.number + self._board.rules.resend_every
            await self._board.apply(watch, reorganised(watch.order))

    async def _settle(self, tip: BlockRef) -> None:
        """Give the verdicts of blocks that are deep enough; an own one needs its receipt, too."""
        due = []
        for watch in list(self._board.watches.unsettled.values()):
            if depth(tip.number, watch.blocks[0].number) < self._board.rules.confirmations:
                continue
            if watch.rival is not None:
                await self._board.apply(watch, taken(watch.rival))
            else:
                due.append(watch)
        for start in range(0, len(due), BATCH):
            await self._include(due[start : start + BATCH])

    async def _include(self, watches: list[Watch]) -> None:
        """A receipt that is missing, or of another block, is no information: it may lag behind."""
        receipts = await self._chain.receipts([w.order.tx_hash for w in watches])
        for watch in watches:
            receipt, place = receipts[watch.order.tx_hash], watch.seen
            if receipt is None or place is None or receipt.block_hash != place.hash:
                continue
            step = included(place, receipt.succeeded, receipt.gas_used, receipt.effective_gas_price)
            await self._board.apply(watch, step)

    async def _close(self, tip: BlockRef) -> None:
        """End the watches that are over: the deciding block is final, or all the time is up."""
        watches = self._board.watches
        moment = certainly_past(self._board.clock.now_ms(), tip.time, self._board.rules)
        over = watches.end.take(moment, BATCH)
        final: list[str] = []
        if len(watches.closing):
            final = watches.closing.take(await self._chain.finalized_number(), BATCH)
        try:
            settled = [w for w in map(watches.get, final) if w is not None and w.is_settled]
            await self._looks.look(settled)
            for watch in filter(None, map(watches.get, over)):
                if not watch.is_open:
                    await self._board.close(watch)
            for watch in settled:
                if not watch.is_undone and watch.doubt is None and not watch.is_open:
                    await self._board.close(watch)
        finally:
            for watch in filter(None, map(watches.get, (*over, *final))):
                watches.file(watch)


def _is_turn_to_close(tip: BlockRef, rules: TrackingRules) -> bool:
    """Return whether this block is for closing watches: the others are for the backstop."""
    return tip.number % rules.backstop_every == 0
