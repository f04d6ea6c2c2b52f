"""What a relay answers: the meaning of its HTTP response, and what that means for an order.

The relay's own text is bounded and marked: in the log, readiness, the operator view and the order's
status.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto

import msgspec

from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InsufficientBalance,
    InvalidTransaction,
    NonceTooLow,
    ValidationError,
)
from quietswap.rules.foreign_text import quoted
from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Order,
    OrderEventType,
    OrderKind,
    Transition,
)
from quietswap.rules.tx.signed import SignedTransaction
from quietswap.service.base.http_client import HttpReply

# What a relay's response means for an order: outcome -> transition -> error.
#
# `MEANINGS` is the one table. A response proves nothing about the chain: two outcomes count only
# together with what the node or the order store knows. A refusal proves nothing about the bytes: a
# relay that had them can have them mined. Only a send that never began is reported as "not sent".
# Amounts in wei.


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
    taken = [answer for _, answer in answers if answer.outcome in _HELD]
    if taken and (len(taken) == len(answers) or not all_must_take):
        return taken[0]
    outcomes = {answer.outcome for _, answer in answers}
    is_certain = outcomes.isdisjoint(_UNDECIDED) or outcomes == {RelayOutcome.NOT_SENT}
    if len(answers) == 1 or (not taken and is_certain):
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
    """A signed transaction, and the wallet at the preflight: `eth` in wei, the next free nonce."""

    signed: SignedTransaction
    eth: int
    next_nonce: int


def _refusal_error(order: Order, outcome: RelayOutcome, sent: SentTransaction) -> RequestError:
    """Return the error of an order that a relay with the signed bytes did not take."""
    match outcome:
        case RelayOutcome.NOT_SENT:
            return ProviderUnavailable("the relay cannot be reached", {"reason": "HAD_IT_BEFORE"})
        case RelayOutcome.INSUFFICIENT_FUNDS:
            required = sent.signed.max_cost_wei
            return InsufficientBalance(asset="ETH", required=required, available=sent.eth)
        case RelayOutcome.NONCE_USED:
            return NonceTooLow(provided=order.nonce, expected=order.nonce + 1)
        case RelayOutcome.CONFLICT:  # no block has used it yet; who holds it is not named
            error = NonceTooLow(provided=order.nonce, expected=sent.next_nonce)
            error.message = f"the relay holds another transaction with nonce {order.nonce}"
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
        swap = {"orderId": order.order_id} if order.kind is OrderKind.SWAP else {}
        return ProviderUnavailable("the relay cannot be reached", {"reason": "NOT_SENT", **swap})
    error = _refusal_error(order, outcome, sent)
    error.message += "; the relay had the signed bytes and may still get them mined"
    return _may_be_mined(error, order, _advice(order, outcome))


def _may_be_mined(error: RequestError, order: Order, suggestion: str) -> RequestError:
    found = {"orderId": order.order_id, "txHash": order.tx_hash, "mayBeMined": True}
    error.details = {**(error.details or {}), **found}
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
            {"reason": "NOT_SENT", "orderId": order.order_id},
            "The order may still be mined. Post the same signed transaction again.",
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


# Meaning of a relay's HTTP response to `eth_sendRawTransaction`.
#
# MEV Blocker does not publish its error texts. The texts are those of the nodes behind such
# relays: go-ethereum's core/error.go, core/txpool/errors.go and core/txpool/validation.go, the
# codes of https://ethereum.github.io/execution-apis, those of Flashbots' rpc-endpoint, and the
# words of Nethermind (AcceptTxResult) and Besu (RpcErrorType). An unknown text is SILENT: it proves
# neither that the relay has the transaction nor that it does not.

SILENT = RelayResponse(RelayOutcome.UNKNOWN, "an answer without a known meaning", serves=False)
_UNCLEAR = replace(SILENT, serves=None)
"""An error without a known meaning: it may be about this transaction alone."""
_NOT_TAKEN = RelayResponse(RelayOutcome.NOT_TAKEN, "it takes no transactions now", serves=False)
_NOT_TAKEN_STATUSES = frozenset(
    (401, 402, 403, 404, 405, 407, 410, 415, 426, 429, 451, 521, 523, 525, 526, 530)
)
"""A gate before the relay answers so: a key, a path, a method, a limit, or Cloudflare without a
connection to it. After 502, 503, 504, 520, 522 and 524 the relay may have the bytes."""
_NOT_TAKEN_CODES = frozenset((429, -32700, -32601, -32600, -32029, -32016, -32007, -32005, -32004))
"""Of EIP-1474 and of providers: limits, a method that is missing or not allowed."""
_NOT_TAKEN_TEXT = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|forbidden|access denied|not whitelisted|rate.?limit"
    r"|too many requests|quota|capacity|credits|maintenance|unavailable for|method .*not"
    r"|txpool is full"
)
_OUR_FAULT = {
    "it does not accept a priority fee of zero",
    "it serves another chain",
    "it requires a replay-protected transaction",
    "it does not accept type 2",
}
"""Refusals of what every transaction of this service has: such a relay takes none of them."""
_LONGEST_WORDS = 120
_LONG_HEX = re.compile(r"(0x)?[0-9a-fA-F]{16,}")
_TAKEN = RelayResponse(RelayOutcome.ACCEPTED)
_HASH = re.compile(r"0x[0-9a-f]{64}")
_TITAN_ACCEPTED = 200
"""Titan returns the number 200 instead of the hash (https://docs.titanbuilder.xyz)."""

_REVERTED, _INTERNAL = 3, -32603
_CODES = {
    1000: RelayResponse(RelayOutcome.ALREADY_KNOWN, "already known"),
    _REVERTED: RelayResponse(RelayOutcome.WOULD_REVERT, "execution reverted"),
    -38010: RelayResponse(RelayOutcome.NONCE_USED, "nonce too low"),
    -38013: RelayResponse(RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    -38014: RelayResponse(RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    -38015: RelayResponse(RelayOutcome.INVALID, "the gas limit exceeds the block's"),
}
_TEXTS: tuple[tuple[str, RelayOutcome, str], ...] = (
    (r"execution reverted", RelayOutcome.WOULD_REVERT, "execution reverted"),
    (r"already ?known|already in pool", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"\bknown transaction|already imported", RelayOutcome.ALREADY_KNOWN, "already known"),
    (r"replacement.(transaction.)?underpriced", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replacement ?not ?allowed", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"replace (existing|pending)", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"fee ?too ?low ?to ?compete", RelayOutcome.CONFLICT, "it has the nonce"),
    (r"nonce (is )?too low|old ?nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"invalid nonce|wrong.*nonce", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"nonce has already been used", RelayOutcome.NONCE_USED, "nonce too low"),
    (r"(insufficient ?|enough )funds", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"exceeds .*\bbalance", RelayOutcome.INSUFFICIENT_FUNDS, "insufficient funds"),
    (r"in-flight transaction limit", RelayOutcome.BUSY, "one transaction at a time"),
    (r"simulation (error|failed)", RelayOutcome.WOULD_REVERT, "simulation failed"),
    (r"floor data gas", RelayOutcome.INVALID, "the gas limit is below the floor of its calldata"),
    (r"intrinsic gas", RelayOutcome.INVALID, "the gas limit is below the intrinsic gas"),
    (r"exceeds block gas limit", RelayOutcome.INVALID, "the gas limit exceeds the block's"),
    (r"gas limit too high", RelayOutcome.INVALID, "the gas limit is above 2^24"),
    (r"gas tip cap 0", RelayOutcome.INVALID, "it does not accept a priority fee of zero"),
    (r"underpriced|\bfee ?too ?low", RelayOutcome.INVALID, "it is underpriced"),
    (r"exceeds the configured cap", RelayOutcome.INVALID, "its fee is above the relay's cap"),
    (r"oversized data", RelayOutcome.INVALID, "it is too large"),
    (r"sender ?is ?contract|not an eoa", RelayOutcome.INVALID, "its sender is a contract"),
    (r"(tip above|higher than max) fee", RelayOutcome.INVALID, "the tip is above the fee cap"),
    (r"invalid sender", RelayOutcome.INVALID, "it cannot recover the sender"),
    (r"invalid chain", RelayOutcome.INVALID, "it serves another chain"),
    (r"only replay-protected", RelayOutcome.INVALID, "it requires a replay-protected transaction"),
    (r"transaction type not supported", RelayOutcome.INVALID, "it does not accept type 2"),
    (r"\brlp\b|could not decode|failed to decode", RelayOutcome.INVALID, "it cannot decode it"),
)
"""The first match counts. A revert comes first, because the contract chooses its text, which may be
"already known"."""
_COMPILED = tuple(
    (re.compile(p), RelayResponse(outcome, why, why not in _OUR_FAULT))
    for p, outcome, why in _TEXTS
)
_GAPPED = re.compile(
    r"nonce too high|less than block base fee|nonce ?gap|gapped.nonce|max ?fee ?per ?gas ?too ?low"
)


class _ErrorWire(msgspec.Struct, frozen=True):
    message: str = ""
    code: int | str = 0


class _ReplyWire(msgspec.Struct, frozen=True):
    result: str | int | None = None
    error: _ErrorWire | None = None


def classify_response(reply: HttpReply) -> RelayResponse:
    """Return the meaning of a complete HTTP response.

    An acceptance requires status 200. A refusal is JSON under 200 or any 4xx except 429.
    """
    meaning = _meaning(reply)
    return meaning if words_of(meaning) is None else replace(meaning, said=_said(reply))


def _said(reply: HttpReply) -> str:
    """Return the status, and the words of a JSON error or of a page: foreign text, made harmless.

    A relay may repeat what it was sent: no long hexadecimal number is shown.
    """
    words = quoted(_LONG_HEX.sub("***", reply.words()), _LONGEST_WORDS)
    return f"HTTP {reply.status}" + (f", it says {words}" if words else "")


def _meaning(reply: HttpReply) -> RelayResponse:
    if not (reply.status in (200, *_NOT_TAKEN_STATUSES) or 400 <= reply.status < 500):
        return SILENT
    not_json = _NOT_TAKEN if reply.status in _NOT_TAKEN_STATUSES else SILENT
    try:
        wire = msgspec.json.decode(reply.body, type=_ReplyWire)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return not_json
    if wire.error is not None:
        if wire.result is not None:
            return SILENT
        found = _refusal(wire.error)
        says_more = reply.status != 429 and found is not _UNCLEAR
        return found if says_more or not_json is SILENT else _NOT_TAKEN
    if wire.result is None:
        return not_json
    taken = wire.result == _TITAN_ACCEPTED or _HASH.fullmatch(str(wire.result).lower())
    return _TAKEN if taken and reply.status == 200 else SILENT


def _refusal(error: _ErrorWire) -> RelayResponse:
    if error.code == _REVERTED:
        return _CODES[_REVERTED]
    text = error.message.lower()
    for pattern, answer in _COMPILED:
        if pattern.search(text):
            return answer
    if _GAPPED.search(text):
        return replace(_UNCLEAR, serves=True)
    if "sender" in text:
        return _UNCLEAR  # it refuses a wallet; others it may serve
    try:
        code = int(error.code)
    except ValueError:
        code = 0
    if code in _NOT_TAKEN_CODES or _NOT_TAKEN_TEXT.search(text):
        return _NOT_TAKEN
    return _CODES.get(code, SILENT if code == _INTERNAL else _UNCLEAR)
