"""The wrap flow: quote, check, set the nonce, sign, submit, wait for the receipt."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from typing import Any

from quietswap.client import api_calls, node_calls
from quietswap.client.errors import (
    ClientError,
    NodeRpcError,
    NonceMismatch,
    QuoteDeclined,
    UnsafeQuote,
)
from quietswap.client.flows import finality, quote_checks
from quietswap.client.flows import submission_outcome as outcome
from quietswap.client.flows.approvals import require_mainnet
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.moment import at_one_moment, read_ahead
from quietswap.client.flows.polling import (
    PollingPolicy,
    call_of,
    payment_reads,
    require_eth,
    require_no_open_order,
    require_success,
    retry_transient,
)
from quietswap.client.flows.quoting import check_fee, require_consent
from quietswap.client.signing import Signer, hash_of, require_same, sign, to_sign
from quietswap.rules.contract.requests import WrapOrderBody
from quietswap.rules.contract.wraps import WrapOrderEnvelope, WrapOrderResponse, WrapQuoteResponse
from quietswap.rules.safety.loss import Loss, accepted_bps, judge_wrap
from quietswap.rules.tokens import erc20, token
from quietswap.rules.wire import WrapOperation

WETH = token.WETH
LEAST_WRAP_GAS = 27_000
"""Less gas than any wrap or unwrap uses: 21,000 and a write of the WETH balance, with its log."""
_ETHER = re.compile(r"([0-9]{1,60})(?:\.([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True)
class WrapPlan:
    """A checked quote with its nonce, and what its gas may lose; `refusal` is raised after it."""

    quote: WrapQuoteResponse
    loss: Loss
    needs_consent: bool
    refusal: QuoteDeclined | None = None


Event = (
    WrapQuoteResponse
    | WrapPlan
    | WrapOrderResponse
    | node_calls.NodeReceipt
    | finality.OutcomeWatch
)
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class WrapRequest:
    """What to wrap or unwrap. `amount` is in ETH, as a decimal string.

    `nonce` None uses the next nonce of the caller's own node. The request is refused while an order
    of the wallet is open, unless `replace` allows the transaction to use that order's nonce.

    `accept` is called with the quote before signing; False declines it.

    A request whose gas may cost more than a tenth of the amount is declined. `max_loss_percent`
    accepts another share. With `confirm` it is not declined: it is called with the quote and its
    loss after `accept`, and False declines it. `max_fee_wei` is the highest gas cost (gas limit x
    fee cap) to sign for; None sets no limit.
    """

    operation: WrapOperation
    amount: str
    wallet: str
    nonce: int | None = None
    accept: Callable[[WrapQuoteResponse], bool] | None = None
    replace: bool = False
    max_loss_percent: Decimal | None = None
    confirm: Callable[[WrapQuoteResponse, Loss], bool] | None = None
    max_fee_wei: int | None = None

    def __post_init__(self) -> None:
        if self.nonce is not None:
            quote_checks.require_int("nonce", self.nonce, 0)
        quote_checks.require_percent("max_loss_percent", self.max_loss_percent)


@dataclass(frozen=True, slots=True)
class WrapResult:
    """The result of a wrap or unwrap. `receipt` is None when the client has no node."""

    quote: WrapQuoteResponse
    order: WrapOrderResponse
    receipt: node_calls.NodeReceipt | None


def _most_bps(request: WrapRequest) -> int:
    return accepted_bps(request.max_loss_percent)


def to_wei(amount: str) -> int:
    """Return a decimal ETH amount in wei: digits and at most 18 decimals. Raises ValueError."""
    digits = _ETHER.fullmatch(amount)
    wei = int(digits[1] + (digits[2] or "").ljust(18, "0")) if digits else 0
    if wei == 0:
        raise ValueError(f"{amount!r} is not a positive amount of ETH with at most 18 decimals")
    return wei


def check_quote(quote: WrapQuoteResponse, request: WrapRequest) -> None:
    """Refuse a quote that is not exactly the requested conversion.

    Raises UnsafeQuote, and QuoteDeclined if only its gas is above the limit.
    """
    params, wei = quote.mev_protection.transaction_params, to_wei(request.amount)
    is_wrap = request.operation == "wrap"
    data = "0x" + erc20.calldata(token.WrapOperation(request.operation), wei).hex()
    faults = {
        "another operation": quote.operation != request.operation,
        "another amount": quote.amount_wei != wei,
        "another contract than WETH": params.to.lower() != WETH.lower(),
        "another call": params.data.lower() != data,
        "another value": params.value != (wei if is_wrap else 0),
    }
    violations = [name for name, is_so in faults.items() if is_so] + quote_checks.check_params(
        params
    )
    if violations:
        raise UnsafeQuote(f"the quote has {', '.join(violations)}: not signed")
    gas = f"the gas of the {request.operation}"
    quote_checks.require_cost(
        gas, int(params.max_gas_cost), request.max_fee_wei, quote_checks.MAX_FEE_OPTION
    )


def judged(quote: WrapQuoteResponse, request: WrapRequest, *, has_node: bool) -> Flow[Loss]:
    """Return what is lost for gas, by the own node's estimate and base fee.

    The service's figure counts only where it is higher. Without a node it is at least what the
    contract takes, at the fee cap.
    """
    params = quote.mev_protection.transaction_params
    gas, fee = max(int(quote.estimated_gas), LEAST_WRAP_GAS), int(params.max_fee_per_gas)
    if has_node:
        fee = yield from perform(node_calls.BASE_FEE)
        with suppress(NodeRpcError):
            estimate = yield from perform(node_calls.estimate_gas(call_of(params, request.wallet)))
            gas = max(gas, estimate)
    return judge_wrap(quote.amount_wei, gas * fee)


def order_call(quote: WrapQuoteResponse, signed: str) -> api_calls.ApiCall[WrapOrderResponse]:
    """Return the call that submits a signed quote; repeating it creates no second order."""
    body = WrapOrderBody(
        quote_id=quote.quote_id,
        signed_transaction=signed,
        provider_metadata=quote.mev_protection.provider_metadata,
        operation=quote.operation,
        amount=quote.amount,
    )
    path, order = f"{api_calls.MEV}/wrap/order", attrgetter("data.order")
    return api_calls.ApiCall("POST", path, WrapOrderEnvelope, order, body=body)


def place(quote: WrapQuoteResponse, signed: str) -> Flow[WrapOrderResponse]:
    """Submit a signed quote once. Raises TransactionHashMismatch."""
    order = yield from perform(order_call(quote, signed))
    require_same(hash_of(signed), order.tx_hash)
    return order


def checked_wrap(
    request: WrapRequest, polling: PollingPolicy, watch: Watch, *, has_node: bool
) -> Flow[WrapQuoteResponse]:
    """Return the quote with its nonce, if it may be signed.

    Raises what `convert` raises before it signs.
    """
    quote = yield from perform(
        api_calls.wrap_quote(request.operation, request.amount, request.wallet)
    )
    check_quote(quote, request)
    quote, loss, mismatch = yield from at_one_moment(_with_facts(quote, request, has_node=has_node))
    purpose, params = f"the {request.operation}", quote.mev_protection.transaction_params
    if not request.replace:
        nonce = params.nonce or 0
        own = range(nonce, nonce + 1)
        yield from require_no_open_order(
            request.wallet, purpose, polling, has_node=has_node, nonces=own
        )
    if mismatch is not None:
        raise mismatch
    watch(quote)
    most = _most_bps(request)
    plan = WrapPlan(quote, loss, loss.exceeds(most, has_floor=False))
    try:
        if request.confirm is None:
            require_consent(loss, most, quote, None)
    except QuoteDeclined as error:
        watch(replace(plan, refusal=error))
        raise
    watch(plan)
    if not quote_checks.is_accepted(request.accept, quote):
        raise QuoteDeclined("the quote was not accepted")
    require_consent(loss, most, quote, request.confirm)
    if has_node:
        yield from at_one_moment(_require_payable(quote, request, purpose))
    return quote


def _with_facts(
    quote: WrapQuoteResponse, request: WrapRequest, *, has_node: bool
) -> Flow[tuple[WrapQuoteResponse, Loss, NonceMismatch | None]]:
    """Return the quote with its nonce, its loss, and what is wrong with a given nonce."""
    params, nonce = quote.mev_protection.transaction_params, request.nonce
    mismatch = None
    if has_node or nonce is None:
        yield from read_ahead(*_reads(quote, request, has_node=has_node))
        yield from require_mainnet()
        yield from check_fee(params)
    if nonce is None:
        nonce = yield from perform(node_calls.nonce(request.wallet))
    elif has_node:
        try:
            yield from _check_nonce(nonce, request)
        except NonceMismatch as error:
            mismatch = error
    quote = quote.with_nonce(nonce)
    return quote, (yield from judged(quote, request, has_node=has_node)), mismatch


def _reads(
    quote: WrapQuoteResponse, request: WrapRequest, *, has_node: bool
) -> list[node_calls.NodeCall[Any]]:
    """Return what is read at the caller's own node before the quote is shown."""
    wallet, params = request.wallet, quote.mev_protection.transaction_params
    reads: list[node_calls.NodeCall[Any]] = [
        node_calls.CHAIN_ID,
        node_calls.BASE_FEE,
        node_calls.nonce(wallet),
    ]
    if request.nonce is not None:
        reads.append(node_calls.nonce(wallet, "latest"))
    if has_node:
        reads.append(node_calls.estimate_gas(call_of(params, wallet)))
    return reads


def convert(
    request: WrapRequest,
    signer: Signer,
    polling: PollingPolicy,
    watch: Watch,
    *,
    has_node: bool,
    record: finality.Record = finality.unrecorded,
) -> Flow[WrapResult]:
    """Run the whole flow; `record` is called with what was signed before it is submitted.

    Before signing, raises UnsafeQuote, NonceMismatch when the given nonce is used, and
    QuoteDeclined when an order of the wallet is open, `accept` returns False, or the balance is too
    low. While submitting, raises TransactionHashMismatch, and AfterSubmission when the service
    refuses a transaction that it already has. While waiting, raises TransactionFailed,
    TransactionReplaced or OrderStillOpen.
    """
    quote = yield from checked_wrap(request, polling, watch, has_node=has_node)
    params = quote.mev_protection.transaction_params
    signed = sign(to_sign(params), signer, request.wallet)
    what, nonce = f"the {request.operation}", params.nonce or 0
    sent = record(finality.SubmittedTransaction(what, hash_of(signed), request.wallet, nonce))
    return (yield from submit(quote, sent, signed, polling, watch, has_node=has_node))


def submit(
    quote: WrapQuoteResponse,
    sent: finality.SubmittedTransaction,
    signed: str,
    polling: PollingPolicy,
    watch: Watch,
    *,
    has_node: bool,
) -> Flow[WrapResult]:
    """Submit a signed quote, and wait for its receipt at the caller's own node."""
    try:
        order = yield from retry_transient(order_call(quote, signed), polling)
        require_same(sent.tx_hash, order.tx_hash)
    except ClientError as error:
        yield from outcome.raise_outcome(error, sent, polling, watch, has_node=has_node)
    watch(order)
    if not has_node:
        return WrapResult(quote, order, None)
    receipt = yield from outcome.mined(sent, polling)
    watch(receipt)
    return WrapResult(quote, order, receipt)


def _check_nonce(nonce: int, request: WrapRequest) -> Flow[None]:
    """Refuse a nonce that is used, or that leaves a gap. Raises NonceMismatch.

    A node does not count private orders, so `replace` permits a nonce behind those.
    """
    if nonce < (yield from perform(node_calls.nonce(request.wallet, "latest"))):
        raise NonceMismatch(f"by your own node, nonce {nonce} is used already: not signed")
    following = yield from perform(node_calls.nonce(request.wallet))
    if nonce > following and not request.replace:
        raise NonceMismatch(
            f"by your own node, the wallet's next nonce is {following}: with {nonce} it would wait"
            " for the nonces between: not signed"
        )


def _require_payable(quote: WrapQuoteResponse, request: WrapRequest, what: str) -> Flow[None]:
    """Refuse what the wallet cannot pay, or what would fail, at the caller's own node.

    Raises QuoteDeclined.
    """
    wallet, params = request.wallet, quote.mev_protection.transaction_params
    has_weth = node_calls.token_balance(WETH, wallet)
    is_unwrap = request.operation == "unwrap"
    yield from read_ahead(*payment_reads(params, wallet), *((has_weth,) if is_unwrap else ()))
    if is_unwrap and (held := (yield from perform(has_weth))) < quote.amount_wei:
        raise QuoteDeclined(f"the wallet holds {held} of {quote.amount_wei} wei of WETH")
    yield from require_eth(params, wallet)
    yield from require_success(what, params, wallet)
