"""Clients, keys, limits and the audit log, as an administrator types them."""

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.operator_commands import Run, told

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
NATIVE = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
HOUR_MS = 3_600_000


def test_a_client_with_two_keys(operate: Run) -> None:
    client = told(operate("clients", "create", "acme", "--json"))
    assert client["id"].startswith("client_")
    trade = told(operate("keys", "create", "--client", "acme", "--json"))
    read = told(
        operate(
            "keys", "create", "--client", client["id"], "--name", "board", "--scope", "read",
            "--expires", "90d", "--json",
        )
    )  # fmt: skip
    assert (trade["scope"], trade["expiresAt"], trade["clientName"]) == ("trade", None, "acme")
    assert (read["scope"], read["clientId"]) == ("read", client["id"])
    assert read["expiresAt"] - read["createdAt"] == pytest.approx(90 * 24 * HOUR_MS, abs=HOUR_MS)
    header, *lines = operate("keys", "list", "--client", "acme").stdout.splitlines()
    assert header.split("  ")[0] == "key"
    assert {"state", "scope", "created", "expires", "last use"} <= {
        name.strip() for name in header.split("  ")
    }
    assert [line.split()[:3] for line in lines] == [
        [trade["id"], "live", "trade"],
        [read["id"], "live", "read"],
    ]
    assert lines[0].endswith("never")
    [shown] = told(operate("clients", "list", "--json"))
    assert (shown["name"], shown["keys"]) == ("acme", 2)
    assert set(told(operate("clients", "show", "acme", "--json"))["keys"]) == {
        trade["id"],
        read["id"],
    }


def test_a_key_without_a_client_gets_one_of_its_name(operate: Run) -> None:
    first = told(operate("keys", "create", "--name", "bot", "--json"))
    second = told(operate("keys", "create", "--name", "bot", "--json"))
    assert first["clientId"] != second["clientId"]
    said = operate("keys", "create", "--client", "bot", code=1).stderr
    assert first["clientId"] in said
    assert second["clientId"] in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("clients", "show", "nobody"), "there is no client nobody: see quietswap clients list"),
        (("clients", "limit", "nobody"), "there is no client nobody"),
        (("clients", "disable", "nobody"), "there is no client nobody"),
        (("clients", "create", "acme"), "a client acme exists already"),
        (("clients", "enable", "acme"), "is enabled already"),
        (("keys", "create", "--client", "nobody"), "there is no client nobody"),
        (("keys", "revoke", "key_none"), "there is no live key key_none"),
    ],
)
def test_what_cannot_be_done(operate: Run, words: tuple[str, ...], said: str) -> None:
    operate("clients", "create", "acme")
    assert said in operate(*words, code=1).stderr
    events = [entry["event"] for entry in told(operate("audit", "list", "--json"))]
    assert events == ["client_created"], "what changed nothing is not recorded"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("keys", "create", "--expires", "2020-01-01"), "is over already"),
        (("keys", "create", "--expires", "soon"), "neither 30m, 12h, 7d nor"),
        (("keys", "create", "--scope", "write"), "is not one of"),
        (("keys", "rotate", "key_1", "--overlap", "long"), "is no span"),
        (("clients", "create", " acme"), "no space at its ends"),
        (("clients", "create", "a\x1bb"), "1 to 100 characters"),
        (("clients", "create", "acme\u202egpj"), "all printable"),
        (("keys", "create", "--name", "a\u2066b"), "all printable"),
        (("keys", "rotate", "key_1", "--overlap", "3651d"), "at most 3650d"),
        (("keys", "rotate", "key_1", "--overlap", "\u0663h"), "is no span"),
        (("clients", "limit", "acme", "--open-orders", "\u0663"), "neither a whole number"),
        (("clients", "limit", "acme", "--usd-per-day", "\u0663"), "neither an amount of USD"),
        (("clients", "limit", "acme", "--token", NATIVE), "no token"),
        (("clients", "limit", "acme", "--token", "0x" + "0" * 40), "no token"),
        (("clients", "limit", "acme", "--open-orders", "-1"), "neither a whole number"),
        (("clients", "limit", "acme", "--usd-per-day", "1.234"), "neither an amount of USD"),
        (("clients", "limit", "acme", "--wallet", "0x12"), "is no wallet address"),
        (("clients", "limit", "acme", "--token", "NOPE"), "neither a symbol nor an address"),
        (("clients", "limit", "acme", "--remove-wallet", WALLET), "is not on the list"),
        (("clients", "limit", "acme", "--any-wallet", "--wallet", WALLET), "no other wallet"),
        (("audit", "list", "--since", "yesterday"), "neither 30m, 12h, 7d nor"),
    ],
)
def test_what_cannot_be_meant(operate: Run, words: tuple[str, ...], said: str) -> None:
    operate("clients", "create", "acme")
    assert said in operate(*words, code=2).stderr


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("clients", "create", "\udcff"), 3),
        (("clients", "show", "a\udcff"), 3),
        (("keys", "create", "--name", "\udcff", "--json"), 4),
    ],
)
def test_an_argument_that_is_not_utf_8_is_a_usage_error(
    operate: Run, words: tuple[str, ...], place: int
) -> None:
    done = operate(*words, code=2)
    assert f"argument {place} is not text in UTF-8" in done.output
    if "--json" in words:
        assert told(done)["error"] == "USAGE"


def test_eth_that_an_older_release_put_on_the_list_can_be_taken_off(
    operate: Run, tmp_path: Path
) -> None:
    client = told(operate("clients", "create", "acme", "--json"))["id"]
    operate("clients", "limit", "acme", "--token", "USDC")
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        tokens = json.dumps([USDC, NATIVE])
        connection.execute("UPDATE client_limits SET tokens = ?", (tokens,))
        connection.commit()
    after = told(operate("clients", "limit", client, "--remove-token", NATIVE, "--json"))
    assert after["tokens"] == [USDC]


def test_limits_are_set_one_by_one_and_removed(operate: Run) -> None:
    def limit(*words: str, code: int = 0) -> Any:
        done = operate("clients", "limit", "acme", *words, "--json", code=code)
        return told(done) if code == 0 else done.stderr

    operate("clients", "create", "acme")
    assert set(map(str, limit().values())) == {"None", "[]"}
    limit("--requests-per-minute", "600", "--quotes-per-day", "10", "--open-orders", "5")
    after = limit("--usd-per-swap", "2500", "--usd-per-day", "99.5", "--token", "usdc")
    assert after == {
        "requestsPerMinute": 600,
        "quotesPerDay": 10,
        "openOrders": 5,
        "usdPerSwap": "2500.00",
        "usdPerDay": "99.50",
        "wallets": [],
        "tokens": [USDC],
    }
    assert limit("--wallet", WALLET.lower())["wallets"] == [WALLET]
    assert len(limit("--token", "WETH")["tokens"]) == 2
    assert limit("--remove-token", "WETH")["tokens"] == [USDC]
    assert "--any-token if that is meant" in limit("--remove-token", "USDC", code=2)
    after = limit("--any-token", "--usd-per-day", "none", "--open-orders", "0")
    assert (after["tokens"], after["usdPerDay"], after["openOrders"]) == ([], None, 0)
    assert told(operate("clients", "show", "acme", "--json"))["limits"] == after
    assert limit() == after


def test_parallel_commands_lose_no_limit(operate: Run) -> None:
    operate("clients", "create", "acme")
    wallets = [f"0x{number:040x}" for number in range(1, 5)]
    command = [sys.executable, "-m", "quietswap", "clients", "limit", "acme", "--wallet"]
    started = [subprocess.Popen([*command, wallet], stdout=subprocess.PIPE) for wallet in wallets]
    for process in started:
        process.communicate()
        assert process.returncode == 0
    assert told(operate("clients", "show", "acme", "--json"))["limits"]["wallets"] == wallets


def test_a_disabled_client_gets_no_key(operate: Run) -> None:
    operate("clients", "create", "acme")
    key = told(operate("keys", "create", "--client", "acme", "--json"))
    assert "is disabled" in operate("clients", "disable", "acme").stdout
    assert "is disabled" in operate("keys", "create", "--client", "acme", code=1).stderr
    assert "is disabled already" in operate("clients", "disable", "acme", code=1).stderr
    [line] = operate("keys", "list").stdout.splitlines()[1:]
    assert line.split()[:2] == [key["id"], "disabled"]
    operate("clients", "enable", "acme")
    operate("keys", "create", "--client", "acme")


def test_every_change_is_in_the_audit_log_and_no_secret(operate: Run) -> None:
    client = told(operate("clients", "create", "acme", "--json"))
    key = told(operate("keys", "create", "--client", "acme", "--json"))
    new = told(operate("keys", "rotate", key["id"], "--json"))
    operate("keys", "revoke", key["id"])
    operate("clients", "limit", "acme", "--open-orders", "5")
    operate("clients", "limit", "acme", "--open-orders", "5")  # changes nothing
    operate("clients", "disable", "acme")
    operate("clients", "enable", "acme")
    entries = told(operate("audit", "list", "--since", "1h", "--json"))
    assert [entry["event"] for entry in entries] == [
        "client_created",
        "key_created",
        "key_rotated",
        "key_revoked",
        "client_limited",
        "client_disabled",
        "client_enabled",
    ]
    assert all(entry["actor"]["user"] and entry["actor"]["host"] for entry in entries)
    assert entries[2]["details"]["old"] == key["id"]
    assert entries[4]["details"] == {
        "client": client["id"],
        "openOrders": {"from": None, "to": 5},
    }
    text = json.dumps(entries) + operate("audit", "list").stdout
    assert key["key"] not in text
    assert new["key"] not in text
    assert told(operate("audit", "list", "--since", "2999-01-01", "--json")) == []
    latest = operate("audit", "list", "--limit", "2", "--json")
    assert [entry["event"] for entry in told(latest)] == ["client_disabled", "client_enabled"]
    assert "there are more" in latest.stderr


def test_the_audit_log_shows_times_that_people_read(operate: Run) -> None:
    words = ("keys", "create", "--expires", "2099-01-31T08:30:15")
    key = told(operate(*words, "--json"))
    operate("keys", "create", "--name", "lasting")
    shown = operate("audit", "list").stdout.splitlines()
    assert '"expiresAt": "2099-01-31T08:30:15Z"' in shown[1]
    assert '"expiresAt": null' in shown[2]
    operate("keys", "rotate", key["id"])
    rotated = operate("audit", "list").stdout.splitlines()[-1]
    assert re.search(r'"oldExpiresAt": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', rotated)
    first = told(operate("audit", "list", "--json"))[0]
    assert first["details"]["expiresAt"] == key["expiresAt"]


def test_orders_of_a_client_are_searched_by_its_name(operate: Run) -> None:
    key = told(operate("keys", "create", "--name", "bot", "--json"))
    for words in (("--client", "bot"), ("--client", key["clientId"]), ("--key", key["id"])):
        assert told(operate("orders", "list", *words, "--json")) == []
    assert (
        "give one of them"
        in operate("orders", "list", "--client", "bot", "--key", key["id"], code=2).stderr
    )
    operate("orders", "list", "--client", "nobody", code=1)


def test_the_database_refuses_to_change_the_audit_log(operate: Run, tmp_path: Path) -> None:
    operate("clients", "create", "acme")
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        columns = "at_ms, actor, event, details FROM audit_log"
        other_id = "REPLACE INTO audit_log (rowid, id, at_ms, actor, event, details)"
        for sql in (
            "UPDATE audit_log SET event = 'x'",
            "DELETE FROM audit_log",
            f"INSERT OR REPLACE INTO audit_log SELECT id, {columns}",
            f"{other_id} SELECT rowid, 'aud_x', {columns}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(sql)
    operate("clients", "create", "other")
    assert len(told(operate("audit", "list", "--json"))) == 2


def test_a_visitor_of_the_wallet_page_gets_no_key(operate: Run, tmp_path: Path) -> None:
    operate("clients", "create", "acme")
    with closing(sqlite3.connect(tmp_path / "own.db")) as database:
        database.execute("UPDATE clients SET id = 'web_0011223344556677'")
        database.commit()
    done = operate("keys", "create", "--client", "web_0011223344556677", code=1)
    assert "a visitor's session of the wallet page" in done.stderr
    assert "keys create" not in operate("clients", "show", "web_0011223344556677").stdout
