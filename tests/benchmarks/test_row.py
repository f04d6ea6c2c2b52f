"""A row of the benchmark: median, spread, goal, and how they are written."""

import pytest

from benchmarks.speed.page import table
from benchmarks.speed.row import Goal, Row, Spread, once, shown

ROUNDS = Spread.of((6.7, 5.8, 6.09, 6.0, 6.2))


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (ROUNDS, "ms", "6.09 ms (5.80–6.70)"),
        (Spread.of((0.7, 0.75, 0.73)), "%", "73 % (70–75)"),
        (Spread.of((1.5, 0.5)), "×", "1.00× (0.50–1.50)"),
        (Spread.of((15_143.2, 9_999.6, 16_000)), "/s", "15 143 /s (10 000–16 000)"),
        (once(55.32), "ms", "55.3 ms"),
        (650, "ms", "650 ms"),
        (-12.34, "ms", "-12.3 ms"),
    ],
)
def test_a_figure_is_shown_with_its_spread(figure: float | Spread, unit: str, text: str) -> None:
    assert shown(figure, unit) == text


@pytest.mark.parametrize(
    ("goal", "is_met"),
    [(Goal(6.1, "ms"), True), (Goal(6.0, "ms"), False), (Goal(6.05, "ms", least=True), True)],
)
def test_a_goal_is_compared_with_the_median(goal: Goal, is_met: bool) -> None:
    assert Row("quote", ROUNDS, "", goal).is_met is is_met


def test_the_kept_figures_have_the_spread() -> None:
    kept = Row("quote", ROUNDS, "beside", Goal(8, "ms")).kept()
    assert {name: kept[name] for name in ("figure", "min", "max", "rounds", "met")} == {
        "figure": 6.09, "min": 5.8, "max": 6.7, "rounds": 5, "met": True,
    }  # fmt: skip


def test_the_table_has_the_spread_beside_the_median() -> None:
    line = table([Row("quote", ROUNDS, "alone 1.00 ms", Goal(6, "ms"))]).splitlines()[-1]
    assert line == "| quote | 6.09 ms (5.80–6.70) | ≤ 6.00 ms | **no** | alone 1.00 ms |"


def test_no_round_is_no_figure() -> None:
    with pytest.raises(ValueError, match="round"):
        Spread.of(())
