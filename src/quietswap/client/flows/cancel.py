"""The cancel flow: request the transaction, check, sign, submit, and poll both orders."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from quietswap.client import api_calls, errors, node_calls
from quietswap.client.flows import finality
from quietswap.client.flows import submission_outcome as outcome
from quietswap.client.flows.approvals import require_mainnet
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.moment import of_one_moment, read_ahead
from quietswap.client.flows.polling import (
    PollingPolicy,
    follow_order,
    payment_reads,
    require_eth,
    require_success,
    retry_transient,
)
from quietswap.client.flows.quote_checks import check_params, is_accepted, require_cost, require_int
from quietswap.client.signing import Signer, hash_of, require_same, sign, to_sign
from quietswap.rules.contract.orders import (
    CancelOrderEnvelope,
    CancelOrderResponse,
    CancelQuoteResponse,
    OrderStatusResponse,
)
from quietswap.rules.contract.requests import OrderCancelBody

MOST_FEE_WEI = 2 * 10**16
"""0.02 ETH, about 950 gwei per gas. The priority fee is 0, so only the base fee is paid."""
_USER_CANCELLED = "USER_CANCELLED"


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """The order of `wallet` to cancel. `most_fee_wei` is the highest gas cost to sign for, in wei.

    `nonce` and `tx_hash` are those that the order was signed with. The client knows them if it
    submitted the order; for another one the caller gives the nonce, or a hash that the caller's own
    node knows. The service's word is not enough, because it could name another transaction.

    `accept` is called with the quote before signing; False declines it.
    """

    order_id: str
    wallet: str
    most_fee_wei: int = MOST_FEE_WEI
    nonce: int | None = None
    accept: Callable[[CancelQuoteResponse], bool] | None = None
    tx_hash: str | None = None

    def __post_init__(self) -> None:
        require_int("most_fee_wei", self.most_fee_wei, 0)
        if self.nonce is not None:
            require_int("nonce", self.nonce, 0)


@dataclass(frozen=True, slots=True)
class CancelResult:
    """The result of a cancel.

    `status` is the last record of the order. `submission` is None when the service accepted no
    cancel, for example because the order had already ended. `end` is the last record of the cancel,
    or None.

    `fate` is the outcome of the cancel at the caller's own node; None without a node. `swap` is
    that node's receipt of the order's transaction; None if there is none.
    """

    quote: CancelQuoteResponse
    submission: CancelOrderResponse | None
    end: OrderStatusResponse | None
    status: OrderStatusResponse
    fate: finality.TransactionOutcome | None
    swap: node_calls.NodeReceipt | None = None

    @property
    def checked(self) -> bool:
        """Whether the caller's own node showed the outcome; if not, only the service reports it."""
        return self.fate is not None

    @property
    def cancelled(self) -> bool:
        """Whether the cancel is in a block, and the order's transaction is in none.

        No other transaction with this nonce can then be mined. Without a node of the caller's own,
        only the service reports this.
        """
        if self.fate is not None:
            return self.swap is None and self.fate in (
                finality.TransactionOutcome.MINED,
                finality.TransactionOutcome.REVERTED,
            )
        by_service = self.status.error is not None and self.status.error.code == _USER_CANCELLED
        return by_service or (self.end is not None and self.end.block_number is not None)


CANCEL_GAS, MOST_CANCEL_GAS = 21_000, 100_000
"""Gas units of an empty transfer; with delegated code (EIP-7702) it takes more, up to the second.
The rest of a limit that is too high is not paid."""
_RECEIPT_LOOKS = 10

Event = CancelQuoteResponse | CancelOrderResponse | OrderStatusResponse | finality.OutcomeWatch
Watch = Callable[[Event], None]


def check_cancel(quote: CancelQuoteResponse, request: CancelRequest) -> None:
    """Refuse a quote that is not an empty self-transfer with a bounded fee.

    Raises UnsafeQuote; NonceMismatch if it only has another nonce than the order, and
    QuoteDeclined if only the gas cost is above the limit.
    """
    params = quote.transaction_params
    other_nonce = request.nonce is not None and params.nonce not in (None, request.nonce)
    faults = {
        "another order": quote.order_id != request.order_id,
        "another receiver than the wallet itself": params.to.lower() != request.wallet.lower(),
        "calldata": params.data != "0x",
        "ETH to be sent along": params.value != 0,
        f"a gas limit outside {CANCEL_GAS} to {MOST_CANCEL_GAS}": not (
            CANCEL_GAS <= params.gas_limit <= MOST_CANCEL_GAS
        ),
        "no nonce": params.nonce is None,
        f"nonce {params.nonce}, not {request.nonce} as the order": other_nonce,
    }
    differences = [name for name, is_so in faults.items() if is_so] + check_params(params)
    if differences:
        kind = errors.NonceMismatch if other_nonce and len(differences) == 1 else errors.UnsafeQuote
        raise kind(f"the cancel has {', '.join(differences)}: not signed")
    require_cost("its gas", params.max_gas_cost, request.most_fee_wei, "most_fee_wei (--most-fee)")


def cancel_call(quote: CancelQuoteResponse, signed: str) -> api_calls.ApiCall[CancelOrderResponse]:
    """Return the call that submits a signed cancel; repeating it creates no second order."""
    body = OrderCancelBody(signed_transaction=signed, provider_metadata=quote.provider_metadata)
    path = f"{api_calls.MEV}/orders/{api_calls.segment(quote.order_id)}/cancel"
    return api_calls.ApiCall("POST", path, CancelOrderEnvelope, body=body)


def place(quote: CancelQuoteResponse, signed: str) -> Flow[CancelOrderResponse]:
    """Submit a signed cancel once. Raises TransactionHashMismatch."""
    answer = yield from perform(cancel_call(quote, signed))
    require_same(hash_of(signed), answer.cancel.tx_hash)
    return answer


@dataclass(frozen=True, slots=True)
class CheckedCancel:
    """A cancel that may be signed: `tx_hash` is the order's transaction, `before` its record."""

    request: CancelRequest
    quote: CancelQuoteResponse
    before: OrderStatusResponse
    tx_hash: str


@of_one_moment
def checked_cancel(
    request: CancelRequest, watch: Watch, orders: finality.SignedOrders, *, has_node: bool
) -> Flow[CheckedCancel]:
    """Request the cancel of an order and check it. Raises what `cancel` raises before it signs."""
    request = _signed_here(request, orders)
    before = yield from perform(api_calls.order_status(request.order_id))
    if before.tx_hash is None:
        raise errors.QuoteDeclined(
            f"the record of order {request.order_id} names no txHash, as of one that was never"
            " sent; what became of it cannot be checked: not signed"
        )
    quote = yield from perform(api_calls.quote_cancel(request.order_id))
    used = node_calls.nonce(request.wallet, "latest")
    if has_node:
        named = node_calls.sender_and_nonce(before.tx_hash)
        yield from read_ahead(node_calls.CHAIN_ID, named, used)
        yield from require_mainnet()
    request = yield from _tied(request, before.tx_hash, has_node=has_node)
    check_cancel(quote, request)
    params = quote.transaction_params
    nonce = params.nonce or 0
    if has_node and nonce < (yield from perform(used)):
        raise errors.NonceMismatch(f"nonce {nonce} of the cancel is used already: not signed")
    watch(quote)
    if not is_accepted(request.accept, quote):
        raise errors.QuoteDeclined("the cancel was not accepted")
    if has_node:
        yield from read_ahead(*payment_reads(params, request.wallet))
        yield from require_eth(params, request.wallet)
        yield from require_success("the cancel", params, request.wallet)
    return CheckedCancel(request, quote, before, before.tx_hash)


def cancel(
    request: CancelRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: Watch,
    orders: finality.SignedOrders,
    *,
    has_node: bool,
) -> Flow[CancelResult]:
    """Run the whole flow. If the swap is mined first, that is a result, not an exception.

    Before signing, raises UnsafeQuote, NonceMismatch and QuoteDeclined. After signing, raises
    OrderStillOpen; StatusContradiction when the caller's own node shows that the swap succeeded,
    but the service reports another final status; and MayBeMined when that node does not show the
    outcome, or when the service refuses or fails and there is no node.
    """
    checked = yield from checked_cancel(request, watch, orders, has_node=has_node)
    request, before, quote = checked.request, checked.before, checked.quote
    params = quote.transaction_params
    nonce = params.nonce or 0
    signed = sign(to_sign(params), signer, request.wallet)
    sent = finality.SubmittedTransaction(
        finality.CANCEL, hash_of(signed), request.wallet, nonce, request.order_id
    )
    race = _Race(quote, before, checked.tx_hash, request.tx_hash, sent, orders)
    trouble: errors.ClientError | None = None
    try:
        yield from _run(race, signed, sent.tx_hash, polling, watch)
    except errors.ClientError as error:
        trouble = error
    if not has_node:
        if isinstance(trouble, errors.OrderStillOpen):
            raise outcome.with_transaction(trouble, sent)
        if trouble is not None:
            raise outcome.error_for_outcome(
                finality.TransactionOutcome.OPEN, str(trouble), sent, trouble
            ) from trouble
        return race.result(None, None)
    return (yield from _seen(race, sent, trouble, polling, watch))


def _signed_here(request: CancelRequest, orders: finality.SignedOrders) -> CancelRequest:
    """Add nonce and hash of an order that this client submitted. Raises NonceMismatch."""
    own = orders.get(request.order_id)
    if own is None:
        return request
    nonce = own.nonce if request.nonce is None else request.nonce
    tx_hash = own.tx_hash if request.tx_hash is None else request.tx_hash.lower()
    if (request.wallet.lower(), nonce, tx_hash) != (own.wallet.lower(), own.nonce, own.tx_hash):
        raise errors.NonceMismatch(
            f"order {request.order_id} was signed as transaction {own.tx_hash} with nonce"
            f" {own.nonce} of {own.wallet}: not signed"
        )
    return replace(request, nonce=nonce, tx_hash=tx_hash)


def _tied(request: CancelRequest, named: str, *, has_node: bool) -> Flow[CancelRequest]:
    """Return the request with the order's nonce. A hash that only the service names ties nothing.

    The caller's own node seldom knows a private transaction. If it does, its data decides. Raises
    UnsafeQuote for a contradiction, and QuoteDeclined if only the service knows the nonce.
    """
    own, nonce, on_chain = request.tx_hash, request.nonce, None
    if own is not None and own.lower() != named.lower():
        raise errors.UnsafeQuote(
            f"the service says that the order is transaction {named}, but you signed {own}: not"
            " signed"
        )
    if has_node:
        with suppress(errors.ClientError):
            on_chain = yield from perform(node_calls.sender_and_nonce(named))
    if nonce is None and own is not None and on_chain is not None:
        nonce = on_chain[1]
    if nonce is None:
        raise errors.QuoteDeclined(
            "only the service knows which nonce the order has; it could name that of another"
            " transaction of the wallet: not signed. Give the nonce that you signed the order with"
            " (--nonce): `quietswap swap` prints it"
        )
    if on_chain is not None and on_chain != (request.wallet.lower(), nonce):
        raise errors.UnsafeQuote(
            f"by your own node the order's transaction {named} is nonce {on_chain[1]} of "
            f"{on_chain[0]}, not nonce {nonce} of the wallet: not signed"
        )
    return replace(request, nonce=nonce)


@dataclass(slots=True)
class _Race:
    """The latest records of the order and the cancel that the service returned."""

    quote: CancelQuoteResponse
    status: OrderStatusResponse
    tx_hash: str
    """The order's transaction: as the caller signed it, else as the service names it."""
    own_hash: str | None
    """The same, if the caller signed it."""
    sent: finality.SubmittedTransaction
    """The cancel."""
    orders: finality.SignedOrders
    taken: CancelOrderResponse | None = None
    end: OrderStatusResponse | None = None

    def result(
        self, fate: finality.TransactionOutcome | None, swap: node_calls.NodeReceipt | None
    ) -> CancelResult:
        return CancelResult(self.quote, self.taken, self.end, self.status, fate, swap)


def _run(
    race: _Race, signed: str, tx_hash: str, polling: PollingPolicy, watch: Watch
) -> Flow[None]:
    race.taken = yield from submit(race.quote, signed, polling)
    if race.taken is not None:
        watch(race.taken)
        interval = race.taken.tracking.polling_interval
        cancel_id = race.taken.cancel.order_id
        finality.remember(race.orders, replace(race.sent, order_id=cancel_id))
        race.end = yield from follow_order(cancel_id, polling, watch, interval, tx_hash)
    race.status = yield from follow_order(
        race.quote.order_id, polling, watch, signed_hash=race.own_hash
    )


def submit(
    quote: CancelQuoteResponse, signed: str, polling: PollingPolicy
) -> Flow[CancelOrderResponse | None]:
    """Return the accepted cancel; None if the order had ended before."""
    try:
        answer = yield from retry_transient(cancel_call(quote, signed), polling)
    except (errors.NonceTooLow, errors.ValidationError) as error:
        reason = getattr(error.details, "reason", None)
        if isinstance(error, errors.ValidationError) and reason != "ORDER_ENDED":
            raise
        return None
    require_same(hash_of(signed), answer.cancel.tx_hash)
    return answer


def _rival(
    race: _Race, sent: finality.SubmittedTransaction, polling: PollingPolicy, looks: int
) -> Flow[node_calls.NodeReceipt | None]:
    """Return the receipt of the order's transaction if the cancel can no longer be mined for it.

    None if it is not mined, or did not use the cancel's nonce: the service may have named the hash
    of another one. If the node shows the receipt alone, it counts for a hash that the caller
    signed.
    """
    receipt = yield from retry_transient(node_calls.receipt(race.tx_hash), polling, attempts=looks)
    if receipt is None:
        return None
    sender_nonce = yield from retry_transient(node_calls.sender_and_nonce(race.tx_hash), polling)
    wallet = sent.wallet.lower()
    if sender_nonce is None:
        is_own = race.own_hash is not None and receipt.sender.lower() in ("", wallet)
        return receipt if is_own else None
    return receipt if sender_nonce == (wallet, sent.nonce) else None


def _fate(
    race: _Race, sent: finality.SubmittedTransaction, polling: PollingPolicy
) -> Flow[tuple[finality.TransactionOutcome, node_calls.NodeReceipt | None]]:
    """Return the cancel's outcome, and the receipt of the order's transaction if that was mined.

    A swap that took place decides at once. What leaves the nonce to another swap takes two blocks.
    """
    try:
        swap = yield from _rival(race, sent, polling, 1)
    except errors.ClientError:
        swap = None  # it is read again
    if swap is not None and swap.succeeded:
        return finality.TransactionOutcome.REPLACED, swap
    seen = yield from finality.watch_transaction(sent, polling, polling.doubt_s)
    return seen.outcome, (yield from _rival(race, sent, polling, _RECEIPT_LOOKS))


def _seen(
    race: _Race,
    sent: finality.SubmittedTransaction,
    trouble: errors.ClientError | None,
    polling: PollingPolicy,
    watch: Watch,
) -> Flow[CancelResult]:
    """Return the result by the receipts of both transactions at the caller's own node."""
    status = race.status.status
    reported = f"the service says that the order is {status}"
    watch(
        finality.OutcomeWatch(reported if trouble is None else str(trouble), sent, polling.doubt_s)
    )
    try:
        fate, swap = yield from _fate(race, sent, polling)
    except errors.ClientError as error:
        reason = (
            f"your own node does not say what became of the order's own {race.tx_hash} ({error})"
        )
        raise outcome.error_for_outcome(
            finality.TransactionOutcome.OPEN, reason, sent, error
        ) from error
    if swap is not None and (swap.succeeded or fate is not finality.TransactionOutcome.OPEN):
        if swap.succeeded and race.status.is_terminal and status != "confirmed":
            raise errors.StatusContradiction(race.quote.order_id, status, race.tx_hash)
        return race.result(fate, swap)
    if fate is finality.TransactionOutcome.OPEN and isinstance(trouble, errors.OrderStillOpen):
        raise outcome.with_transaction(trouble, sent)
    if fate is finality.TransactionOutcome.OPEN:
        reason = str(trouble) if trouble else f"{reported}, but your own node does not show it"
        raise outcome.error_for_outcome(fate, reason, sent, trouble) from trouble
    return race.result(fate, None)
