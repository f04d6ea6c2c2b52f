"""Reference prices that do not come from the service: Chainlink's, from the caller's own node.

No other check detects a bad price. A hostile service may quote a tenth of the market price, with
calldata that enforces exactly that.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quietswap.client import node_calls
from quietswap.client.errors import NodeRpcError, QuoteDeclined
from quietswap.client.flows.effects import Flow, perform, read_clock
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.amounts import BPS, MOST_DECIMALS
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.routers import feeds, settlers
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address, from_any_case


@dataclass(frozen=True, slots=True)
class ReferencePrice:
    """The value of the sell amount, in smallest units of the buy token and in USD."""

    fair_amount: int
    sold_usd: Decimal

    def below_percent(self, quote: SwapQuoteResponse, slippage_bps: int) -> Decimal:
        """Return how far the quote is below the reference, in percent; negative if it is above.

        The amount compared is the minimum output before the slippage is subtracted. `buyAmount` is
        not used, because nothing enforces it.
        """
        promised = Decimal(int(quote.min_buy_amount)) * BPS / (BPS - slippage_bps)
        return 100 * (1 - promised / self.fair_amount)


def find(request: SwapRequest, sell_amount: int) -> Flow[ReferencePrice | None]:
    """Return the reference of a swap of `sell_amount`.

    None if a token has no feed, a price is stale, or a feed contract reverts. Raises the other
    errors of the node.
    """
    prices: list[Decimal] = []
    for token in (request.sell_token, request.buy_token):
        price = yield from usd_price(token)
        if price is None:
            return None
        prices.append(price)
    selling = yield from perform(node_calls.decimals(request.sell_token))
    buying = yield from perform(node_calls.decimals(request.buy_token))
    if selling is None or buying is None or max(selling, buying) > MOST_DECIMALS:
        return None
    sold_usd = Decimal(sell_amount).scaleb(-selling) * prices[0]
    fair = int((sold_usd / prices[1]).scaleb(buying))
    return ReferencePrice(fair, sold_usd) if fair > 0 else None


def reads(request: SwapRequest) -> list[node_calls.NodeCall[Any]]:
    """Return what `find`, and the price of the gas, read beside the latest block."""
    tokens = (request.sell_token, request.buy_token)
    return [
        *feed_reads(*tokens, WETH),
        *(node_calls.decimals(token) for token in tokens),
    ]


def feed_reads(*tokens: str) -> list[node_calls.NodeCall[bytes]]:
    """Return the calls of the feeds of those tokens that have one."""
    prices = (feeds.REFERENCE_FEEDS.get(from_any_case(token)) for token in tokens)
    return [_view(feed.address, feeds.LATEST_ROUND_DATA) for feed in prices if feed is not None]


def usd_price(token: str) -> Flow[Decimal | None]:
    """Return USD per whole token; None without a feed, or if its price is stale or not readable."""
    feed = feeds.REFERENCE_FEEDS.get(from_any_case(token))
    if feed is None:
        return None
    block_time = yield from perform(node_calls.BLOCK_TIME)
    answer = yield from _read(feed.address, feeds.LATEST_ROUND_DATA)
    clock_s = (yield from read_clock()).unix_ms // 1000
    return feeds.usd(feed, answer, block_time=block_time, clock_s=clock_s)


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
    quote: SwapQuoteResponse, request: SwapRequest, reference: ReferencePrice, gas_percent: Decimal
) -> None:
    """Decline a quote that is too far below the reference with the gas it costs.

    `gas_percent` of the sold value. Raises QuoteDeclined.
    """
    most = request.max_impact_percent
    below = reference.below_percent(quote, request.slippage_bps)
    if most is not None and below + gas_percent > most:
        raise QuoteDeclined(
            f"with its gas, {gas_percent:.2f} % of the amount, it is {below + gas_percent:.2f} %"
            f" below Chainlink's prices at your node, more than {most} %: swap more at once, wait"
            " for a lower base fee, or allow more with max_impact_percent (--max-impact)"
        )


def settler_reads() -> list[node_calls.NodeCall[bytes]]:
    """Return the calls of `read_settlers`."""
    return [_view(settlers.DEPLOYER, data) for data in (settlers.OWNER_OF, settlers.PREV)]


def read_settlers() -> Flow[frozenset[Address]]:
    """Return 0x's current and previous Settler; empty if its Deployer names none."""
    owner = yield from _read(settlers.DEPLOYER, settlers.OWNER_OF)
    previous = yield from _read(settlers.DEPLOYER, settlers.PREV)
    return settlers.genuine(owner, previous)


def _read(contract: str, data: bytes) -> Flow[bytes | None]:
    """Return what a view function returns; None if it reverts."""
    try:
        return (yield from perform(_view(contract, data)))
    except NodeRpcError:
        return None


def _view(contract: str, data: bytes) -> node_calls.NodeCall[bytes]:
    return node_calls.view(contract, data, bytes)
