"""Reference prices that do not come from the service: Chainlink's, from the caller's own node.

No other check detects a bad price. A hostile service may quote a tenth of the market price, with
calldata that enforces exactly that.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from quietswap.client import node_calls
from quietswap.client.errors.base import NodeRpcError
from quietswap.client.errors.flow import QuoteDeclined
from quietswap.client.flows.effects import Flow, perform, read_clock
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.domain.address import from_any_case
from quietswap.domain.amounts import BPS
from quietswap.domain.quote import price_feeds
from quietswap.domain.token import WETH

MAX_IMPACT_PERCENT = Decimal(3)
"""The default limit of an unattended swap: how far below the reference a quote may be."""
_MOST_DECIMALS = 77


@dataclass(frozen=True, slots=True)
class ReferencePrice:
    """USD per whole token, and the value of the sell amount in smallest units of the buy token."""

    sell_usd: Decimal
    buy_usd: Decimal
    fair_amount: int

    def below_percent(self, quote: SwapQuoteResponse, slippage_bps: int) -> Decimal:
        """Return how far the quote is below the reference, in percent; negative if it is above.

        The amount compared is the minimum output before the slippage is subtracted. `buyAmount` is
        not used, because nothing enforces it.
        """
        meant = Decimal(int(quote.min_buy_amount)) * BPS / (BPS - slippage_bps)
        return 100 * (1 - meant / self.fair_amount)


def find(request: SwapRequest) -> Flow[ReferencePrice | None]:
    """Return the reference of a swap; None if a token has no feed, or a price is stale.

    Also None if a feed contract reverts. Raises the other errors of the node.
    """
    feeds = [
        price_feeds.REFERENCE_FEEDS.get(from_any_case(token))
        for token in (request.sell_token, request.buy_token)
    ]
    prices: list[Decimal] = []
    block_time = yield from perform(node_calls.block_time())
    for feed in feeds:
        if feed is None:
            return None
        data = "0x" + price_feeds.LATEST_ROUND_DATA.hex()
        try:
            answer = yield from perform(node_calls.view(feed.address, data, _octets))
        except NodeRpcError:
            return None
        clock_s = (yield from read_clock()).unix_ms // 1000
        price = price_feeds.usd(feed, answer, block_time=block_time, clock_s=clock_s)
        if price is None:
            return None
        prices.append(price)
    selling = yield from perform(node_calls.decimals(request.sell_token))
    buying = yield from perform(node_calls.decimals(request.buy_token))
    if selling is None or buying is None or max(selling, buying) > _MOST_DECIMALS:
        return None
    sold = Decimal(request.sell_amount).scaleb(-selling)
    fair = int((sold * prices[0] / prices[1]).scaleb(buying))
    return ReferencePrice(prices[0], prices[1], fair) if fair > 0 else None


def compare(quote: SwapQuoteResponse, request: SwapRequest, *, has_node: bool) -> Flow[None]:
    """Read the reference and compare the quote with it. Raises QuoteDeclined."""
    reference = (yield from find(request)) if has_node else None
    require_fair(quote, request, reference)


def require_fair(
    quote: SwapQuoteResponse, request: SwapRequest, reference: ReferencePrice | None
) -> None:
    """Decline a quote that is further below the reference than `max_impact_percent`.

    Without a reference, a quote is declined unless `at_least` is set. Raises QuoteDeclined.
    """
    most = request.max_impact_percent
    if most is not None and reference is None and request.at_least is None:
        raise QuoteDeclined(
            "there is no fresh Chainlink price of both tokens at a node of yours to compare the"
            " quote with: give at_least (--at-least), the smallest amount you would take"
        )
    if reference is None or most is None:
        return
    below = reference.below_percent(quote, request.slippage_bps)
    if below > most:
        raise QuoteDeclined(
            f"the quote is {below:.2f} % below Chainlink's prices at your node, more than {most} %:"
            " sell less at once, or allow more with max_impact_percent (--max-impact)"
        )


def require_fair_with_gas(
    quote: SwapQuoteResponse, request: SwapRequest, gas_used: int | None
) -> Flow[None]:
    """Compare the quote and its gas cost, at the current base fee, with the reference.

    Returns without a comparison if `max_impact_percent`, a reference, Chainlink's ETH price or the
    gas used in a simulation is missing. Raises QuoteDeclined.
    """
    most = request.max_impact_percent
    if most is None or gas_used is None:
        return
    reference = yield from find(request)
    if reference is None:
        return
    ether = yield from find(replace(request, sell_token=WETH, sell_amount=10**18))
    decimals = yield from perform(node_calls.decimals(request.sell_token))
    if ether is None or decimals is None or request.sell_amount <= 0:
        return
    base_fee = yield from perform(node_calls.base_fee())
    gas_usd = Decimal(gas_used * base_fee).scaleb(-18) * ether.sell_usd
    sold_usd = Decimal(request.sell_amount).scaleb(-decimals) * reference.sell_usd
    gas_percent = 100 * gas_usd / sold_usd
    below = reference.below_percent(quote, request.slippage_bps)
    if below + gas_percent > most:
        raise QuoteDeclined(
            f"with its gas, {gas_percent:.2f} % of the amount, it is {below + gas_percent:.2f} %"
            f" below Chainlink's prices at your node, more than {most} %: swap more at once, wait"
            " for a lower base fee, or allow more with max_impact_percent (--max-impact)"
        )


def _octets(result: Any) -> bytes:
    return bytes.fromhex(str(result).removeprefix("0x"))
