"""What is learnt about an order, and what follows from it. No I/O and no clock.

Positive evidence is a place in the canonical chain: the order's own transaction in a block, or
another one of the wallet with its nonce (a rival). Negative evidence, the absence of something, is
a doubt, and a doubt decides only when a second block in a row leaves it standing.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from quietswap.domain.canon import BlockRef
from quietswap.domain.order import (
    BY_NONCE,
    Failure,
    FailureCode,
    Inclusion,
    Move,
    Order,
    Sighting,
    Status,
)


@dataclass(frozen=True, slots=True)
class TrackingRules:
    """Counts of blocks, but for the last: how far, in ms, the clock may run before the chain's."""

    confirmations: int = 2
    resend_every: int = 5
    backstop_every: int = 8
    clock_slack_ms: int = 60_000


class Doubt(Enum):
    """What an absence may mean."""

    NONCE_GONE = auto()
    """The nonce is used and there is no receipt: something else used it."""
    UNDONE = auto()
    """What the chain had decided is not to be found there any more."""


@dataclass(frozen=True, slots=True)
class Rival:
    """The block in which another transaction took the nonce, and what that makes of the order."""

    block: BlockRef
    failure: Failure


@dataclass(slots=True)
class Watch:
    """What the tracker knows of one order; `order` without its bytes.

    `gone_since` is a block number at which the nonce was known to be used by something else.
    `is_undone` says that the order still carries a verdict the chain has taken back. What was taken
    back `must_go_out` again at once, and does not expire until block number `spared_until`.
    """

    order: Order
    seen: BlockRef | None = None
    rival: Rival | None = None
    doubt: Doubt | None = None
    doubted_at: int = 0
    gone_since: int | None = None
    is_undone: bool = False
    must_go_out: bool = False
    spared_until: int = 0

    @property
    def is_open(self) -> bool:
        """Whether no verdict stands."""
        return not self.order.status.is_terminal

    @property
    def is_placed(self) -> bool:
        """Whether a canonical block is known that decides about it."""
        return self.seen is not None or self.rival is not None

    @property
    def is_settled(self) -> bool:
        """Whether the order already says what its place in the chain says."""
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
        """Return whether its verdict comes from this block."""
        if self.order.inclusion is not None:
            return self.order.inclusion.block_hash == block_hash
        by_rival = self.rival is not None and self.rival.block.hash == block_hash
        return by_rival and is_by_nonce(self.order)

    def doubts(self, doubt: Doubt, head: int) -> bool:
        """Note a doubt at block number `head`; return whether it stood before, at another block."""
        stands = self.doubt is doubt and self.doubted_at < head
        if not stands:
            self.doubt, self.doubted_at = doubt, head
        return stands

    def trusts(self) -> None:
        """Drop a doubt."""
        self.doubt = None


def is_by_nonce(order: Order) -> bool:
    """Return whether the order is cancelled because something else took its nonce."""
    return order.failure is not None and order.failure.code in BY_NONCE


def rival_failure(order: Order, tx_hash: str, to: str | None, data_size: int) -> Failure:
    """Return what another transaction with the order's nonce makes of it.

    A self-transfer without data is how a wallet cancels.
    """
    if to == order.wallet and data_size == 0:
        return Failure(FailureCode.USER_CANCELLED, "the wallet cancelled it by an empty transfer")
    return Failure(FailureCode.REPLACED, f"transaction {tx_hash} of the wallet used its nonce")


def depth(tip: int, block: int) -> int:
    """Return how many confirmations a block has; 1 for the tip itself."""
    return tip - block + 1


def included(place: BlockRef, succeeded: bool, gas_used: int, price: int) -> Move:
    """Return the move of an order whose receipt is in the canonical block `place`."""
    inclusion = Inclusion(
        block_number=place.number,
        block_hash=place.hash,
        gas_used=gas_used,
        effective_gas_price=price,
        block_time_ms=place.time * 1000,
        succeeded=succeeded,
    )
    evidence = f"block {place.number} {place.hash}"
    if succeeded:
        return Move(Sighting.INCLUDED, evidence, inclusion=inclusion)
    failure = Failure(FailureCode.REVERTED, f"the transaction reverted in block {place.number}")
    return Move(Sighting.REVERTED, evidence, failure, inclusion)


def taken(rival: Rival) -> Move:
    """Return the move of an order whose nonce another transaction used."""
    evidence = f"block {rival.block.number} {rival.block.hash}: {rival.failure.message}"
    return Move(Sighting.NONCE_TAKEN, evidence, rival.failure)


def consumed(head: int) -> Move:
    """Return the move of an order whose nonce is used by something nobody saw."""
    text = "the wallet's nonce was used by another transaction"
    evidence = f"no receipt and a higher nonce at two blocks in a row, the second {head}"
    return Move(Sighting.NONCE_TAKEN, evidence, Failure(FailureCode.NONCE_CONSUMED, text))


def reorganised(order: Order) -> Move:
    """Return the move that takes a verdict back."""
    was = order.inclusion
    what = f"block {was.block_number} {was.block_hash}" if was else "what took the nonce"
    return Move(Sighting.REORGANISED, f"{what} is no longer canonical")


def expired(hint: str | None) -> Move:
    """Return the move of an order whose time is over; `hint` is what its relay says of it."""
    text = "it was not included in time; it is not sent any more"
    evidence = f"its time is over, the relay was asked to forget it; {hint or 'it says nothing'}"
    return Move(Sighting.EXPIRED, evidence, Failure(FailureCode.EXPIRED, text))


def new_head(head: int) -> Move:
    """Return the move of an accepted order when a block has come since."""
    return Move(Sighting.NEW_HEAD, f"block {head} came and the relay has it")


def was_offered(order: Order, head: int) -> bool:
    """Return whether an accepted order has seen a block since."""
    return order.submitted_head is None or head > order.submitted_head


def resend_at(watch: Watch, rules: TrackingRules) -> int:
    """Return the block number from which on the same bytes are to be sent again.

    One block after the first answer that was not understood; then, and while the relay has it,
    every few blocks: relays forget, Flashbots' after 25.
    """
    order = watch.order
    if order.sent_head is None or watch.must_go_out:
        return 0
    soon = order.status is Status.PENDING and order.attempts <= 1
    return order.sent_head + (1 if soon else rules.resend_every)


def claimed(order: Order, head: int) -> Order:
    """Return the order as a store's `claim` leaves it: its bytes go out again at block `head`."""
    return replace(order, attempts=order.attempts + 1, sent_head=head, version=order.version + 1)


def certainly_past(now_ms: int, chain_time_s: int, rules: TrackingRules) -> int:
    """Return the latest moment, in Unix ms, that is over by our clock and by the chain's.

    A clock that jumps ahead cannot expire orders alone; one that falls back only waits.
    """
    return min(now_ms, chain_time_s * 1000 + rules.clock_slack_ms)
