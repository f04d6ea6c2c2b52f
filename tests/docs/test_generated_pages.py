"""The pages written by tools are what the code says today."""

import re

import click
from tools import cli_page, pages

from quietswap.cli import command
from quietswap.service.server.factories import chosen_sources, request_budget
from quietswap.service.settings import Settings
from tests.deploy.files import DOCS


def test_what_the_pages_have_from_the_code_is_current() -> None:
    for path, text in pages.generated().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run `make pages`"


def test_each_command_names_the_exit_codes_it_can_end_with() -> None:
    """4 and 5 stand where signed bytes are handed over, and the source uses those names."""
    for name, expected in {"swap": {4, 5}, "cancel": {4}, "wrap": {4}, "unwrap": {4}}.items():
        one = command.get_command(click.Context(command), name)
        assert one is not None
        assert set(cli_page.codes(one)) == {0, 1, 2, 3} | expected
        for code in expected:
            assert re.search(rf"\b{code}\s+(that|means)\b", one.help or ""), name
    for name in ("quote", "balances", "keys", "sources"):
        one = command.get_command(click.Context(command), name)
        assert one is not None
        assert not {4, 5} & set(cli_page.codes(one))
    assert command.epilog is not None
    assert all(f"{code} " in command.epilog for code in range(6))


def test_the_page_of_the_speed_begins_with_what_the_vendors_allow() -> None:
    text = (DOCS / "performance.md").read_text("utf-8").partition("| what | figure |")[0]
    settings = Settings()
    budgets = {name: request_budget(settings, name) for name in chosen_sources(settings)}
    for name, budget in budgets.items():
        day = f"{budget.per_day:,}".replace(",", " ") if budget.per_day else "no limit"
        assert f"| `{name}` | {budget.per_second:g} | {day} |" in text
    each = [budget.per_second for budget in budgets.values()]
    assert f"at most {max(each):g} swap quotes a second" in text
    assert f"At most {min(each):g} a second" in text
