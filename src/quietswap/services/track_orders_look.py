"""Looking at orders one by one: the backstop for what reading the blocks did not show.

Receipts and nonces come in one batch each. A receipt counts only in a block known to be canonical;
the absence of one counts only together with the nonce, and only at two blocks in a row.
"""

from collections.abc import Sequence

from quietswap.domain.canon import BlockRef
from quietswap.domain.tracking import Doubt, Watch, consumed, is_by_nonce
from quietswap.ports.outside import Chain, Receipt
from quietswap.services.track_orders_board import Board
from quietswap.services.track_orders_chain import ChainFollower

BATCH = 100
"""Orders looked at together: hosted nodes take 100 calls in a batch, go-ethereum 1000."""


class Looks:
    """Every method raises ChainDown when an answer is missing or partial: then nothing counts."""

    def __init__(self, board: Board, chain: Chain, follower: ChainFollower) -> None:
        self._board = board
        self._chain = chain
        self._follower = follower
        self._others: dict[int, BlockRef | None] = {}

    async def look(self, watches: Sequence[Watch]) -> None:
        """Look at these orders, in as many batches as it takes."""
        self._others.clear()
        for start in range(0, len(watches), BATCH):
            await self._batch(watches[start : start + BATCH])

    async def _batch(self, watches: Sequence[Watch]) -> None:
        receipts = await self._chain.receipts([w.order.tx_hash for w in watches])
        nonces = await self._chain.nonces(sorted({w.order.wallet for w in watches}))
        for watch in watches:
            order = watch.order
            receipt = receipts[order.tx_hash]
            if receipt is not None:
                await self._found(watch, receipt)
            elif order.inclusion is not None:
                await self._lost(watch, order.inclusion.block_number, order.inclusion.block_hash)
            elif not watch.is_placed:
                await self._absent(watch, is_used=nonces[order.wallet] > order.nonce)

    async def _found(self, watch: Watch, receipt: Receipt) -> None:
        """There is a receipt: it counts if its block is canonical."""
        place = await self._canonical(receipt.block_number)
        if place is None or place.hash != receipt.block_hash:
            return
        self._trust(watch)
        if watch.seen != place:
            self._board.watches.place(watch, place)

    async def _lost(self, watch: Watch, number: int, block_hash: str) -> None:
        """The order says a block included it, but the node has no receipt: is the block there?"""
        place = await self._canonical(number)
        if place is None:
            return
        if place.hash == block_hash:
            self._trust(watch)
            self._board.watches.place(watch, place)
        elif self._doubt(watch, Doubt.UNDONE):
            self._board.watches.undo(watch)

    async def _absent(self, watch: Watch, *, is_used: bool) -> None:
        """No block is known to decide about it: what does its nonce say?"""
        by_nonce = is_by_nonce(watch.order)
        if not is_used and not by_nonce:
            watch.gone_since = None
            self._trust(watch)
        elif by_nonce and not is_used:
            if self._doubt(watch, Doubt.UNDONE):
                self._board.watches.undo(watch)
        elif by_nonce or watch.gone_since is not None:
            self._gone(watch)
        elif self._doubt(watch, Doubt.NONCE_GONE):
            if watch.is_open:
                await self._board.apply(watch, consumed(self._follower.tip.number))
            self._gone(watch)

    def _gone(self, watch: Watch) -> None:
        if watch.gone_since is None:
            watch.gone_since = self._follower.tip.number
        self._trust(watch)
        self._board.watches.place(watch, None)

    def _trust(self, watch: Watch) -> None:
        watch.trusts()
        self._board.watches.doubted.pop(watch.order.order_id, None)

    def _doubt(self, watch: Watch, doubt: Doubt) -> bool:
        """Note a doubt, to be looked at again at the next block; return whether it stood before."""
        if watch.doubts(doubt, self._follower.tip.number):
            self._trust(watch)
            return True
        self._board.watches.doubted[watch.order.order_id] = watch
        return False

    async def _canonical(self, number: int) -> BlockRef | None:
        """Return the canonical block of a number: as read before, or asked for once per look."""
        known = self._follower.canon.at(number)
        if known is not None or number > self._follower.tip.number:
            return known
        if number not in self._others:
            block = await self._chain.block(number)
            ref = BlockRef(block.number, block.hash, block.time) if block else None
            self._others[number] = ref
        return self._others[number]
