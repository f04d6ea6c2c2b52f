"""The recent canonical chain as read, to detect reorganisations."""

from typing import NamedTuple

KEEP = 512
"""Blocks kept; Ethereum finalises after 64 to 96."""


class BlockRef(NamedTuple):
    """One block; `time` in Unix seconds."""

    number: int
    hash: str
    time: int


class CanonicalChain:
    """Consecutive blocks, linked by parent hash."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._blocks: dict[int, BlockRef] = {}
        self._tip: BlockRef | None = None

    @property
    def tip(self) -> BlockRef | None:
        """Return the newest block; None before the first."""
        return self._tip

    def at(self, number: int) -> BlockRef | None:
        """Return the block of this number if it is kept."""
        return self._blocks.get(number)

    def holds(self, number: int, block_hash: str) -> bool:
        """Return whether this block is kept."""
        ref = self._blocks.get(number)
        return ref is not None and ref.hash == block_hash

    def restart(self, ref: BlockRef) -> None:
        """Remove all blocks and start with this one."""
        self._blocks = {ref.number: ref}
        self._tip = ref

    def extend(self, ref: BlockRef) -> None:
        """Add the child of the tip; remove the block that is too old."""
        assert self._tip is not None
        assert ref.number == self._tip.number + 1
        self._blocks[ref.number] = ref
        self._blocks.pop(ref.number - self._keep, None)
        self._tip = ref

    def rewind(self, number: int) -> list[BlockRef]:
        """Make the block of this number the tip; return the removed blocks, newest first."""
        assert self._tip is not None
        removed = [self._blocks.pop(n) for n in range(self._tip.number, number, -1)]
        self._tip = self._blocks[number]
        return removed
