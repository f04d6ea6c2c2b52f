"""Find the transaction that used the nonce of an order without a receipt.

A transaction count is one number: a backend of another chain or of a fork may tell any. So the
blocks are read, from the newest one back along their parents, until one has the order's own
transaction or another one with its nonce. A count decides only where they have none: code of the
wallet can use a nonce, too (EIP-7702). It is then read at a canonical, deep block.
"""

from quietswap.rules.chain.records import Block, ChainReader
from quietswap.rules.orders.tracking import DEEP, BlockRef, CanonicalChain, TrackedOrder
from quietswap.service.orders.tracking.index import OrderIndex

BLOCKS_PER_HEAD = 32
"""Blocks read for all searches at one head: a day is read within an hour."""
_BEFORE_ORDER_S = 3600
"""Read on by this time before the order was stored: its time is that of a local clock."""


class NonceSearch:
    """Every method raises NodeUnavailable if the node is away: nothing has changed then."""

    def __init__(self, chain: ChainReader, canonical: CanonicalChain) -> None:
        self._chain = chain
        self._canonical = canonical
        self._blocks: dict[str, Block] = {}
        """The blocks that were read at the present head, by hash."""
        self._head = ""

    async def read_on(self, watch: TrackedOrder, watches: OrderIndex) -> bool:
        """Read more blocks; return whether the search is over, at a place or without one."""
        tip = self._canonical.tip
        assert tip is not None
        if tip.hash != self._head:
            self._head, self._blocks = tip.hash, {}
        if watch.unread is None:
            watch.unread = tip
        oldest_s = watch.order.created_at_ms // 1000 - _BEFORE_ORDER_S
        while not watch.is_placed and watch.unread.time >= oldest_s and watch.unread.number > 0:
            block = await self._block(watch.unread)
            if block is None:
                return False
            watches.match(block)
            watch.unread = BlockRef(block.number - 1, block.parent_hash, block.time)
        return True

    async def _block(self, ref: BlockRef) -> Block | None:
        """Return a block; None if it must wait for the next head, or the node does not have it."""
        block_hash = (self._canonical.at(ref.number) or ref).hash
        block = self._blocks.get(block_hash)
        if block is None and len(self._blocks) < BLOCKS_PER_HEAD:
            block = await self._chain.block_by_hash(block_hash)
            if block is not None and block.number == ref.number:
                self._blocks[block_hash] = block
        return self._blocks.get(block_hash)

    async def used_at(self, watch: TrackedOrder) -> BlockRef | None:
        """Return a deep canonical block at which the nonce is used; None without one."""
        tip = self._canonical.tip
        assert tip is not None
        block = self._canonical.at(tip.number - DEEP + 1)
        if block is None:
            return None
        wallet = watch.order.wallet
        counts = await self._chain.nonces_at(block.number, block.hash, [wallet])
        return block if counts[wallet] > watch.order.nonce else None
