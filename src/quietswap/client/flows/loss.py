"""What a quote may lose, judged by the service's rule with the client's own figures.

The service's judgement in the quote is not used: a hostile service would call every loss small.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from quietswap.client import node_calls
from quietswap.client.errors.flow import QuoteDeclined
from quietswap.client.flows.effects import Flow, perform
from quietswap.client.flows.quote_checks import SwapRequest, is_accepted
from quietswap.client.flows.reference_price import find, require_fair_with_gas, usd_price
from quietswap.contract.prices import PriceResponse
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.domain.amounts import BPS
from quietswap.domain.quote.loss import CONFIRM_BPS, Loss, accepted_bps, judge_swap, percent
from quietswap.domain.token import WETH

Q = TypeVar("Q")


def judge_quote(
    quote: SwapQuoteResponse | PriceResponse,
    slippage_bps: int,
    reference_percent: Decimal | None = None,
    gas_percent: Decimal | None = None,
) -> Loss:
    """Return the judgement of a quote, or of an indicative price with slippage 0.

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


def recheck_with_gas(
    quote: SwapQuoteResponse, request: SwapRequest, gas_used: int | None
) -> Flow[None]:
    """Judge the quote again with the gas of the trial, at the current base fee.

    Returns without a judgement if a reference, Chainlink's ETH price or the gas is missing. What
    was accepted with the service's figures is not asked again. Raises QuoteDeclined.
    """
    if gas_used is None or not needs_reference(request):
        return
    reference = yield from find(request)
    if reference is None:
        return
    ether = yield from usd_price(WETH)
    if ether is None:
        return
    base_fee = yield from perform(node_calls.base_fee())
    gas_usd = Decimal(gas_used * base_fee).scaleb(-18) * ether
    gas_percent = 100 * gas_usd / reference.sold_usd
    require_fair_with_gas(quote, request, reference, gas_percent)
    below = reference.below_percent(quote, request.slippage_bps)
    before = judge_quote(quote, request.slippage_bps, below)
    now = judge_quote(quote, request.slippage_bps, below, gas_percent)
    if now.bps > before.bps:
        has_floor = request.at_least is not None
        require_consent(now, most_bps(request), quote, request.confirm, has_floor=has_floor)
