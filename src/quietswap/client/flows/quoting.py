"""Requests for quotes that pass the checks, and the judgement of their loss."""

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeVar

from quietswap.client import node_calls
from quietswap.client.errors import ClientError, NonceMismatch, QuoteDeclined, UnsafeQuote
from quietswap.client.flows import reference_price
from quietswap.client.flows.approvals import block_name, cost_reads, require_mainnet
from quietswap.client.flows.effects import Flow, Sleep, perform
from quietswap.client.flows.moment import read_ahead
from quietswap.client.flows.polling import (
    BACKENDS,
    PollingPolicy,
    require_eth,
    require_no_open_order,
)
from quietswap.client.flows.quote_checks import (
    ALLOWANCE_HOLDER,
    SwapRequest,
    check_quote,
    check_unsimulated,
    is_accepted,
    with_params,
)
from quietswap.rules.amounts import BPS
from quietswap.rules.contract.quotes import PriceResponse, SwapQuoteResponse
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.rules.routers import batch
from quietswap.rules.safety.loss import CONFIRM_BPS, Loss, accepted_bps, judge_swap, percent
from quietswap.rules.tx.address import Address, from_any_case

Q = TypeVar("Q")


def judge_quote(
    quote: SwapQuoteResponse | PriceResponse,
    slippage_bps: int,
    reference_percent: Decimal | None = None,
    gas_percent: Decimal | None = None,
) -> Loss:
    """Return the judgement of a quote, or of an indicative price with slippage 0.

    The service's own is not used: a hostile service would call every loss small.
    `reference_percent` below the caller's reference; `gas_percent` as the caller measured it.
    """
    scoring = quote.scoring
    is_priced = scoring.price_available
    return judge_swap(
        impact_percent=quote.price_impact if quote.price_impact_available else None,
        slippage_bps=slippage_bps,
        net_value_usd=scoring.net_value_usd if is_priced else None,
        gas_cost_usd=scoring.gas_cost_usd if is_priced else None,
        reference_percent=reference_percent,
        gas_percent=gas_percent,
    )


def most_bps(request: SwapRequest) -> int:
    """Return the loss that a swap's request accepts.

    A `max_impact_percent` that is as high as what needs a confirmation counts, too.
    """
    most = request.max_loss_percent
    if most is None and (request.max_impact_percent or 0) * 100 >= CONFIRM_BPS:
        most = request.max_impact_percent
    return accepted_bps(most)


def needs_reference(request: SwapRequest) -> bool:
    """Return whether the request has a bound that a reference price can break."""
    return request.max_impact_percent is not None or most_bps(request) < BPS


def require_consent(
    loss: Loss,
    most: int,
    quote: Q,
    confirm: Callable[[Q, Loss], bool] | None,
    *,
    has_floor: bool = False,
) -> None:
    """Ask `confirm` if more than `most` basis points may be lost. Raises QuoteDeclined."""
    if not loss.exceeds(most, has_floor=has_floor):
        return
    if confirm is None:
        floor = "" if loss.is_priced else "; at_least (--at-least) replaces the price"
        raise QuoteDeclined(
            f"it may lose more than the {percent(most)} % that you accept: {loss}: not signed;"
            f" accept a loss up to max_loss_percent (--max-loss){floor}"
        )
    if not is_accepted(lambda it: confirm(it, loss), quote):
        raise QuoteDeclined("the loss was not accepted")


_LAGGING_QUOTES = 5
_FEE_MULTIPLE = 10
_FEE_HEADROOM = 10 * 10**9
"""10 gwei, in wei. A fee cap above 10 x the base fee plus this is refused; the service uses 2 x."""


def safe_quote(
    request: SwapRequest, polling: PollingPolicy, *, has_node: bool, since: int = 0
) -> Flow[SwapQuoteResponse]:
    """Request a quote; repeat while the service's node is behind the caller's own node.

    Block `since` has the approval of just before. Raises UnsafeQuote.
    """
    for attempt in range(1, _LAGGING_QUOTES + 1):
        quote = yield from perform(request.call())
        if has_node:
            yield from read_ahead(*_reads(quote, request, since))
            yield from require_mainnet()
        needs_settlers = has_node and quote.dex_route.target.lower() == ALLOWANCE_HOLDER.lower()
        settlers = (
            (yield from reference_price.read_settlers()) if needs_settlers else frozenset[Address]()
        )
        check_quote(quote, request, settlers)
        if not has_node:
            check_unsimulated(quote)
        params = quote.mev_protection.transaction_params
        nonce = request.nonce
        if has_node:
            yield from check_fee(params)
            if nonce is None and not request.any_nonce:
                nonce = yield from _next_nonce(request.wallet, params.nonce or 0, polling)
        if nonce is None or params.nonce == nonce:
            return quote
        lags = request.nonce is None and params.nonce is not None and params.nonce < nonce
        if not lags or attempt == _LAGGING_QUOTES:
            is_used = has_node and (yield from _is_used(request))
            raise NonceMismatch(_other_nonce(params.nonce, nonce, request, is_used=is_used))
        yield Sleep(polling.node_interval_s)
    raise AssertionError("the last attempt returns or raises")


def _reads(
    quote: SwapQuoteResponse, request: SwapRequest, since: int
) -> list[node_calls.NodeCall[Any]]:
    """Return what the plan of a quote reads at the caller's own node, as far as it is known.

    What an approval costs is read before it is known whether one is needed: that saves a trip.
    """
    wallet, router, token = request.wallet, quote.dex_route.target, request.sell_token
    reads: list[node_calls.NodeCall[Any]] = [
        node_calls.CHAIN_ID,
        node_calls.latest_block(),
        node_calls.nonce(wallet),
        node_calls.eth_balance(wallet),
        node_calls.token_balance(token, wallet),
    ]
    with suppress(ValueError):  # the checks that follow refuse a router that is no address
        spender = from_any_case(router)
        reads.append(node_calls.allowance(token, wallet, spender, block_name(since)))
        may_approve = request.approval != "never" and request.nonce is None
        if may_approve and not (since or request.batch):
            amount = request.approval_amount
            reads += cost_reads(token, wallet, spender, amount, request.approval)
    if router.lower() == ALLOWANCE_HOLDER.lower():
        reads += reference_price.settler_reads()
    if request.batch:
        reads.append(node_calls.code(wallet))
    if needs_reference(request):
        reads += reference_price.reads(request)
    return [*reads, node_calls.nonce(wallet, "latest")]


def _next_nonce(wallet: str, least: int, polling: PollingPolicy) -> Flow[int]:
    """Return the wallet's next nonce; below `least` a backend of the node may be behind."""
    for _ in range(BACKENDS - 1):
        nonce = yield from perform(node_calls.nonce(wallet))
        if nonce >= least:
            return nonce
        yield Sleep(polling.node_interval_s)
    return (yield from perform(node_calls.nonce(wallet)))


def _is_used(request: SwapRequest) -> Flow[bool]:
    """Return whether the caller's own node shows that the requested nonce is used in a block."""
    if request.nonce is None:
        return False
    with suppress(ClientError):
        next_nonce = yield from perform(node_calls.nonce(request.wallet, "latest"))
        return next_nonce > request.nonce
    return False


def _other_nonce(
    quoted: int | None, wanted: int, request: SwapRequest, *, is_used: bool = False
) -> str:
    if request.nonce is not None:
        text = f"the quote has nonce {quoted}, you asked for {wanted}: not signed"
        if is_used:
            text += f". Your own node shows that nonce {wanted} is used already: without nonce"
            text += " (--nonce) a swap uses the next one"
        return text
    return (
        f"the quote has nonce {quoted}, but the wallet's next is {wanted} by your own node: not"
        " signed. If orders of yours are open, wait until they are decided, or take the service's"
        " word with any_nonce (--any-nonce)"
    )


def check_fee(params: TransactionParams) -> Flow[None]:
    """Refuse a fee cap below the base fee at the caller's own node, or far above it.

    With one below it no block takes the transaction, which holds its nonce. Raises UnsafeQuote.
    """
    base_fee = yield from perform(node_calls.BASE_FEE)
    most = _FEE_MULTIPLE * base_fee + _FEE_HEADROOM
    if not base_fee <= params.max_fee_per_gas <= most:
        raise UnsafeQuote(
            f"the quote's fee cap is {params.max_fee_per_gas} wei per gas, though the base fee is"
            f" {base_fee} by your own node: not signed"
        )


def batched_quote(
    quote: SwapQuoteResponse, request: SwapRequest, allowed: int
) -> Flow[SwapQuoteResponse]:
    """Return the quote with the transaction of its batched form, checked by the service's rules.

    `allowed` is what its router may move already, in smallest units. Raises QuoteDeclined if the
    wallet cannot use it, and UnsafeQuote.
    """
    wallet, params = request.wallet, quote.batch.transaction_params if quote.batch else None
    reason = (
        batch.refused_code((yield from perform(node_calls.code(wallet))))
        or batch.refused_allowance(allowed)
        or (quote.batch.reason if quote.batch and params is None else None)
    )
    if reason is not None or params is None:
        refusal = reason or "the service offers none"
        eth = f", with the {request.batch_conversion}" if request.batch_conversion else ""
        raise QuoteDeclined(f"no approve and swap in one{eth}: {refusal}: not signed")
    if params.nonce != (yield from perform(node_calls.nonce(wallet, "latest"))):
        raise QuoteDeclined(f"no approve and swap in one: {batch.LATER}: not signed")
    if params.nonce != quote.mev_protection.transaction_params.nonce:
        raise UnsafeQuote("the two forms of the quote have different nonces: not signed")
    form = with_params(quote, params)
    is_zeroex = quote.dex_route.target.lower() == ALLOWANCE_HOLDER.lower()
    settlers = (yield from reference_price.read_settlers()) if is_zeroex else frozenset[Address]()
    check_quote(form, request, settlers, batched=True)
    yield from check_fee(params)
    wrapped = int(quote.sell_amount) if request.batch_conversion == "wrap" else 0
    yield from require_eth(params, wallet, wrapped)
    return form


def require_approvable(request: SwapRequest, quote: SwapQuoteResponse, allowed: int) -> None:
    """Check that the request allows an approval of the quote's router, which may move `allowed`.

    Raises QuoteDeclined.
    """
    router, needs = quote.dex_route.target, int(quote.sell_amount)
    if request.approval == "never":
        raise QuoteDeclined(
            f"{router} may move {allowed} of {needs} smallest units of the sell"
            " token, and approval (--approve) is never",
            (request.sell_token, allowed, needs),
        )
    if request.nonce is not None:
        raise QuoteDeclined(
            f"the swap needs an approval first, which would take a nonce too, and only nonce"
            f" {request.nonce} may be signed: once no order of the wallet is open, swap without"
            " nonce (--nonce)"
        )


def require_free_nonces(
    request: SwapRequest, next_nonce: int, polling: PollingPolicy
) -> Flow[None]:
    """Check that no open order has a nonce that an approval and the swap would take.

    With a reset they use up to three from the wallet's `next_nonce` on. Raises QuoteDeclined.
    """
    if not request.replace:
        purpose = "the approval that this swap needs"
        nonces = range(next_nonce, next_nonce + 3)
        yield from require_no_open_order(
            request.wallet, purpose, polling, has_node=True, nonces=nonces
        )
