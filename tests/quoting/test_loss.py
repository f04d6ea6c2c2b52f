"""The rule on what a swap or wrap may lose."""

from decimal import Decimal

import pytest

from quietswap.rules.safety.loss import Loss, LossLevel, accepted_bps, judge_swap, judge_wrap
from tests.quoting.loss_table import LOSSES, Row


def judged(row: Row) -> Loss:
    """Return the judgement of a row."""
    return judge_swap(
        impact_percent=None if row.impact is None else Decimal(row.impact),
        slippage_bps=row.slippage_bps,
        net_value_usd=row.net_usd,
        gas_cost_usd=row.gas_usd,
        reference_percent=None if row.below is None else Decimal(row.below),
    )


@pytest.mark.parametrize("name", LOSSES)
def test_the_table(name: str) -> None:
    row = LOSSES[name]
    loss = judged(row)
    assert (loss.level, loss.bps, str(loss)) == (
        row.level,
        row.bps,
        row.causes or f"{row.bps / 100:.2f} %",
    )


@pytest.mark.parametrize(
    ("gas_wei", "level", "bps"),
    [
        (0, "none", 0),
        (1000, "none", 1000),
        (1001, "confirm", 1001),
        (1500, "type", 1500),
        (10**30, "type", 10_000),
    ],
)
def test_a_wrap_loses_its_gas(gas_wei: int, level: str, bps: int) -> None:
    loss = judge_wrap(10_000, gas_wei)
    assert (loss.level, loss.bps) == (level, bps if bps > 1000 else 0)


@pytest.mark.parametrize(("bps", "word"), [(300, "yes"), (1500, "15"), (4769, "48"), (4700, "47")])
def test_what_is_typed(bps: int, word: str) -> None:
    loss = judged(Row(str(Decimal(bps) / 100), 1, "0", None, "", 0, ""))
    assert (loss.bps, loss.word_to_type) == (bps, word)


@pytest.mark.parametrize(
    ("name", "most", "has_floor", "exceeds"),
    [
        ("almost a question", None, False, False),
        ("impact of a question", None, False, True),
        ("impact of a question", "3", False, False),
        ("impact of a question", "2.999", False, True),
        ("impact of a notice", "0.5", False, True),
        ("half of the value", "47.69", False, False),
        ("half of the value", "47.68", True, True),
        ("price unknown", None, False, True),
        ("price unknown", "99", False, True),
        ("price unknown", "100", False, False),
        ("price unknown", None, True, False),
        ("price unknown and slippage", None, True, True),
    ],
)
def test_what_a_caller_accepts(name: str, most: str | None, has_floor: bool, exceeds: bool) -> None:
    accepted = accepted_bps(None if most is None else Decimal(most))
    assert judged(LOSSES[name]).exceeds(accepted, has_floor=has_floor) is exceeds


@pytest.mark.parametrize(
    ("net", "gas", "level"),
    [
        (Decimal(10) ** 60, Decimal("1e-30"), LossLevel.NONE),
        (Decimal(-5), Decimal(5), LossLevel.TYPE),
        (Decimal(0), Decimal(0), LossLevel.TYPE),
        (Decimal(5), Decimal(-1), LossLevel.NONE),
        (Decimal("1e-50"), Decimal(10) ** 18, LossLevel.TYPE),
    ],
)
def test_odd_figures_of_gas(net: Decimal, gas: Decimal, level: LossLevel) -> None:
    loss = judge_swap(
        impact_percent=Decimal(0), slippage_bps=50, net_value_usd=net, gas_cost_usd=gas
    )
    assert loss.level is level
