"""A tracked order, and the rules of the operator for it: depth, resends, time limits."""

from dataclasses import dataclass, fields
from enum import Enum, auto
from operator import attrgetter

from quietswap.domain.order.order import (
    BY_NONCE,
    Failure,
    Order,
    OrderStatus,
)
from quietswap.domain.tracking.canonical_chain import BlockRef
from quietswap.domain.tracking.watch_states import WatchState


@dataclass(frozen=True, slots=True)
class TrackingRules:
    """Numbers of blocks: that confirm, between two resends, between two checks of every order."""

    confirmations: int
    resend_every: int
    backstop_every: int


CLOCK_SLACK_MS = 60_000
"""The local clock may run this far ahead of the chain's time."""


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
    - `gone_since`: a block number at which another transaction had certainly used the nonce.
    - `is_undone`: a reorg removed the block that decided the order; its status is not reset yet.
    - `must_go_out`: resend at once; `spared_until`: no expiry before this block.
    - `would_fail`: result of the last simulation; `relay_said`: the relay's last response.
    """

    order: Order
    seen: BlockRef | None = None
    rival: Replacement | None = None
    doubt: Discrepancy | None = None
    doubted_at: int = 0
    gone_since: int | None = None
    is_undone: bool = False
    would_fail: bool = False
    relay_said: str | None = None
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
        """Return whether the order has no verdict."""
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
        """Clear the doubt."""
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


def resend_at(watch: TrackedOrder, rules: TrackingRules) -> int:
    """Return the first block number at which the same bytes are sent again.

    One block after a first response without a known meaning; otherwise every `resend_every` blocks,
    because relays drop transactions (Flashbots after 25 blocks).
    """
    order = watch.order
    if order.sent_head is None or watch.must_go_out:
        return 0
    soon = order.status is OrderStatus.PENDING and order.attempts <= 1
    return order.sent_head + (1 if soon else rules.resend_every)


_FIELDS = [field.name for field in fields(Order)]
_values_of = attrgetter(*_FIELDS)
_ATTEMPTS, _SENT_HEAD, _VERSION = map(_FIELDS.index, ("attempts", "sent_head", "version"))


def with_resend_recorded(order: Order, head: int) -> Order:
    """Return the order as stored by `claim`: its bytes are sent again at block `head`.

    `dataclasses.replace` takes twice as long, and was a fifth of the work of a resend.
    """
    values = list(_values_of(order))
    values[_ATTEMPTS] += 1
    values[_SENT_HEAD] = head
    values[_VERSION] += 1
    return Order(*values)


def safe_now_ms(now_ms: int, chain_time_s: int) -> int:
    """Return the latest time, in Unix ms, that is past by the local clock and by the chain.

    A local clock that jumps ahead cannot expire orders; one that falls back delays expiry.
    """
    return min(now_ms, chain_time_s * 1000 + CLOCK_SLACK_MS)
