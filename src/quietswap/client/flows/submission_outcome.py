"""The outcome of signed bytes that were submitted to the service.

A service or its relay may report a refusal and still send the transaction. So a refusal never
proves that nothing happened. The caller's own node is watched, and only a receipt or a used nonce
decides.
"""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NoReturn

from quietswap.client import errors, node_calls
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.polling import PollingPolicy, wait_for_receipt

_SURE_AFTER = 3
"""Reads with a used nonce and no receipt: backends of one RPC URL may be at different blocks."""
_LONGEST_ID = 100


class TransactionOutcome(StrEnum):
    """The outcome of a signed transaction at the caller's own node."""

    MINED = "mined"
    """It was mined and succeeded."""
    REVERTED = "reverted"
    REPLACED = "replaced"
    """Another transaction of the wallet used its nonce."""
    OPEN = "open"
    """Its nonce is unused, or the node failed: it may still be mined."""


@dataclass(frozen=True, slots=True)
class SubmittedTransaction:
    """A signed transaction that was submitted; `what` names it in messages."""

    what: str
    tx_hash: str
    wallet: str
    nonce: int
    order_id: str | None = None


SignedOrders = MutableMapping[str, SubmittedTransaction]
"""What the caller signed for each order, by order id."""


def remember(orders: SignedOrders, sent: SubmittedTransaction) -> None:
    """Record the order's transaction. Raises UnexpectedResponse for the id of another one."""
    order_id = sent.order_id or ""
    if orders.setdefault(order_id, sent).tx_hash != sent.tx_hash:
        raise errors.UnexpectedResponse(f"the service named order {order_id} for two transactions")


@dataclass(frozen=True, slots=True)
class OutcomeWatch:
    """Event: the caller's own node is now watched for `seconds`; `why` is the reason."""

    why: str
    sent: SubmittedTransaction
    seconds: float


def watch_outcome(
    sent: SubmittedTransaction, polling: PollingPolicy, watched_s: float
) -> Flow[tuple[TransactionOutcome, node_calls.NodeReceipt | None]]:
    """Watch hash and nonce at the caller's own node for at most `watched_s` seconds.

    If the node fails, the transaction counts as open.
    """
    patient = replace(polling, patience_s=watched_s)
    try:
        receipt = yield from wait_for_receipt(
            sent.what, sent.tx_hash, sent.wallet, sent.nonce, patient, sure_after=_SURE_AFTER
        )
    except errors.TransactionFailed:
        return TransactionOutcome.REVERTED, None
    except errors.TransactionReplaced:
        return TransactionOutcome.REPLACED, None
    except errors.ClientError:
        return TransactionOutcome.OPEN, None
    return TransactionOutcome.MINED, receipt


def mined(sent: SubmittedTransaction, polling: PollingPolicy) -> Flow[node_calls.NodeReceipt]:
    """Wait for the receipt of a transaction that was sent.

    Raises TransactionFailed, TransactionReplaced or OrderStillOpen, and MayBeMined if the node
    fails.
    """
    try:
        return (
            yield from wait_for_receipt(sent.what, sent.tx_hash, sent.wallet, sent.nonce, polling)
        )
    except (errors.TransactionFailed, errors.TransactionReplaced):
        raise
    except errors.OrderStillOpen as error:
        raise with_transaction(error, sent) from None
    except errors.ClientError as error:
        raise error_for_outcome(TransactionOutcome.OPEN, str(error), sent, error) from error


def raise_outcome(
    error: errors.ClientError,
    sent: SubmittedTransaction,
    polling: PollingPolicy,
    watch: Callable[[OutcomeWatch], None],
    *,
    has_node: bool,
) -> Flow[NoReturn]:
    """Raise the exception for `error`, which occurred after the signed bytes were submitted.

    If `error` is TransactionHashMismatch, raises it with the outcome added. Otherwise raises
    MinedAnyway or NeverMined if the caller's own node shows the outcome. If it does not, raises
    MayBeMined, or `error` itself if it is OrderStillOpen, because the wait is already over.
    """
    sent = replace(sent, order_id=sent.order_id or _order_of(error))
    fate, receipt = TransactionOutcome.OPEN, None
    if has_node:
        watched_s = 0.0 if isinstance(error, errors.OrderStillOpen) else polling.doubt_s
        watch(OutcomeWatch(str(error), sent, watched_s))
        fate, receipt = yield from watch_outcome(sent, polling, watched_s)
    if isinstance(error, errors.TransactionHashMismatch):
        raise _named(error, sent, fate if has_node else None)
    if fate is TransactionOutcome.OPEN and isinstance(error, errors.OrderStillOpen):
        raise with_transaction(error, sent)
    raise error_for_outcome(fate, str(error), sent, error, receipt) from error


def with_transaction(
    error: errors.OrderStillOpen, sent: SubmittedTransaction
) -> errors.OrderStillOpen:
    """Return the error with hash, nonce and order id of the submitted transaction."""
    error.tx_hash, error.nonce, error.order_id = sent.tx_hash, sent.nonce, sent.order_id
    return error


def _named(
    error: errors.TransactionHashMismatch,
    sent: SubmittedTransaction,
    fate: TransactionOutcome | None,
) -> errors.TransactionHashMismatch:
    error.nonce, error.order_id, error.fate = sent.nonce, sent.order_id, fate
    shown = {
        TransactionOutcome.MINED: "was mined and succeeded: do not repeat it",
        TransactionOutcome.REVERTED: "was mined and reverted",
        TransactionOutcome.REPLACED: "can no longer be mined: another transaction used nonce"
        f" {sent.nonce}",
    }
    text = f"it may still be mined as long as nonce {sent.nonce} is unused"
    if fate in shown:
        text = f"your own node says that the signed one {shown[fate]}"
    error.args = (f"{error}; {text}",)
    return error


def error_for_outcome(
    fate: TransactionOutcome,
    why: str,
    sent: SubmittedTransaction,
    cause: errors.ClientError | None = None,
    receipt: node_calls.NodeReceipt | None = None,
) -> errors.ClientError:
    known = {"tx_hash": sent.tx_hash, "nonce": sent.nonce, "order_id": sent.order_id}
    if fate is TransactionOutcome.MINED:
        mined_anyway = errors.MinedAnyway(why, cause=cause, **known)  # type: ignore[arg-type]
        mined_anyway.receipt = receipt
        return mined_anyway
    kind = errors.MayBeMined if fate is TransactionOutcome.OPEN else errors.NeverMined
    return kind(why, cause=cause, **known)  # type: ignore[arg-type]


def _order_of(error: errors.ClientError) -> str | None:
    """Return the order id in a refusal. None does not prove that there is no order."""
    details = error.raw_details if isinstance(error, errors.ApiError) else None
    named = details.get("orderId") if details else None
    return named[:_LONGEST_ID] if isinstance(named, str) and named else None
