"""The state machine of an order.

1. `TRANSITIONS` has every state and every transition.
2. Only the chain or the client changes a terminal state. A reorganisation takes a verdict of the
   chain back. A late inclusion, or the use of the nonce by another transaction, corrects a verdict
   of time or of a relay. A client that posts the same bytes again reopens an order that no block
   has decided.
3. Every verdict has its evidence: an inclusion has its block, a failure its reason.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.chain.received import Refund
from quietswap.rules.tx.address import Address


class OrderStatus(StrEnum):
    """The six states of the interface."""

    PENDING = "pending"
    SUBMITTED = "submitted"
    MINING = "mining"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Return whether a client may stop polling."""
        return self in _TERMINAL


class OrderEventType(StrEnum):
    """An observation of an order; each is one kind of evidence."""

    RELAY_ACCEPTED = "relay_accepted"
    NEW_HEAD = "new_head"
    """The relay holds it, and at least one new block has arrived since."""
    INCLUDED = "included"
    """In a canonical block with status 1 and enough confirmations."""
    REVERTED = "reverted"
    """In a canonical block with status 0 and enough confirmations."""
    NOT_SENT = "not_sent"
    """The relay certainly did not get the bytes."""
    REFUSED = "refused"
    """The relay refused it, and had not accepted it before."""
    NONCE_TAKEN = "nonce_taken"
    """Another transaction of the wallet used the nonce."""
    EXPIRED = "expired"
    REORGANISED = "reorganised"
    """The block that decided is no longer canonical."""
    REPOSTED = "reposted"
    """The client posted the same bytes again after the order had ended without a block."""


P, S, M = OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.MINING
CONFIRMED, FAILED, CANCELLED = OrderStatus.CONFIRMED, OrderStatus.FAILED, OrderStatus.CANCELLED
_TERMINAL = CONFIRMED, FAILED, CANCELLED
"""A constant, because Python 3.11 takes longer to look up three members than to compare them."""

_OPEN_MOVES: dict[OrderEventType, OrderStatus] = {
    OrderEventType.INCLUDED: CONFIRMED,
    OrderEventType.REVERTED: FAILED,
    OrderEventType.NONCE_TAKEN: CANCELLED,
    OrderEventType.EXPIRED: CANCELLED,
}

_CORRECTIONS: dict[OrderEventType, OrderStatus] = {
    OrderEventType.INCLUDED: CONFIRMED,
    OrderEventType.REVERTED: FAILED,
    OrderEventType.REORGANISED: S,
    OrderEventType.NONCE_TAKEN: CANCELLED,
    OrderEventType.REPOSTED: P,
}

TRANSITIONS: dict[OrderStatus, dict[OrderEventType, OrderStatus]] = {
    P: {
        OrderEventType.RELAY_ACCEPTED: S,
        OrderEventType.REFUSED: FAILED,
        OrderEventType.NOT_SENT: FAILED,
        **_OPEN_MOVES,
    },
    S: {OrderEventType.NEW_HEAD: M, **_OPEN_MOVES},
    M: dict(_OPEN_MOVES),
    CONFIRMED: {OrderEventType.REORGANISED: S},
    FAILED: dict(_CORRECTIONS),
    CANCELLED: dict(_CORRECTIONS),
}


class IllegalTransition(Exception):
    """A transition that is not in the table: a bug of the service, never a user's error."""


class FailureCode(StrEnum):
    """Why an order is failed or cancelled (`error.code` of its status record)."""

    NOT_SENT = "NOT_SENT"
    REFUSED = "REFUSED"
    REVERTED = "REVERTED"
    REPLACED = "REPLACED"
    USER_CANCELLED = "USER_CANCELLED"
    NONCE_CONSUMED = "NONCE_CONSUMED"
    EXPIRED = "EXPIRED"


BY_NONCE = frozenset({FailureCode.REPLACED, FailureCode.USER_CANCELLED, FailureCode.NONCE_CONSUMED})
"""Another transaction used the nonce: only a reorganisation can take that back."""
WITHOUT_BLOCK = frozenset({FailureCode.NOT_SENT, FailureCode.REFUSED, FailureCode.EXPIRED})
"""No block decided: the same bytes may be posted again."""
AT_LARGE = frozenset({FailureCode.REFUSED, FailureCode.EXPIRED})
"""A relay had the bytes: they may still be mined, until their nonce is used."""


def may_be_mined(code: str, deadline_s: int | None) -> bool:
    """Return whether an order that ended so may still take effect.

    One with a router's deadline expires by a block past it: then it can only revert.
    """
    return code in AT_LARGE and (code != FailureCode.EXPIRED or deadline_s is None)


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` is for people and never contains a relay's raw text or a transaction."""

    code: FailureCode
    message: str


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The block that included it; gas in units, price in wei, block time in Unix ms.

    `received` is the amount of the buy token that arrived; None with the reason in
    `received_issue`. `refund` is what is known of a refund by the relay. Orders of older releases
    have none of the three, and a cancel has no `received`. `reference` and `facts` are None unless
    they were read.
    """

    block_number: int
    block_hash: str
    gas_used: int
    effective_gas_price: int
    block_time_ms: int
    succeeded: bool
    received: int | None = None
    received_issue: str | None = None
    refund: Refund | None = None
    reference: Reference | None = None
    facts: BlockFacts | None = None


_PROOF = {OrderEventType.INCLUDED: True, OrderEventType.REVERTED: False}
"""The receipt's status for a transition that needs a block."""


class OrderKind(StrEnum):
    """What an order's transaction does. The last two come from wallet RPC URLs only."""

    SWAP = "swap"
    WRAP = "wrap"
    CANCEL = "cancel"
    """An empty self-transfer with the nonce of an order, sent to replace it."""
    APPROVAL = "approval"
    """An exact `approve` of a quote's sell token for the quote's router."""
    TRANSACTION = "transaction"
    """Anything else that a wallet sends, if its token permits it."""


@dataclass(frozen=True, slots=True)
class Order:
    """One signed transaction and its state. Amounts in smallest units, times in Unix ms.

    `raw` is None once the order is final and its bytes are deleted. `version` grows by one with
    each stored change: stores compare it before a write. Tracking ends at `watch_until_ms`.
    """

    order_id: str
    client_id: str
    kind: OrderKind
    status: OrderStatus
    wallet: Address
    nonce: int
    tx_hash: str
    raw: bytes | None = field(repr=False)
    sell_token: Address
    buy_token: Address
    sell_amount: int
    min_buy_amount: int
    buy_amount: int
    tier: int
    endpoint_type: str
    share_mode: str
    created_at_ms: int
    expires_at_ms: int
    watch_until_ms: int
    submitted_at_ms: int | None = None
    submitted_head: int | None = None
    sent_head: int | None = None
    attempts: int = 0
    inclusion: Inclusion | None = None
    failure: Failure | None = None
    watched: bool = True
    version: int = 0
    source: str | None = None
    """The source of a swap's route; None for other orders and those of older releases."""
    usd_cents: int | None = None
    """Value of a swap when it was quoted, None if no price was known."""
    quote_id: str | None = None
    """The quote that a swap spends; None for other orders and those of older releases."""
    relay_answer: str | None = None
    """The words of a relay whose last answer did not take it: foreign text, made harmless. None
    once a block has it."""
    deadline_s: int | None = None
    """The last second (Unix) in which the router executes it; None if the router has no deadline.
    Only blocks decide that it is past, and then the order expires for good."""
    second_tier: int | None = None
    """The other relay that may have its bytes, too: what replaces it must go to both."""
    fee_cap: int | None = None
    """Highest price per gas in wei, the base fee included; None for orders of older releases."""
    priority_fee: int | None = None
    """Highest priority fee per gas in wei; None for orders of older releases."""
    conversion: str | None = None
    """`wrap` or `unwrap`: what a swap's transaction also does with ETH; None: nothing."""

    @property
    def tiers(self) -> tuple[int, ...]:
        """Return the relays that may have its bytes, the one of its quote first."""
        return (self.tier,) if self.second_tier is None else (self.tier, self.second_tier)

    @property
    def relays_label(self) -> str:
        """Return the tiers for figures: an order that two relays have is neither's alone."""
        return "+".join(str(tier) for tier in sorted(self.tiers))

    def is_newer(self, other: "Order") -> bool:
        """Return whether it came after `other`; a cancel comes after all that is no cancel."""
        if (self.kind is OrderKind.CANCEL) is not (other.kind is OrderKind.CANCEL):
            return self.kind is OrderKind.CANCEL
        return (self.created_at_ms, self.order_id) > (other.created_at_ms, other.order_id)

    def after(
        self,
        event_type: OrderEventType,
        *,
        failure: Failure | None = None,
        inclusion: Inclusion | None = None,
    ) -> "Order":
        """Return the order after one transition. An earlier failure or inclusion is replaced.
        Raises IllegalTransition for a transition that the table lacks, or without its evidence.
        """
        target = TRANSITIONS[self.status].get(event_type)
        if target is None or not self.can_move_by(event_type):
            raise IllegalTransition(f"{self.status} cannot move by {event_type}")
        has_succeeded = None if inclusion is None else inclusion.succeeded
        if has_succeeded is not _PROOF.get(event_type):
            fault = f"{event_type} comes with the block that proves it, or with none"
            raise IllegalTransition(fault)
        if (failure is not None) != (target in (FAILED, CANCELLED)):
            raise IllegalTransition(f"{target} says why, and nothing else does")
        answer = None if inclusion else self.relay_answer  # a block outweighs a relay's refusal
        return replace(
            self, status=target, failure=failure, inclusion=inclusion, relay_answer=answer
        )

    def can_move_by(self, event_type: OrderEventType) -> bool:
        """Return whether the table allows this transition from the current status."""
        if event_type not in TRANSITIONS[self.status]:
            return False
        if event_type is OrderEventType.REPOSTED:
            return self.may_resubmit
        is_correction = event_type is OrderEventType.NONCE_TAKEN and self.status.is_terminal
        return self.is_at_large or not is_correction

    @property
    def is_at_large(self) -> bool:
        """Return whether it expired or was refused, and a relay had it: it may be mined."""
        return self.failure is not None and self.failure.code in AT_LARGE

    @property
    def may_resubmit(self) -> bool:
        """Return whether the same bytes may be posted again: no block decided, still tracked."""
        return self.watched and self.failure is not None and self.failure.code in WITHOUT_BLOCK


@dataclass(frozen=True, slots=True)
class Transition:
    """One transition: the observation, its evidence as text, and its failure or inclusion.

    `depth` is the number of confirmations of the block that proves it, 0 without one.
    `relay_answer` are the words of the relay's response that caused it.
    """

    event_type: OrderEventType
    evidence: str
    failure: Failure | None = None
    inclusion: Inclusion | None = None
    depth: int = 0
    relay_answer: str | None = None


@dataclass(frozen=True, slots=True)
class OrderEvent:
    """One event of an order: time (Unix ms), observation and evidence.

    `depth` is the number of confirmations of the block that decided, 0 without one. It is told to
    the client, and not stored with the event.
    """

    order_id: str
    at_ms: int
    event_type: str
    from_status: str | None
    to_status: str
    evidence: str
    depth: int = 0
