"""What a relay's response means for an order: outcome -> transition -> error.

`MEANINGS` is the one table. A response proves nothing about the chain: two outcomes count only
together with what the node or the order store knows. A refusal proves nothing about the bytes: a
relay that had them can have them mined. Only a send that never began is reported as "not sent".
Amounts in wei.

The relay's own text is bounded and marked: in the log, readiness, the operator view and the order's
status.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientBalance,
    InvalidTransaction,
    NonceTooLow,
    ValidationError,
)
from quietswap.rules.orders.new_order import action_of
from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Order,
    OrderEventType,
    OrderKind,
    Transition,
)
from quietswap.rules.tx.signed import SignedTransaction


class RelayOutcome(StrEnum):
    """The class of a relay's response: accepted, refused for a reason, or unknown."""

    ACCEPTED = "accepted"
    ALREADY_KNOWN = "held"
    """The relay already has these bytes: equal to accepted."""
    CONFLICT = "conflict"
    """The relay holds another transaction with this nonce, or these bytes."""
    NONCE_USED = "nonce_used"
    """The relay says the nonce is too low: the node must confirm it."""
    INSUFFICIENT_FUNDS = "no_funds"
    INVALID = "invalid"
    WOULD_REVERT = "would_revert"
    BUSY = "busy"
    NOT_SENT = "not_sent"
    """The connection failed before any byte was written, or the circuit breaker is open."""
    NOT_TAKEN = "not_taken"
    """The relay says that it takes nothing now, whatever it is: its key, its limit, its method."""
    UNKNOWN = "silent"
    """Unknown: timeout, 5xx, HTML or text without a known meaning."""


@dataclass(frozen=True, slots=True)
class RelayResponse:
    """A relay's response; `reason` is our own plain text, never the relay's.

    `serves`: whether it shows that the relay takes transactions; None if it shows neither. `said`
    is the status and the words of one that took nothing: foreign text, bounded, masked, harmless.
    """

    outcome: RelayOutcome
    reason: str = ""
    serves: bool | None = True
    said: str = ""


_HELD = (RelayOutcome.ACCEPTED, RelayOutcome.ALREADY_KNOWN)
_UNDECIDED = (
    RelayOutcome.UNKNOWN, RelayOutcome.BUSY, RelayOutcome.NOT_TAKEN, RelayOutcome.NOT_SENT,
)  # fmt: skip


def joint_answer(
    answers: Sequence[tuple[str, RelayResponse]], *, all_must_take: bool
) -> RelayResponse:
    """Return the answers of relays to the same bytes, by name, as the answer of one.

    What replaces another transaction must be taken by each: a relay without it may have the other
    one mined. It is refused only if each refuses it, and unsent only if none was reached.
    """
    accepting = [answer for _, answer in answers if answer.outcome in _HELD]
    if accepting and (len(accepting) == len(answers) or not all_must_take):
        return accepting[0]
    outcomes = {answer.outcome for _, answer in answers}
    is_certain = outcomes.isdisjoint(_UNDECIDED) or outcomes == {RelayOutcome.NOT_SENT}
    if len(answers) == 1 or (not accepting and is_certain):
        used = (answer for _, answer in answers if answer.outcome is RelayOutcome.NONCE_USED)
        return next(used, answers[0][1])
    missing = "; ".join(f"{name}: {words}" for name, one in answers if (words := words_of(one)))
    return RelayResponse(RelayOutcome.UNKNOWN, said=f"not each relay took it: {missing}")


class EarlierSend(Enum):
    """Whether a relay may have the bytes from an earlier send."""

    NONE = auto()
    POSSIBLE = auto()
    CERTAIN = auto()


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """A signed transaction, the wallet's `eth` in wei at the preflight, and the client's own open
    order with its nonce.
    """

    signed: SignedTransaction
    eth: int
    rival: Order | None = None


def _refusal_error(order: Order, outcome: RelayOutcome, sent: SentTransaction) -> RequestError:
    """Return the error of an order that a relay with the signed bytes did not take."""
    match outcome:
        case RelayOutcome.NOT_SENT:
            return ProviderUnavailable("the relay cannot be reached", reason="HAD_IT_BEFORE")
        case RelayOutcome.INSUFFICIENT_FUNDS:
            required = sent.signed.max_cost_wei
            return InsufficientBalance(asset="ETH", required=required, available=sent.eth)
        case RelayOutcome.NONCE_USED:
            return NonceTooLow(provided=order.nonce, expected=order.nonce + 1)
        case RelayOutcome.CONFLICT:  # no block has used it yet
            error = NonceTooLow(provided=order.nonce, expected=order.nonce + 1)
            error.message = f"the relay holds another transaction with nonce {order.nonce}"
            if sent.rival is not None:
                error.message += f", your open {action_of(sent.rival)} {sent.rival.tx_hash}"
            return error
    assert order.failure is not None
    if order.kind is OrderKind.WRAP:
        return InvalidTransaction(reason=order.failure.message)
    return ValidationError(order.failure.message, reason=order.failure.code.value)


@dataclass(frozen=True, slots=True)
class ResponseMeaning:
    """One row: the text of the event log, and the transition.

    `evidence` is set where the response alone decides; `transition` None changes nothing.
    """

    text: str
    transition: OrderEventType | None = None
    evidence: str = ""


_ACCEPTED, _REFUSAL = OrderEventType.RELAY_ACCEPTED, OrderEventType.REFUSED
_HOLDS = "the relay holds it"
_NO_FUNDS = "the relay says the wallet cannot pay for it"
_INVALID = "the relay refused it as invalid"
_REVERT = "the relay's simulation says it would revert"

MEANINGS: dict[RelayOutcome, ResponseMeaning] = {
    RelayOutcome.ACCEPTED: ResponseMeaning(_HOLDS, _ACCEPTED, "the relay accepted it"),
    RelayOutcome.ALREADY_KNOWN: ResponseMeaning(_HOLDS, _ACCEPTED, "the relay already holds it"),
    RelayOutcome.INSUFFICIENT_FUNDS: ResponseMeaning(_NO_FUNDS, _REFUSAL, _NO_FUNDS),
    RelayOutcome.INVALID: ResponseMeaning(_INVALID, _REFUSAL, _INVALID),
    RelayOutcome.WOULD_REVERT: ResponseMeaning(_REVERT, _REFUSAL, _REVERT),
    RelayOutcome.CONFLICT: ResponseMeaning("the relay holds a transaction with this nonce"),
    RelayOutcome.NONCE_USED: ResponseMeaning("the relay says the nonce is used"),
    RelayOutcome.NOT_SENT: ResponseMeaning("the relay cannot be reached"),
    RelayOutcome.BUSY: ResponseMeaning("the relay takes none of the wallet's at the moment"),
    RelayOutcome.NOT_TAKEN: ResponseMeaning("the relay takes no transactions at the moment"),
    RelayOutcome.UNKNOWN: ResponseMeaning("the relay's answer has no known meaning"),
}
"""CONFLICT, NONCE_USED and NOT_SENT get their transition from the functions below."""


def response_text(answer: RelayResponse) -> str:
    """Return a response as text for the event log, the same for equal responses."""
    meaning = MEANINGS[answer.outcome]
    if meaning.transition is _REFUSAL:
        return _with_reason(meaning.text, answer)
    return f"{meaning.text} ({answer.said})" if answer.said else meaning.text


def words_of(answer: RelayResponse) -> str | None:
    """Return what an order keeps of a response: the relay's words; None if the relay took it."""
    if answer.outcome in _HELD:
        return None
    return answer.said or answer.reason or response_text(answer)


def _with_reason(text: str, answer: RelayResponse) -> str:
    return f"{text}: {answer.reason}" if answer.reason else text


def answer_transition(answer: RelayResponse, earlier: EarlierSend) -> Transition | None:
    """Return the transition that a response alone justifies; None if there is none."""
    meaning = MEANINGS[answer.outcome]
    if answer.outcome is RelayOutcome.NOT_SENT:
        return _not_sent(earlier)
    if meaning.transition is _REFUSAL:
        return _dead(_with_reason(meaning.evidence, answer))
    return Transition(_ACCEPTED, meaning.evidence) if meaning.transition else None


def _not_sent(earlier: EarlierSend) -> Transition | None:
    """Bytes that a relay had before may be mined, whether or not this send reached it."""
    if earlier is EarlierSend.CERTAIN:
        return _dead("the relay could not be reached this time, but it had the bytes before")
    if earlier is EarlierSend.POSSIBLE:
        return None
    text = "the relay could not be reached: nothing was sent"
    return _dead(text, OrderEventType.NOT_SENT, FailureCode.NOT_SENT)


def conflict_transition(order: Order, *, has_rival: bool) -> Transition | None:
    """Return the transition after CONFLICT; `has_rival`: another live order has this nonce.

    A cancel always has a rival, the swap. On its first send the relay kept the swap; on a later
    one it may hold the cancel itself.
    """
    if order.kind is OrderKind.CANCEL:
        text = "the relay keeps the order's transaction and did not take another with its nonce"
        return _dead(text) if order.attempts <= 1 else None
    if has_rival:
        return _dead("the relay holds another transaction of this wallet with the same nonce")
    return Transition(
        _ACCEPTED, "the relay holds a transaction with this nonce, and no other is known"
    )


def nonce_used_transition(order: Order, *, is_mined: bool, next_nonce: int) -> Transition | None:
    """Return the transition after NONCE_USED; the node knows if the order has a receipt."""
    if is_mined:
        return Transition(_ACCEPTED, "the relay had it: the node has its receipt")
    if next_nonce <= order.nonce:
        return None
    return _dead("another transaction of the wallet has already used the nonce")


def _dead(
    text: str, event_type: OrderEventType = _REFUSAL, code: FailureCode = FailureCode.REFUSED
) -> Transition:
    return Transition(event_type, text, Failure(code, text))


def delivery_error(
    order: Order, outcome: RelayOutcome | None, sent: SentTransaction
) -> RequestError | None:
    """Return the error of a failed delivery; None if it did not fail, or nothing is certain."""
    if order.failure is None or outcome is None:
        return None
    if order.kind is OrderKind.CANCEL:
        return _cancel_error(order, outcome, sent)
    if outcome is RelayOutcome.NOT_SENT and not order.is_at_large:
        order_id = order.order_id if order.kind is OrderKind.SWAP else None
        return ProviderUnavailable(
            "the relay cannot be reached", reason="NOT_SENT", order_id=order_id
        )
    error = _refusal_error(order, outcome, sent)
    error.message += "; the relay had the signed bytes and may still get them mined"
    return _may_be_mined(error, order, _advice(order, outcome))


def _may_be_mined(error: RequestError, order: Order, suggestion: str) -> RequestError:
    error.add(order_id=order.order_id, tx_hash=order.tx_hash, may_be_mined=True)
    error.suggestion = suggestion
    return error


def _advice(order: Order, outcome: RelayOutcome) -> str:
    """Return the next step that cannot make the wallet pay twice."""
    swap = order.kind is OrderKind.SWAP
    watch = "The service still tracks the order: poll it" if swap else "Watch txHash at a node"
    if outcome in (RelayOutcome.NONCE_USED, RelayOutcome.CONFLICT):
        return (
            f"{watch}. Do not repeat it before a block contains it, or another transaction with its"
            " nonce."
        )
    fresh = " (a fresh quote has it)" if swap else ""
    return (
        f"{watch}. To try again, sign with the same nonce {order.nonce}{fresh}: at most one of the"
        " two transactions can then be mined."
    )


def _cancel_error(order: Order, outcome: RelayOutcome, sent: SentTransaction) -> RequestError:
    """Return the error of a cancel: the order to be cancelled stays open in each case."""
    assert order.failure is not None
    if order.failure.code is FailureCode.NOT_SENT:
        return ProviderUnavailable(
            "the relay cannot be reached, so nothing is cancelled",
            "The order may still be mined. Post the same signed transaction again.",
            reason="NOT_SENT",
            order_id=order.order_id,
        )
    if outcome in (RelayOutcome.INSUFFICIENT_FUNDS, RelayOutcome.NONCE_USED):
        return _refusal_error(order, outcome, sent)
    reason = order.failure.code.value
    error = ValidationError(f"the cancel was not taken: {order.failure.message}", reason=reason)
    suggestion = (
        "The order is still open, and the relay had the bytes of the cancel: either may be mined."
        " Follow the order, or ask for the cancel again and sign it with the higher fee."
    )
    return _may_be_mined(error, order, suggestion)
