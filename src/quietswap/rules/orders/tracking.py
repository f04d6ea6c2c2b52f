"""A tracked order, and the rules of the operator for it: depth, resends, time limits."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.records import Block
from quietswap.rules.orders.order import (
    BY_NONCE,
    Failure,
    Order,
    OrderKind,
    OrderStatus,
)
from quietswap.rules.orders.watch_states import WatchState
from quietswap.rules.relays import FIRST_TIER

KEEP = 512
"""Blocks kept; Ethereum finalises after 64 to 96."""


class BlockRef(NamedTuple):
    """One block; `time` in Unix seconds. `facts` are None where they are not known."""

    number: int
    hash: str
    time: int
    facts: BlockFacts | None = None

    @classmethod
    def of(cls, block: Block) -> "BlockRef":
        return cls(block.number, block.hash, block.time, block.facts)


class CanonicalChain:
    """Consecutive blocks, linked by parent hash."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._blocks: dict[int, BlockRef] = {}
        self.tip: BlockRef | None = None
        """The newest block; None before the first."""

    def at(self, number: int) -> BlockRef | None:
        return self._blocks.get(number)

    def holds(self, number: int, block_hash: str) -> bool:
        ref = self._blocks.get(number)
        return ref is not None and ref.hash == block_hash

    def restart(self, ref: BlockRef) -> None:
        self._blocks = {ref.number: ref}
        self.tip = ref

    def extend(self, ref: BlockRef) -> None:
        assert self.tip is not None
        assert ref.number == self.tip.number + 1
        self._blocks[ref.number] = ref
        self._blocks.pop(ref.number - self._keep, None)
        self.tip = ref

    def rewind(self, number: int) -> list[BlockRef]:
        """Make the block of this number the tip; return the removed blocks, newest first."""
        assert self.tip is not None
        removed = [self._blocks.pop(n) for n in range(self.tip.number, number, -1)]
        self.tip = self._blocks[number]
        return removed


@dataclass(frozen=True, slots=True)
class TrackingRules:
    """Numbers of blocks: that confirm, between two resends, between two checks of every order.

    `backup_after`: after so many without an inclusion the backup gets an order, too; 0 is never. It
    gets only orders of `backup_endpoints`, for which it promises as much as the first relay.
    """

    confirmations: int
    resend_every: int
    backstop_every: int
    backup_after: int = 0
    backup_endpoints: frozenset[str] = frozenset()


MOST_AHEAD_S = 3_600
"""More than that is no local clock that is behind: the block times are wrong."""
CLOCK_SLACK_MS = 60_000
"""The local clock may run this far ahead of the chain's time."""
DEEP = 32
"""Confirmations below which nothing is closed, whatever a node calls final: one that mines for
itself, or a proxy, may call its head so. An epoch of mainnet has 32 slots."""


class Discrepancy(Enum):
    """The possible meaning of missing data."""

    NONCE_GONE = auto()
    """The nonce is used and there is no receipt: another transaction used it."""
    UNDONE = auto()
    """The verdict of the chain is no longer on the chain."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The block in which another transaction used the nonce, and the order's failure by it."""

    block: BlockRef
    failure: Failure


@dataclass(slots=True)
class TrackedOrder:
    """What the tracker knows of one order. `order` has no signed bytes.

    - `seen`: the block with its transaction; `rival`: another transaction with its nonce.
    - `doubt`: a discrepancy, first found at block `doubted_at`.
    - `unread`: the next block that the search for what used its nonce reads; None before it.
    - `gone_since`: a block number at which another transaction had certainly used the nonce.
    - `is_undone`: a reorg removed the block that decided the order; its status is not reset yet.
    - `must_go_out`: resend at once; `spared_until`: no expiry before this block.
    - `would_fail`: result of the last simulation; `fee_is_low`: the base fee is above its fee cap.
    """

    order: Order
    seen: BlockRef | None = None
    rival: Replacement | None = None
    doubt: Discrepancy | None = None
    doubted_at: int = 0
    unread: BlockRef | None = None
    gone_since: int | None = None
    is_undone: bool = False
    would_fail: bool = False
    fee_is_low: bool = False
    must_go_out: bool = False
    spared_until: int = 0

    @property
    def state(self) -> WatchState:
        """Return the state; `docs/orders.md` has the diagram."""
        if self.is_undone:
            return WatchState.UNDONE
        if self.is_open:
            return WatchState.FOUND if self.is_placed else WatchState.SEARCHED
        if self.is_placed:
            return WatchState.SETTLED if self.is_settled else WatchState.CONTRADICTED
        return WatchState.ENDED if self.gone_since is None else WatchState.SPENT

    @property
    def is_final_candidate(self) -> bool:
        """Return whether tracking ends once the deciding block is final."""
        return self.state in (WatchState.SETTLED, WatchState.SPENT)

    @property
    def is_open(self) -> bool:
        return not self.order.status.is_terminal

    @property
    def is_placed(self) -> bool:
        """Return whether a canonical block is known that decides about it."""
        return self.seen is not None or self.rival is not None

    @property
    def is_settled(self) -> bool:
        """Return whether the order's verdict agrees with the known block."""
        inclusion = self.order.inclusion
        if self.seen is not None:
            return inclusion is not None and inclusion.block_hash == self.seen.hash
        return not self.is_open and inclusion is None

    @property
    def blocks(self) -> list[BlockRef]:
        """Return the canonical blocks that decide about it."""
        places = [self.seen] if self.seen else []
        return [*places, self.rival.block] if self.rival else places

    def rests_on(self, block_hash: str) -> bool:
        """Return whether the verdict depends on this block."""
        if self.order.inclusion is not None:
            return self.order.inclusion.block_hash == block_hash
        by_rival = self.rival is not None and self.rival.block.hash == block_hash
        return by_rival and is_by_nonce(self.order)

    def doubts(self, doubt: Discrepancy, head: int) -> bool:
        """Record a doubt at block number `head`; return whether an earlier block had it, too."""
        stands = self.doubt is doubt and self.doubted_at < head
        if not stands:
            self.doubt, self.doubted_at = doubt, head
        return stands

    def trusts(self) -> None:
        self.doubt = None


def is_by_nonce(order: Order) -> bool:
    """Return whether the order was cancelled because another transaction used its nonce."""
    return order.failure is not None and order.failure.code in BY_NONCE


def depth(tip: int, block: int) -> int:
    """Return the confirmations of a block; 1 for the tip."""
    return tip - block + 1


def was_offered(order: Order, head: int) -> bool:
    """Return whether a block has arrived since the relay accepted the order."""
    return order.submitted_head is None or head > order.submitted_head


def same_relays_at(watch: TrackedOrder, rules: TrackingRules) -> int:
    """Return the first block number at which its relays get the same bytes again.

    One block after a first response without a known meaning, and while one of two relays has not
    taken it; otherwise every `resend_every` blocks, because relays drop transactions (Flashbots
    after 25 blocks).
    """
    order = watch.order
    if order.sent_head is None or watch.must_go_out:
        return 0
    soon = order.attempts <= 1 or order.second_tier is not None
    is_soon = order.status is OrderStatus.PENDING and soon
    return order.sent_head + (1 if is_soon else rules.resend_every)


def backup_at(order: Order, rules: TrackingRules) -> int | None:
    """Return the block number at which the backup may get it, too; None if it may not."""
    if not rules.backup_after or order.tiers != (FIRST_TIER,) or order.submitted_head is None:
        return None
    if order.kind is not OrderKind.CANCEL and order.endpoint_type not in rules.backup_endpoints:
        return None
    return order.submitted_head + rules.backup_after


def resend_at(watch: TrackedOrder, rules: TrackingRules) -> int:
    """Return the first block number at which any relay gets the bytes."""
    same, backup = same_relays_at(watch, rules), backup_at(watch.order, rules)
    return same if backup is None else min(same, backup)


def with_resend_recorded(order: Order, head: int) -> Order:
    """Return the order as stored by `claim`: its bytes are sent again at block `head`."""
    times, version = order.attempts + 1, order.version + 1
    return replace(order, sent_head=head, attempts=times, version=version)


def safe_now_ms(now_ms: int, chain_time_s: int) -> int:
    """Return the latest time, in Unix ms, that is past by the local clock and by the chain.

    An order's time is counted from it and over by it: a local clock that is ahead neither expires
    an order nor keeps it open for longer, one that falls back delays expiry.
    """
    return min(now_ms, chain_time_s * 1000 + CLOCK_SLACK_MS)


def deadline_base_s(now_ms: int, chain_time_s: int) -> int:
    """Return the Unix seconds from which a router's deadline counts: the time of the newest block.

    Routers compare it with block times. A node whose blocks are far ahead of the local clock would
    keep a swap executable for as long: no more than `MOST_AHEAD_S` of it counts.
    """
    return min(chain_time_s, now_ms // 1000 + MOST_AHEAD_S)


def safe_chain_s(now_ms: int, chain_time_s: int) -> int:
    """Return the time of a block in Unix seconds, at most that of the local clock.

    No block of mainnet is ahead of every clock: a node that shows one ends no order by it.
    """
    return min(chain_time_s, now_ms // 1000)
