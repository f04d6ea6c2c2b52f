"""Following the chain head by head, without ever missing a block or a reorganisation."""

from dataclasses import dataclass

from quietswap import observe
from quietswap.domain.canon import BlockRef, Canon
from quietswap.ports.outside import Block, Chain, ChainDown, Head

LONGEST_WALK = 64
"""Blocks fetched one by one after a gap; beyond, all orders are looked at afresh instead."""
PATIENCE = 8
"""So many different heads below our own, all unknown, are no lagging node but another chain."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What became of the chain: first `removed` (newest first) went, then `added` came.

    `restarted`: the blocks between are not known, so nothing seen before may be relied on.
    """

    removed: tuple[BlockRef, ...]
    added: tuple[Block, ...]
    restarted: bool = False


class ChainFollower:
    """Parent hashes are walked back to the last block known, so a gap hides nothing."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.canon = Canon()
        self._strange: set[str] = set()

    @property
    def tip(self) -> BlockRef:
        """Return the newest block read; there is one after the first `advance`."""
        assert self.canon.tip is not None
        return self.canon.tip

    def is_news(self, head: Head) -> bool:
        """Return whether a head says something new.

        One that we know is a node's that lags behind. An unknown one below our own is on another
        fork: it is left aside, unless heads of that kind go on and on.
        """
        tip = self.canon.tip
        if tip is None or self._is_given_up():
            return True
        if self.canon.holds(head.number, head.hash):
            return False
        if head.number >= tip.number:
            return True
        self._strange.add(head.hash)
        return self._is_given_up()

    def _is_given_up(self) -> bool:
        return len(self._strange) >= PATIENCE

    async def advance(self, head: Head) -> Progress:
        """Read up to `head`. Raises ChainDown, having changed nothing."""
        tip = self.canon.tip
        newest = await self._chain.block(head.number)
        if newest is None or newest.hash != head.hash:
            raise ChainDown("the head changed while it was read")
        if tip is not None:
            observe.tracker_lag(max(head.number - tip.number, 0))
        blocks = await self._walk(newest)
        self._strange.clear()
        if blocks is None:
            self.canon.restart(_ref(newest))
            return Progress((), (newest,), restarted=True)
        return self._attach(blocks)

    async def _walk(self, newest: Block) -> list[Block] | None:
        """Return the blocks after the last one known, newest first; None when there is none."""
        tip = self.canon.tip
        if tip is None or newest.number - tip.number > LONGEST_WALK:
            return None
        blocks = [newest]
        while len(blocks) <= 2 * LONGEST_WALK:
            oldest = blocks[-1]
            if self.canon.holds(oldest.number - 1, oldest.parent_hash):
                return blocks
            if oldest.number <= tip.number and self.canon.at(oldest.number - 1) is None:
                return None
            parent = await self._chain.block_by_hash(oldest.parent_hash)
            if parent is None or parent.number != oldest.number - 1:
                raise ChainDown("the node does not know the parent of its own block")
            blocks.append(parent)
        return None

    def _attach(self, blocks: list[Block]) -> Progress:
        removed = self.canon.rewind(blocks[-1].number - 1)
        if removed:
            observe.reorg_seen(len(removed), removed[-1].number)
        blocks.reverse()
        for block in blocks:
            self.canon.extend(_ref(block))
        return Progress(tuple(removed), tuple(blocks))


def _ref(block: Block) -> BlockRef:
    return BlockRef(block.number, block.hash, block.time)
