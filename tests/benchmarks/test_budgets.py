"""The performance page tells first what the vendors allow, from the service's own defaults."""

from datetime import date
from pathlib import Path

from benchmarks.speed.budgets import default_budgets, limits
from benchmarks.speed.page import page
from quietswap.server.factories import request_budget
from quietswap.settings import Settings, SourceConfig
from quietswap.vendors.vendor import RequestBudget

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def test_the_limits_follow_from_the_budgets() -> None:
    text = limits(
        {"a": RequestBudget(2.5), "b": RequestBudget(0.5, 12_000), "c": RequestBudget(7.0)}
    )
    assert "| `a` | 2.5 | no limit |\n| `b` | 0.5 | 12 000 |\n| `c` | 7 | no limit |" in text
    words = " ".join(text.split())
    assert "at most 7 swap quotes a second, whatever the machine does" in words
    assert "At most 0.5 a second, and at most 12 000 a day, compares all 3 sources." in words


def test_without_a_limit_a_day_none_is_told() -> None:
    assert "a day," not in limits({"a": RequestBudget(1.0)})


def test_settings_take_the_place_of_a_default() -> None:
    own = Settings(source={"velora": SourceConfig(per_second=20.0)})
    usual = request_budget(Settings(), "velora")
    assert request_budget(own, "velora") == RequestBudget(20.0, usual.per_day)
    assert default_budgets()["velora"] == usual


def test_the_page_tells_the_limits_before_the_first_figure() -> None:
    told = limits(default_budgets())
    for text in (page([], 5, date(2026, 11, 23)), PAGE.read_text("utf-8")):
        assert told in text
        assert text.index(told) < text.index("| what | figure |")


def test_the_page_tells_when_it_was_measured() -> None:
    assert "\nMeasured on 2026-11-23. Machine: " in page([], 5, date(2026, 11, 23))
