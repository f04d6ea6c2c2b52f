"""The sandwich in closed form against a brute-force attacker on exact integer pools."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietswap.rules.quotes import mev
from quietswap.rules.quotes.quote import ThreatLevel
from quietswap.rules.tokens.token import WETH
from tests.quoting.exact_sandwich import largest_front_run, sandwich_profit

USDC, USDT = sorted(mev.STABLES)[:2]


def amount_out(amount: int, reserve_in: int, reserve_out: int, fee_bps: int) -> int:
    """Uniswap V2's integer rule with the fee in bps."""
    with_fee = amount * (10_000 - fee_bps)
    return with_fee * reserve_out // (reserve_in * 10_000 + with_fee)


def attack(x: int, y: int, v: int, fee_bps: int, front: int) -> tuple[int, int]:
    """Return (victim's output, attacker's profit) of one front-run, in integers."""
    bought = amount_out(front, x, y, fee_bps)
    x1, y1 = x + front, y - bought
    out = amount_out(v, x1, y1, fee_bps)
    x2, y2 = x1 + v, y1 - out
    return out, amount_out(bought, y2, x2, fee_bps) - front


def brute_front_run(x: int, y: int, v: int, fee_bps: int, slippage_bps: int) -> int:
    """Return the largest front-run after which the victim still gets its minimum."""
    least = amount_out(v, x, y, fee_bps) * (10_000 - slippage_bps) // 10_000
    low, high = 0, x
    while low < high:
        middle = (low + high + 1) // 2
        out, _ = attack(x, y, v, fee_bps, middle)
        low, high = (middle, high) if out >= least else (low, middle - 1)
    return low


@settings(max_examples=150, deadline=None)
@given(
    st.integers(10**12, 10**20),
    st.integers(10**12, 10**20),
    st.integers(10, 1000),
    st.sampled_from([5, 30, 100]),
    st.integers(10, 300),
)
def test_the_closed_form_is_what_brute_force_finds(
    x: int, y: int, share: int, fee_bps: int, slippage_bps: int
) -> None:
    v = x * share // 10_000
    fee, slip = Decimal(fee_bps) / 10_000, Decimal(slippage_bps) / 10_000
    closed = largest_front_run(Decimal(x), Decimal(v), fee, slip)
    brute = brute_front_run(x, y, v, fee_bps, slippage_bps)
    assert abs(closed - brute) <= Decimal(x) / 10**7
    _, profit = attack(x, y, v, fee_bps, brute)
    predicted = sandwich_profit(Decimal(x), Decimal(y), Decimal(v), fee, Decimal(brute))
    assert abs(predicted - profit) <= Decimal(x) / 10**7


@settings(max_examples=150, deadline=None)
@given(st.integers(100, 300), st.sampled_from([5, 30]), st.integers(10, 200))
def test_the_rule_of_thumb_is_within_four_percent_of_the_exact_profit(
    share: int, fee_bps: int, slippage_bps: int
) -> None:
    x = y = 10**24
    v = x * share // 10_000
    fee, slip = Decimal(fee_bps) / 10_000, Decimal(slippage_bps) / 10_000
    front = largest_front_run(Decimal(x), Decimal(v), fee, slip)
    exact = sandwich_profit(Decimal(x), Decimal(y), Decimal(v), fee, front)
    nu = (1 - fee) * v / x
    impact = nu / (1 + nu) + fee
    threat = mev.assess_sandwich(
        value_usd=Decimal(v), impact=impact, fee=fee, slippage=slip, attack_cost=Decimal(0)
    )
    assert threat.attacker_net_usd == pytest.approx(exact, rel=Decimal("0.04"))


def threat(value: str, impact: str, fee: str, slippage: str = "0.005") -> mev.SandwichRisk:
    return mev.assess_sandwich(
        value_usd=Decimal(value),
        impact=Decimal(impact),
        fee=Decimal(fee),
        slippage=Decimal(slippage),
        attack_cost=Decimal("0.9"),
    )


def test_no_attack_pays_while_the_impact_stays_below_the_pool_fee() -> None:
    quiet = threat("100000", "0.004", "0.003")
    assert quiet.level is ThreatLevel.LOW
    assert quiet.loss_usd == 0


def test_the_worked_example_of_the_documentation() -> None:
    grave = threat("30000", "0.01287", "0.003")
    assert grave.level is ThreatLevel.HIGH
    assert grave.loss_usd == 150
    assert grave.attacker_net_usd == pytest.approx(Decimal("104"), abs=Decimal(1))


@pytest.mark.parametrize(
    ("value", "level"), [("900", "LOW"), ("2000", "MEDIUM"), ("30000", "HIGH")]
)
def test_the_level_grows_with_what_is_at_stake(value: str, level: str) -> None:
    assert threat(value, "0.012", "0.003").level == level


def test_wide_slippage_is_high_once_an_attack_pays() -> None:
    assert threat("300", "0.05", "0.003", slippage="0.03").level is ThreatLevel.HIGH


@pytest.mark.parametrize(
    ("value", "impact", "slippage", "level", "loss", "known"),
    [
        (None, "0.012", "0.005", "HIGH", "0", False),
        (None, None, "0.005", "HIGH", "0", False),
        (None, "0.002", "0.005", "LOW", "0", True),
        (None, None, "0", "LOW", "0", True),
        ("30000", None, "0.005", "HIGH", "150", False),
        ("2000", None, "0.005", "HIGH", "10", False),
        ("900", None, "0.005", "LOW", "4.5", False),
        ("100", None, "0.005", "LOW", "0", True),
    ],
)
def test_an_unknown_figure_gives_the_highest_level_that_the_known_ones_allow(
    value: str | None, impact: str | None, slippage: str, level: str, loss: str, known: bool
) -> None:
    found = mev.assess_sandwich(
        value_usd=None if value is None else Decimal(value),
        impact=None if impact is None else Decimal(impact),
        fee=Decimal("0.003"),
        slippage=Decimal(slippage),
        attack_cost=Decimal("0.9"),
    )
    assert (found.level, found.loss_usd, found.known) == (level, Decimal(loss), known)


def test_the_probable_pool_fee_follows_the_pair() -> None:
    assert mev.pool_fee(USDC, USDT) == Decimal("0.0001")
    assert mev.pool_fee(WETH, USDC) == Decimal("0.0005")
    assert mev.pool_fee(WETH, mev.Address("0x" + "11" * 20)) == Decimal("0.003")


def test_the_rebate_is_capped_for_majors_and_zero_for_aligned_venues() -> None:
    value, fee = Decimal(100_000), Decimal("0.0005")
    capped = mev.expected_rebate(value_usd=value, impact=Decimal("0.01"), fee=fee, majors=True)
    free = mev.expected_rebate(value_usd=value, impact=Decimal("0.01"), fee=fee, majors=False)
    none = mev.expected_rebate(value_usd=value, impact=Decimal("0.0008"), fee=fee, majors=False)
    assert capped == 10
    assert free == pytest.approx(Decimal("38.2"), abs=Decimal("0.5"))
    assert none == 0


@pytest.mark.parametrize(
    ("slippage", "front", "exact", "short", "loss"),
    [
        ("0.005", "7577.01", "105.31", "104.86", 150),
        ("0.01", "15211.34", "210.49", "209.73", 300),
        ("0.03", "46336.71", "629.97", "629.19", 900),
    ],
)
def test_the_table_of_the_documentation_is_what_the_code_says(
    slippage: str, front: str, exact: str, short: str, loss: int
) -> None:
    x, y, v, fee = Decimal(3_000_000), Decimal(1000), Decimal(30_000), Decimal("0.003")
    a = largest_front_run(x, v, fee, Decimal(slippage))
    nu = (1 - fee) * v / x
    found = mev.assess_sandwich(
        value_usd=v,
        impact=nu / (1 + nu) + fee,
        fee=fee,
        slippage=Decimal(slippage),
        attack_cost=Decimal(0),
    )
    assert round(a, 2) == Decimal(front)
    assert round(sandwich_profit(x, y, v, fee, a), 2) == Decimal(exact)
    assert round(found.attacker_net_usd, 2) == Decimal(short)
    assert found.loss_usd == loss
    page = (Path(__file__).parents[2] / "docs" / "mev.md").read_text("utf-8").replace(",", "")
    assert f"| {front} | {exact} | {short} | {loss} |" in page
