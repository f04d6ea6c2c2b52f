"""Follow the chain head by head, without missing a block or a reorganisation."""

from dataclasses import dataclass

from quietswap.rules.chain.records import Block, ChainReader, Head, NodeUnavailable
from quietswap.rules.orders.tracking import BlockRef, CanonicalChain
from quietswap.service import observe

LONGEST_WALK = 64
"""Blocks read one by one after a gap; after a longer gap all orders are checked instead."""
PATIENCE = 8
"""This many different unknown heads below our own mean another chain, not a lagging node."""


@dataclass(frozen=True, slots=True)
class ChainUpdate:
    """The change of the chain: blocks `removed` (newest first), then blocks `added`.

    `restarted`: the blocks between are unknown, so earlier observations no longer count.
    """

    removed: tuple[BlockRef, ...]
    added: tuple[Block, ...]
    restarted: bool = False


class ChainFollower:
    """Walk parent hashes back to the last known block, so that a gap hides nothing."""

    def __init__(self, chain: ChainReader) -> None:
        self._chain = chain
        self.canonical = CanonicalChain()
        self._off_chain_heads: set[str] = set()

    @property
    def tip(self) -> BlockRef:
        """Return the newest block read; there is one after the first `advance`."""
        assert self.canonical.tip is not None
        return self.canonical.tip

    def is_news(self, head: Head) -> bool:
        """Return whether a head is new.

        A known head comes from a node that lags. An unknown head below our own is on another fork:
        it is ignored until `PATIENCE` different ones have been seen.
        """
        tip = self.canonical.tip
        if tip is None or self._is_given_up():
            return True
        if self.canonical.holds(head.number, head.hash):
            return False
        if head.number >= tip.number:
            return True
        self._off_chain_heads.add(head.hash)
        return self._is_given_up()

    def _is_given_up(self) -> bool:
        return len(self._off_chain_heads) >= PATIENCE

    async def advance(self, head: Head) -> ChainUpdate:
        """Read up to `head`. On NodeUnavailable nothing has changed."""
        tip = self.canonical.tip
        newest = await self._chain.block_by_hash(head.hash)
        if newest is None or newest.number != head.number:
            raise NodeUnavailable("the head changed while it was read")
        if tip is not None:
            observe.tracker_lag(max(head.number - tip.number, 0))
        blocks = await self._walk(newest)
        self._off_chain_heads.clear()
        if blocks is None:
            self.canonical.restart(BlockRef.of(newest))
            return ChainUpdate((), (newest,), restarted=True)
        return self._attach(blocks)

    async def _walk(self, newest: Block) -> list[Block] | None:
        """Return the blocks after the last known one, newest first; None if none is reached."""
        tip = self.canonical.tip
        if tip is None or newest.number - tip.number > LONGEST_WALK:
            return None
        blocks = [newest]
        while len(blocks) <= 2 * LONGEST_WALK:
            oldest = blocks[-1]
            if self.canonical.holds(oldest.number - 1, oldest.parent_hash):
                return blocks
            if oldest.number <= tip.number and self.canonical.at(oldest.number - 1) is None:
                return None
            parent = await self._chain.block_by_hash(oldest.parent_hash)
            if parent is None or parent.number != oldest.number - 1:
                raise NodeUnavailable("the node does not know the parent of its own block")
            blocks.append(parent)
        return None

    def _attach(self, blocks: list[Block]) -> ChainUpdate:
        removed = self.canonical.rewind(blocks[-1].number - 1)
        if removed:
            observe.reorg_seen(len(removed), removed[-1].number)
        blocks.reverse()
        for block in blocks:
            self.canonical.extend(BlockRef.of(block))
        return ChainUpdate(tuple(removed), tuple(blocks))
