"""The ranking: what the user nets, deterministically."""

from decimal import Decimal

import pytest
from msgspec import structs

from quietswap.rules.quotes.quote import Route, VerificationStatus
from quietswap.rules.quotes.scoring import (
    Candidate,
    PricingContext,
    UsdRates,
    first_approval_gas,
    gas_price_in_buy_token,
    impact_percent,
    rank,
    score,
    without_contradicted_prices,
)
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import METHODS
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address

USDC = Token(Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), 6, "USDC")
ETHER = Token(WETH, 18, "WETH")
ODD = Token(Address("0x" + "11" * 20), 9, "ODD")
ROUTER = Address("0x" + "22" * 20)
GWEI = 10**9
RATES = UsdRates(Decimal(3000), Decimal(3000), Decimal(1))


def gas_in_buy_token(entry: Candidate, found: PricingContext) -> Decimal:
    per_gas = gas_price_in_buy_token([entry], found)
    assert per_gas is not None
    return entry.gas * per_gas


def candidate(
    source: str,
    promised: int,
    simulated: int | None,
    gas: int = 200_000,
    *,
    target: Address = ROUTER,
    data: bytes = b"",
) -> Candidate:
    route = Route(
        source=source, dex=source, target=target, spender=ROUTER, value=0, data=data,
        path=(WETH, USDC.address), buy_amount=promised, min_buy_amount=1, gas=None,
        impact_percent=None,
    )  # fmt: skip
    kind = VerificationStatus.UNVERIFIED if simulated is None else VerificationStatus.VERIFIED
    return Candidate(route, kind, simulated, gas)


def market(rates: UsdRates = RATES, sell: Token = ETHER, buy: Token = USDC) -> PricingContext:
    return PricingContext(sell, 10**18, buy, rates, 10 * GWEI)


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


def test_an_approval_that_is_missing_costs_its_gas() -> None:
    """46,000 gas at 10 gwei and 3000 USD are 1.38 USD: more than the one route is better by."""
    other = Address("0x" + "33" * 20)
    kept = candidate("kept", 3000_000000, 3000_000000)
    better = candidate("better", 3001_000000, 3001_000000, target=other)
    far_better = candidate("far better", 3002_000000, 3002_000000, target=other)
    assert names(rank([kept, better], market(), {ROUTER})) == ["kept", "better"]
    assert names(rank([kept, far_better], market(), {ROUTER})) == ["far better", "kept"]
    for approved in (set(), {ROUTER, other}):
        assert names(rank([kept, better], market(), approved)) == ["better", "kept"]


def test_an_approval_makes_a_dearer_slot_after_the_fork() -> None:
    """134,000 gas at 10 gwei and 3000 USD are 4.02 USD (EIP-8037)."""
    other = Address("0x" + "33" * 20)
    kept = candidate("kept", 3000_000000, 3000_000000)
    better = candidate("better", 3004_000000, 3004_000000, target=other)
    after = structs.replace(market(), approval_gas=first_approval_gas(is_amsterdam=True))
    assert names(rank([kept, better], market(), {ROUTER})) == ["better", "kept"]
    assert names(rank([kept, better], after, {ROUTER})) == ["kept", "better"]


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
    odd = PricingContext(USDC, 3000_000000, ODD, rates, 10 * GWEI)
    entry = candidate("a", 1000 * 10**9, 1000 * 10**9, gas=100_000)
    assert round(gas_in_buy_token(entry, odd)) == 10**9  # 3 USD of 3000 is a thousandth


def test_a_promise_nobody_checked_never_beats_a_checked_one() -> None:
    unchecked = candidate("unchecked", 9000_000000, None)
    assert names(rank([unchecked, candidate("a", 3000_000000, 3000_000000)], market())) == [
        "a",
        "unchecked",
    ]


def test_ties_go_to_less_gas_then_to_the_configured_order() -> None:
    free = PricingContext(ETHER, 10**18, USDC, RATES, 0)
    first, second = candidate("first", 10, 10), candidate("second", 10, 10)
    lean = candidate("lean", 10, 10, gas=100_000)
    assert names(rank([first, second, lean], free)) == ["lean", "first", "second"]


def test_the_score_is_null_without_a_price() -> None:
    entry = candidate("a", 3000_000000, 3000_000000, gas=100_000)
    assert score(entry, market()).net_value_usd == 2997
    unknown = score(entry, market(UsdRates(None, None, None)))
    assert unknown.net_value_usd is None
    assert unknown.gas_cost_usd is None


def test_price_impact_is_the_larger_of_claim_and_computation() -> None:
    assert impact_percent(Decimal("0.3"), Decimal(100), Decimal(50)) == 50
    assert impact_percent(Decimal(60), Decimal(100), Decimal(50)) == 60
    assert impact_percent(Decimal("0.3"), Decimal(100), Decimal(101)) == Decimal("0.3")
    assert impact_percent(None, Decimal(3000), Decimal(2970)) == 1
    assert impact_percent(None, Decimal(3000), Decimal(3010)) == 0
    assert impact_percent(None, None, Decimal(1)) is None
    assert impact_percent(None, Decimal(1), Decimal(0)) == 100


@pytest.mark.parametrize("claim", ["-0.1", "0", "0.3", "100"])
def test_a_claim_alone_never_makes_the_price_impact_known(claim: str) -> None:
    assert impact_percent(Decimal(claim), None, Decimal(50)) is None
    assert impact_percent(Decimal(claim), Decimal(0), Decimal(50)) is None
    assert impact_percent(Decimal(claim), Decimal(50), None) is None


@pytest.mark.parametrize("claim", ["-0.1", "-1e30", "100.1", "1e30"])
def test_a_claim_outside_of_all_impacts_is_none(claim: str) -> None:
    assert impact_percent(Decimal(claim), Decimal(100), Decimal(50)) == 50
    assert impact_percent(Decimal(claim), Decimal(100), Decimal(101)) == 0


def test_an_unchecked_promise_far_above_the_others_comes_last() -> None:
    honest = [candidate(name, 2990_000000 + place, None) for place, name in enumerate("abc")]
    liar = candidate("liar", 5980_000000, None)
    assert names(rank([liar, *honest], market())) == ["c", "b", "a", "liar"]


def test_of_two_unchecked_promises_nobody_can_tell_the_liar() -> None:
    pair = [candidate("a", 2990_000000, None), candidate("b", 5980_000000, None)]
    assert names(rank(pair, market())) == ["b", "a"]


@pytest.mark.parametrize("factor", [100, 10_000, Decimal("0.01"), Decimal("0.0001")])
@pytest.mark.parametrize("side", ["sell", "buy"])
def test_one_false_price_never_makes_gas_outrank_output(side: str, factor: Decimal) -> None:
    """ODD for USDC, 1 to 1. The better route takes 200,000 gas more: 6 USD, and brings 30 more."""
    honest = {"sell": Decimal(1), "buy": Decimal(1)}
    rates = UsdRates(Decimal(3000), **(honest | {side: honest[side] * factor}))
    found = PricingContext(ODD, 3000 * 10**9, USDC, rates, 10 * GWEI)
    better = candidate("better", 3000_000000, 3000_000000, gas=400_000)
    worse = candidate("worse", 2970_000000, 2970_000000, gas=200_000)
    assert names(rank([worse, better], found)) == ["better", "worse"]


def test_prices_that_agree_with_the_rate_still_weigh_gas() -> None:
    found = PricingContext(
        ODD, 3000 * 10**9, USDC, UsdRates(Decimal(3000), Decimal(1), Decimal(1)), 10**10
    )
    cheap = candidate("cheap", 3000_000000, 3000_000000, gas=100_000)
    dear = candidate("dear", 3005_000000, 3005_000000, gas=400_000)
    assert names(rank([dear, cheap], found)) == ["cheap", "dear"]


def test_where_gas_has_no_price_the_least_gas_of_nearly_equal_outputs_wins() -> None:
    """A hundredth of a bps more of an unknown token does not buy 16 million gas."""
    unknown = PricingContext(ODD, 10**18, USDC, UsdRates(None, None, None), 10 * GWEI)
    greedy = candidate("greedy", 3000_000300, 3000_000300, gas=16_000_000)
    lean = candidate("lean", 2985_000299, 2985_000299, gas=150_000)
    beyond = candidate("beyond", 2985_000298, 2985_000298, gas=100_000)
    same = candidate("same", 2990_000000, 2990_000000, gas=150_000)
    assert gas_price_in_buy_token([greedy], unknown) is None
    ranked = names(rank([greedy, beyond, lean, same], unknown))
    assert ranked == ["same", "lean", "greedy", "beyond"]


def test_a_promise_nobody_checked_does_not_say_what_is_near() -> None:
    unknown = PricingContext(ODD, 10**18, USDC, UsdRates(None, None, None), 10 * GWEI)
    liar = candidate("liar", 9000_000000, None)
    greedy = candidate("greedy", 3000_000001, 3000_000001, gas=16_000_000)
    lean = candidate("lean", 3000_000000, 3000_000000)
    assert names(rank([liar, greedy, lean], unknown)) == ["lean", "greedy", "liar"]


def test_prices_that_are_not_believed_still_weigh_gas() -> None:
    """The lower of the two figures counts: 200,000 gas are 6 USD, at least 0.06 of the token."""
    rates = UsdRates(Decimal(3000), Decimal(1), Decimal(100))
    read = PricingContext(ODD, 3000 * 10**9, USDC, rates, 10 * GWEI)
    dear = candidate("dear", 3000_010000, 3000_010000, gas=16_000_000)
    cheap = candidate("cheap", 3000_000000, 3000_000000, gas=100_000)
    assert without_contradicted_prices(read, [dear, cheap]).rates.buy is None
    assert names(rank([dear, cheap], read)) == ["cheap", "dear"]


def test_where_weth_is_sold_no_price_weighs_gas() -> None:
    """The swap's own rate tells: a false price of the bought token changes nothing."""
    entry = candidate("a", 3000_000000, 3000_000000, gas=100_000)
    lying = market(UsdRates(Decimal(3000), Decimal(3000), Decimal("0.001")))
    assert round(gas_in_buy_token(entry, lying)) == 3_000000


def test_prices_that_make_the_swap_a_gift_are_not_believed() -> None:
    """What is worth 3000 USD does not sell for 300,000: one of the prices is false."""
    entry = candidate("a", 3000_000000, 3000_000000)
    gift = market(UsdRates(Decimal(3000), Decimal(3000), Decimal(100)))
    assert without_contradicted_prices(gift, [entry]).rates == UsdRates(Decimal(3000), None, None)
    assert without_contradicted_prices(market(), [entry]).rates == RATES


def test_prices_that_make_the_swap_ruinous_are_kept_to_warn() -> None:
    entry = candidate("a", 300_000000, 300_000000)
    assert without_contradicted_prices(market(), [entry]).rates == RATES


def test_a_single_price_cannot_be_contradicted() -> None:
    entry = candidate("a", 3000_000000, 3000_000000)
    alone = UsdRates(Decimal(3000), None, Decimal(100))
    assert without_contradicted_prices(market(alone), [entry]).rates == alone


def test_nothing_is_ranked_where_nothing_came() -> None:
    assert rank([], market()) == []


@pytest.mark.parametrize("rates", [RATES, UsdRates(None, None, None)])
def test_between_equal_outputs_a_router_that_measures_itself_comes_first(rates: UsdRates) -> None:
    """A payout that the wallet is owed anyway satisfies only a check of the wallet's balance."""
    of = {
        kind: next(key for key, row in METHODS.items() if row.measure is kind) for kind in Measure
    }
    wallet, itself = (
        candidate(kind.value, 10**9, 10**9, target=of[kind][0], data=bytes.fromhex(of[kind][1]))
        for kind in (Measure.RECIPIENT, Measure.SELF)
    )
    assert names(rank([wallet, itself], market(rates))) == ["self", "recipient"]
    better = structs.replace(
        wallet, route=structs.replace(wallet.route, buy_amount=10**9 + 1), simulated=10**9 + 1
    )
    assert names(rank([itself, better], market(rates))) == ["recipient", "self"]
