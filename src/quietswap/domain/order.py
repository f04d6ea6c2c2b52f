"""The life of an order.

Law 1: every state and every move between states is in `TRANSITIONS`, and nowhere else.
Law 2: a terminal state is left only by the chain itself, or by its client. A reorganisation takes
back what the chain had said; a late inclusion corrects what only time or a relay had decided; and a
client who posts the same bytes again opens an order that no block had decided (wraps only).
Law 3: no verdict without its evidence: an inclusion says where, a failure says why.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from quietswap.domain.address import Address


class Status(StrEnum):
    """The six states of the interface."""

    PENDING = "pending"
    SUBMITTED = "submitted"
    MINING = "mining"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether a client may stop polling."""
        return self in (Status.CONFIRMED, Status.FAILED, Status.CANCELLED)


class Sighting(StrEnum):
    """What was learnt about an order; each is one kind of evidence."""

    RELAY_ACCEPTED = "relay_accepted"
    NEW_HEAD = "new_head"
    """The relay holds it and at least one new block came since."""
    INCLUDED = "included"
    """In a canonical block with status 1 and enough confirmations."""
    REVERTED = "reverted"
    """In a canonical block with status 0 and enough confirmations."""
    NOT_SENT = "not_sent"
    """The relay certainly did not get it."""
    REFUSED = "refused"
    """The relay refused it for a reason of its own, and had not accepted it before."""
    NONCE_TAKEN = "nonce_taken"
    """Another transaction of the wallet used the nonce."""
    EXPIRED = "expired"
    REORGANISED = "reorganised"
    """The block that decided is no longer canonical."""
    REPOSTED = "reposted"
    """Its client sent the same bytes again after they had died without a block."""


P, S, M = Status.PENDING, Status.SUBMITTED, Status.MINING
CONFIRMED, FAILED, CANCELLED = Status.CONFIRMED, Status.FAILED, Status.CANCELLED

_OPEN_MOVES: dict[Sighting, Status] = {
    Sighting.INCLUDED: CONFIRMED,
    Sighting.REVERTED: FAILED,
    Sighting.NONCE_TAKEN: CANCELLED,
    Sighting.EXPIRED: CANCELLED,
}

_CORRECTIONS: dict[Sighting, Status] = {
    Sighting.INCLUDED: CONFIRMED,
    Sighting.REVERTED: FAILED,
    Sighting.REORGANISED: S,
    Sighting.REPOSTED: P,
}

TRANSITIONS: dict[Status, dict[Sighting, Status]] = {
    P: {
        Sighting.RELAY_ACCEPTED: S,
        Sighting.REFUSED: FAILED,
        Sighting.NOT_SENT: FAILED,
        **_OPEN_MOVES,
    },
    S: {Sighting.NEW_HEAD: M, **_OPEN_MOVES},
    M: dict(_OPEN_MOVES),
    CONFIRMED: {Sighting.REORGANISED: S},
    FAILED: dict(_CORRECTIONS),
    CANCELLED: dict(_CORRECTIONS),
}


class IllegalTransition(Exception):
    """A move the table does not know: a bug of ours, never a user's error."""


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
"""Codes that say another transaction took the nonce: only a reorganisation can undo that."""
WITHOUT_BLOCK = frozenset({FailureCode.NOT_SENT, FailureCode.REFUSED, FailureCode.EXPIRED})
"""Codes no block decided: the same bytes may be posted again, and may yet be mined."""


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` is for people and never carries a relay's raw text or a transaction."""

    code: FailureCode
    message: str


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Where the chain put it; gas in units, price in wei, time in Unix ms of the block."""

    block_number: int
    block_hash: str
    gas_used: int
    effective_gas_price: int
    block_time_ms: int
    succeeded: bool


_PROOF = {Sighting.INCLUDED: True, Sighting.REVERTED: False}
"""What the receipt must say for a move that only a block can make."""


def _said(inclusion: Inclusion | None) -> bool | None:
    return None if inclusion is None else inclusion.succeeded


class OrderKind(StrEnum):
    """Wraps run through the same machinery but have no order id on the wire."""

    SWAP = "swap"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True)
class Order:
    """One signed transaction and what is known of it. Amounts in smallest units, times in Unix ms.

    `raw` is None once the order is final and its bytes were dropped. `version` grows by one with
    each stored change: stores compare it before they write. `watch_until_ms` is when even a late
    inclusion is no longer looked for.
    """

    order_id: str
    key_id: str
    kind: OrderKind
    status: Status
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

    def after(
        self,
        sighting: Sighting,
        *,
        failure: Failure | None = None,
        inclusion: Inclusion | None = None,
    ) -> "Order":
        """Return the order moved by one sighting; what had been said before is taken back.

        Raises IllegalTransition for a move the table does not have, or without its evidence.
        """
        target = TRANSITIONS[self.status].get(sighting)
        if target is None or (sighting is Sighting.REPOSTED and not self.may_be_reposted):
            raise IllegalTransition(f"{self.status} cannot move by {sighting}")
        if _said(inclusion) is not _PROOF.get(sighting):
            raise IllegalTransition(f"{sighting} comes with the block that proves it, or with none")
        if (failure is not None) != (target in (FAILED, CANCELLED)):
            raise IllegalTransition(f"{target} says why, and nothing else does")
        return replace(self, status=target, failure=failure, inclusion=inclusion)

    @property
    def may_be_reposted(self) -> bool:
        """Whether the same bytes may be posted once more: dead without a block, and kept."""
        return self.watched and self.failure is not None and self.failure.code in WITHOUT_BLOCK


@dataclass(frozen=True, slots=True)
class Move:
    """One step to take: what was seen, in words the evidence for it, and what it must bring."""

    sighting: Sighting
    evidence: str
    failure: Failure | None = None
    inclusion: Inclusion | None = None


@dataclass(frozen=True, slots=True)
class OrderEvent:
    """One line of an order's diary: when (Unix ms), what was seen, and the evidence for it."""

    order_id: str
    at_ms: int
    sighting: str
    from_status: str | None
    to_status: str
    evidence: str
