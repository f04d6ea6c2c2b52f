"""A price that is not the service's own: Chainlink's, read from the caller's node."""

from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import QuoteDeclined
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.reference_price import ReferencePrice, find
from quietswap.rules.routers.feeds import REFERENCE_FEEDS
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok, swap_quote
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_swap_safety import DAI, never
from tests.response_json import quotes
from tests.stored_orders import USDC

__all__ = ["approved"]

WETH = REQUEST.sell_token
ASKED = replace(REQUEST, max_impact_percent=Decimal(3))
NO_REFERENCE = r"no fresh Chainlink price .* give at_least \(--at-least\)"


def below(percent: int) -> object:
    """Return a quote this far below 3000 USDC, whose calldata enforces what it says."""
    bought = 30_000_000 * (100 - percent)
    return quotes.swap_quote_response(
        swap_quote(buy_amount=bought, min_buy_amount=bought * 995 // 1000)
    )


@pytest.mark.parametrize(
    ("percent", "passes"), [(0, True), (2, True), (3, True), (4, False), (90, False)]
)
def test_a_quote_far_below_it_is_declined(
    do_with_node: Do, service: FakeService, approved: FakeChain, percent: int, passes: bool
) -> None:
    approved.logs = []
    service.next("quote", ok(below(percent)))
    if passes:
        assert do_with_node("swap", ASKED, ACCOUNT).status.status == "confirmed"
        return
    with pytest.raises(QuoteDeclined, match=rf"{percent}.00 % below Chainlink.* more than 3 %"):
        do_with_node("swap", ASKED, never)
    assert service.bodies("order") == []


def test_a_promise_beside_the_minimum_counts_for_nothing(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    """What is compared follows from the minimum that the router enforces."""
    request = replace(ASKED, slippage_bps=5000, max_impact_percent=Decimal(50))
    quote = quotes.swap_quote_response(swap_quote(buy_amount=3 * 10**9, min_buy_amount=15 * 10**8))
    service.next("quote", ok(quote))
    assert do_with_node("swap", replace(request), ACCOUNT).status.status == "confirmed"
    service.next("quote", ok(quote))
    halved = replace(ASKED, slippage_bps=4000)
    with pytest.raises(Exception, match="more slippage than was asked"):
        do_with_node("swap", halved, never)


@pytest.mark.parametrize(
    "trouble",
    [
        {"price_age": 4000},
        {"price_age": -400},
        {"prices": {}},
        {"prices": {REFERENCE_FEEDS[WETH].address: 0, REFERENCE_FEEDS[USDC].address: 1}},
        {"prices": {REFERENCE_FEEDS[WETH].address: -3000, REFERENCE_FEEDS[USDC].address: 1}},
        {"prices": {REFERENCE_FEEDS[WETH].address: 3000}},
        {"decimals": None},
        {"decimals": 78},
    ],
)
def test_without_a_fresh_price_it_is_declined(
    do_with_node: Do, service: FakeService, approved: FakeChain, trouble: dict[str, object]
) -> None:
    for name, value in trouble.items():
        setattr(approved, name, value)
    with pytest.raises(QuoteDeclined, match=NO_REFERENCE):
        do_with_node("swap", ASKED, never)
    floor = replace(ASKED, at_least=2_985_000_000)
    assert do_with_node("swap", floor, ACCOUNT).succeeded


def test_a_node_that_stands_still_is_no_reference(do_with_node: Do, approved: FakeChain) -> None:
    """Its block and its price are of the same hour, but not of this one."""
    approved.time -= 8000
    with pytest.raises(QuoteDeclined, match=NO_REFERENCE):
        do_with_node("swap", ASKED, never)


def test_a_token_without_a_feed(do_with_node: Do, approved: FakeChain) -> None:
    exotic = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"
    request = SwapRequest(exotic, USDC, ETHER, WALLET)
    assert do_with_node("run", find(request, ETHER)) is None


def test_without_a_node_it_is_declined(do: Do, service: FakeService) -> None:
    with pytest.raises(QuoteDeclined, match=NO_REFERENCE):
        do("swap", replace(ASKED, approval="never"), never)
    floor = replace(ASKED, approval="never", at_least=2_985_000_000)
    assert do("swap", floor, ACCOUNT).succeeded


def test_a_floor_does_not_switch_the_comparison_off(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    service.next("quote", ok(below(10)))
    with pytest.raises(QuoteDeclined, match="below Chainlink"):
        do_with_node("swap", replace(ASKED, at_least=1), never)


def test_the_figures(client: QuietswapClient, node: FakeChain) -> None:
    node.prices[REFERENCE_FEEDS[DAI].address] = 1  # type: ignore[index]
    assert client.run(find(REQUEST, ETHER)) == ReferencePrice(3 * 10**9, Decimal(3000))
    back = SwapRequest(USDC, WETH, 1_500_000_000, WALLET)
    assert client.run(find(back, 1_500_000_000)) == ReferencePrice(ETHER // 2, Decimal(1500))
    whole = client.run(find(SwapRequest(WETH, DAI, ETHER, WALLET), ETHER))
    assert whole is not None
    assert whole.fair_amount == 3000 * 10**node.decimals  # type: ignore[operator]


def test_an_amount_that_is_worth_no_smallest_unit_has_no_reference(
    do_with_node: Do, approved: FakeChain
) -> None:
    """One wei of WETH is less than a millionth of a USDC."""
    assert do_with_node("run", find(REQUEST, 1)) is None
