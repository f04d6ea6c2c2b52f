"""The ranking: what the user nets, deterministically."""

from decimal import Decimal

import pytest

from quietswap.domain.address import Address
from quietswap.domain.impact import impact_percent
from quietswap.domain.quote import Verification
from quietswap.domain.route import Route
from quietswap.domain.scoring import Candidate, Market, UsdRates, gas_in_buy_token, rank, score
from quietswap.domain.token import WETH, Token

USDC = Token(Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), 6, "USDC")
ETHER = Token(WETH, 18, "WETH")
ODD = Token(Address("0x" + "11" * 20), 9, "ODD")
ROUTER = Address("0x" + "22" * 20)
GWEI = 10**9
RATES = UsdRates(Decimal(3000), Decimal(3000), Decimal(1))


def candidate(source: str, promised: int, simulated: int | None, gas: int = 200_000) -> Candidate:
    route = Route(
        source=source, dex=source, target=ROUTER, spender=ROUTER, value=0, data=b"",
        path=(WETH, USDC.address), buy_amount=promised, min_buy_amount=1, gas=None,
        impact_percent=None,
    )  # fmt: skip
    kind = Verification.UNVERIFIED if simulated is None else Verification.VERIFIED
    return Candidate(route, kind, simulated, gas)


def market(rates: UsdRates = RATES, sell: Token = ETHER, buy: Token = USDC) -> Market:
    return Market(sell, 10**18, buy, rates, 10 * GWEI)


def names(ranked: list[Candidate]) -> list[str]:
    return [entry.route.source for entry in ranked]


def test_a_liar_is_ranked_by_what_it_delivers() -> None:
    liar, honest = (
        candidate("liar", 6000_000000, 2990_000000),
        candidate("a", 3000_000000, 3000_000000),
    )
    assert names(rank([liar, honest], market())) == ["a", "liar"]
    assert liar.worth == 2990_000000


def test_an_underpromise_is_not_counted_above_its_promise() -> None:
    assert candidate("a", 100, 120).worth == 100


def test_gas_money_decides_between_close_amounts() -> None:
    # 300,000 gas more at 10 gwei and 3000 USD is 9 USD
    cheap = candidate("cheap", 3000_000000, 3000_000000, gas=100_000)
    dear = candidate("dear", 3005_000000, 3005_000000, gas=400_000)
    assert names(rank([dear, cheap], market())) == ["cheap", "dear"]


@pytest.mark.parametrize(
    "rates",
    [
        RATES,
        UsdRates(Decimal(3000), Decimal(3000), None),
        UsdRates(None, None, None),
    ],
)
def test_gas_is_converted_by_price_or_by_the_quotes_own_rate(rates: UsdRates) -> None:
    entry = candidate("a", 3000_000000, 3000_000000, gas=100_000)
    # 100,000 x 10 gwei = 0.001 ETH = 3 USDC
    assert round(gas_in_buy_token(entry, market(rates))) == 3_000000


def test_gas_is_wei_when_weth_is_bought() -> None:
    entry = candidate("a", 10**18, 10**18, gas=100_000)
    assert gas_in_buy_token(entry, market(sell=USDC, buy=ETHER)) == 10**15


def test_gas_goes_through_the_sell_token_when_only_that_has_a_price() -> None:
    rates = UsdRates(Decimal(3000), Decimal(1), None)
    odd = Market(USDC, 3000_000000, ODD, rates, 10 * GWEI)
    entry = candidate("a", 1000 * 10**9, 1000 * 10**9, gas=100_000)
    assert round(gas_in_buy_token(entry, odd)) == 10**9  # 3 USD of 3000 is a thousandth


def test_a_promise_nobody_checked_never_beats_a_checked_one() -> None:
    unchecked = candidate("unchecked", 9000_000000, None)
    assert names(rank([unchecked, candidate("a", 3000_000000, 3000_000000)], market())) == [
        "a",
        "unchecked",
    ]


def test_ties_go_to_less_gas_then_to_the_configured_order() -> None:
    free = Market(ETHER, 10**18, USDC, RATES, 0)
    first, second = candidate("first", 10, 10), candidate("second", 10, 10)
    lean = candidate("lean", 10, 10, gas=100_000)
    assert names(rank([first, second, lean], free)) == ["lean", "first", "second"]


def test_the_score_is_null_without_a_price() -> None:
    entry = candidate("a", 3000_000000, 3000_000000, gas=100_000)
    assert score(entry, market()).net_value_usd == 2997
    unknown = score(entry, market(UsdRates(None, None, None)))
    assert unknown.net_value_usd is None
    assert unknown.gas_cost_usd is None


def test_price_impact_prefers_the_sources_own_figure() -> None:
    assert impact_percent(Decimal("0.3"), Decimal(100), Decimal(50)) == Decimal("0.3")
    assert impact_percent(None, Decimal(3000), Decimal(2970)) == 1
    assert impact_percent(None, Decimal(3000), Decimal(3010)) == 0
    assert impact_percent(Decimal("-0.1"), None, None) == 0
    assert impact_percent(None, None, Decimal(1)) is None


def test_an_unchecked_promise_far_above_the_others_comes_last() -> None:
    honest = [candidate(name, 2990_000000 + place, None) for place, name in enumerate("abc")]
    liar = candidate("liar", 5980_000000, None)
    assert names(rank([liar, *honest], market())) == ["c", "b", "a", "liar"]


def test_of_two_unchecked_promises_nobody_can_tell_the_liar() -> None:
    pair = [candidate("a", 2990_000000, None), candidate("b", 5980_000000, None)]
    assert names(rank(pair, market())) == ["b", "a"]
