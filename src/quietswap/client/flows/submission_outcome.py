"""The errors of signed bytes that were submitted to the service.

A service or its relay may report a refusal and still send the transaction. So a refusal never
proves that nothing happened. The caller's own node is watched, and only a receipt or a used nonce
decides.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from quietswap.client import errors, node_calls
from quietswap.client.flows.effects import Flow, read_clock
from quietswap.client.flows.finality import (
    OrderEnd,
    OutcomeWatch,
    SignedOrders,
    SubmittedTransaction,
    TransactionOutcome,
    follow_to_end,
    remember,
    watch_transaction,
)
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules.contract.orders import OrderStatusResponse

_LONGEST_ID = 100
_HOPELESS_S = 18.0
"""How long a node may fail for good before a sent transaction counts as undecided, in s."""


def mined(sent: SubmittedTransaction, polling: PollingPolicy) -> Flow[node_calls.NodeReceipt]:
    """Wait for the receipt of a transaction that was sent.

    Raises TransactionFailed, TransactionReplaced or OrderStillOpen, and MayBeMined if the node
    fails.
    """
    started = (yield from read_clock()).seconds
    seen = yield from watch_transaction(sent, polling, polling.until(), 2, _HOPELESS_S)
    if seen.receipt is not None and seen.receipt.succeeded:
        return seen.receipt
    if seen.receipt is not None:
        raise errors.TransactionFailed(sent.what, sent.tx_hash)
    if seen.outcome is TransactionOutcome.REPLACED:
        raise errors.TransactionReplaced(sent.tx_hash)
    if seen.trouble is not None:
        reason = str(seen.trouble)
        raise error_for_outcome(
            TransactionOutcome.OPEN, reason, sent, seen.trouble
        ) from seen.trouble
    waited = (yield from read_clock()).seconds - started
    raise with_transaction(errors.OrderStillOpen(sent.tx_hash, "not mined", waited), sent)


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
        seen = yield from watch_transaction(sent, polling, watched_s)
        fate, receipt = seen.outcome, seen.receipt
    if isinstance(error, errors.TransactionHashMismatch):
        raise _named(error, sent, fate if has_node else None)
    if fate is TransactionOutcome.OPEN and isinstance(error, errors.OrderStillOpen):
        raise with_transaction(error, sent)
    raise error_for_outcome(fate, str(error), sent, error, receipt) from error


def remember_refused(
    orders: SignedOrders, sent: SubmittedTransaction, error: errors.ClientError
) -> SubmittedTransaction:
    """Return it with the order that a refusal names, recorded, so that its end can be checked.

    An order of another transaction stays what it is.
    """
    order_id = sent.order_id or _order_of(error)
    if order_id is None:
        return sent
    sent = replace(sent, order_id=order_id)
    with suppress(errors.UnexpectedResponse):
        remember(orders, sent)
    return sent


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


def statuses(
    watch: Callable[[OrderStatusResponse], None],
) -> Callable[[OrderStatusResponse | OutcomeWatch], None]:
    """Return what calls `watch` with the status records only."""

    def tell(event: OrderStatusResponse | OutcomeWatch) -> None:
        if isinstance(event, OrderStatusResponse):
            watch(event)

    return tell


def end_of_order(
    order_id: str,
    sent: SubmittedTransaction | None,
    polling: PollingPolicy,
    watch: Callable[[OrderStatusResponse | OutcomeWatch], None],
    *,
    has_node: bool,
) -> Flow[OrderEnd]:
    """Do `follow_to_end`. Raises TransactionHashMismatch with the outcome added."""
    try:
        return (yield from follow_to_end(order_id, sent, polling, watch, has_node=has_node))
    except errors.TransactionHashMismatch as error:
        if sent is None:
            raise
        yield from raise_outcome(error, sent, polling, watch, has_node=has_node)
    raise AssertionError("the outcome is raised")


def require_report(end: OrderEnd, sent: SubmittedTransaction | None) -> None:
    """Do `require_certainty`. Raises MinedAnyway or NeverMined for an end that is not reported.

    Without `sent` nothing but a contradiction is raised, as StatusContradiction.
    """
    if sent is None:
        if end.is_contradicted:
            named = end.record.tx_hash or "without a hash"
            raise errors.StatusContradiction(end.record.order_id, end.record.status, named)
        return
    end.require_certainty(sent)
    if end.fate is not None and not end.record.is_terminal:
        reason = f"the service still reports {end.record.status}"
        raise error_for_outcome(end.fate, reason, sent, receipt=end.receipt)


def error_for_outcome(
    fate: TransactionOutcome,
    why: str,
    sent: SubmittedTransaction,
    cause: errors.ClientError | None = None,
    receipt: node_calls.NodeReceipt | None = None,
) -> errors.ClientError:
    identity = {"tx_hash": sent.tx_hash, "nonce": sent.nonce, "order_id": sent.order_id}
    if fate is TransactionOutcome.MINED:
        mined_anyway = errors.MinedAnyway(why, cause=cause, **identity)  # type: ignore[arg-type]
        mined_anyway.receipt = receipt
        return mined_anyway
    kind = errors.MayBeMined if fate is TransactionOutcome.OPEN else errors.NeverMined
    return kind(why, cause=cause, **identity)  # type: ignore[arg-type]


def _order_of(error: errors.ClientError) -> str | None:
    """Return the order id in a refusal. None does not prove that there is no order."""
    details = error.raw_details if isinstance(error, errors.ApiError) else None
    named = details.get("orderId") if details else None
    return named[:_LONGEST_ID] if isinstance(named, str) and named else None
