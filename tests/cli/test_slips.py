"""Slips of a newcomer, and what the command says so that the next try is right."""

from pathlib import Path

import pytest

from quietswap.cli.options.operator import OperatorContext
from tests.cli.conftest import Quietswap


def test_a_misspelt_command(quietswap: Quietswap) -> None:
    result = quietswap("balnces")
    assert result.exit_code == 2
    assert "No such command 'balnces'. Did you mean 'balances'?" in result.stderr


def test_a_word_that_is_like_no_command(quietswap: Quietswap) -> None:
    result = quietswap("frobnicate")
    assert result.exit_code == 2
    assert "No such command 'frobnicate'." in result.stderr
    assert "Did you mean" not in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("swap", "1", "WETH", "USDC", "--max-impact", "nan"),
        ("swap", "1", "WETH", "USDC", "--poll", "inf"),
        ("sandbox", "--block-time", "nan"),
        ("sandbox", "--patience", "nan"),
        ("demo", "--block-time", "nan"),
    ],
)
def test_what_is_no_number_is_outside_every_range(
    quietswap: Quietswap, words: tuple[str, ...]
) -> None:
    *_, option, value = words
    result = quietswap(*words)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': {value} is not in the range" in result.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("swap", "1", "WETH", "USDC", "--at-least", "1,5"), "--at-least: '1,5' is not an amount"),
        (("swap", "1", "WETH", "USDC", "--at-least", "0"), "--at-least: the amount must be"),
        (("swap", "1", "WETH", "USDC", "--max-fee", "x"), "--max-fee: 'x' is not an amount"),
        (("cancel", "ord_1", "--most-fee", "1e3"), "--most-fee: '1e3' is not an amount"),
        (("swap", "1,5", "WETH", "USDC"), "Error: '1,5' is not an amount"),
        (("swap", "9" * 200, "WETH", "USDC"), f"'{'9' * 100}' is not an amount: digits and a"),
    ],
)
def test_an_amount_that_is_none_is_named_with_its_option(
    quietswap: Quietswap, words: tuple[str, ...], named: str
) -> None:
    result = quietswap(*words)
    assert result.exit_code == 2
    assert named in result.stderr


@pytest.mark.parametrize("words", [("keys", "list"), ("orders", "list")])
def test_an_empty_database_is_named(
    quietswap: Quietswap,
    environment: dict[str, str | None],
    tmp_path: Path,
    words: tuple[str, ...],
) -> None:
    """Who forgets the settings looks into a new database, and must be able to see that."""
    url = f"sqlite:///{tmp_path}/new.sqlite3"
    environment["QUIETSWAP_STORAGE__URL"] = url
    result = quietswap(*words)
    assert result.exit_code == 0
    assert url in result.stderr
    assert not list(tmp_path.glob("new.sqlite3*")), "the path may be mistyped"
    environment["QUIETSWAP_STORAGE__URL"] = f"sqlite:///{tmp_path}/nowhere/new.sqlite3"
    assert quietswap(*words).exit_code == 3


def test_a_database_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://someone:secret@db.example:5432/quietswap"
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", url)
    assert OperatorContext(None).url == "postgresql://db.example:5432/quietswap"


def test_looking_without_a_wallet_names_all_three_ways(
    quietswap: Quietswap, environment: dict[str, str | None]
) -> None:
    environment["QUIETSWAP_PRIVATE_KEY"] = None
    said = quietswap("balances").stderr
    for way in ("--wallet", "QUIETSWAP_PRIVATE_KEY", "QUIETSWAP_KEYSTORE"):
        assert way in said
