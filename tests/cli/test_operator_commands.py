"""What an operator looks at when something is wrong: sources, orders, keys, on a live service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from quietswap.cli.commands.orders import _row
from quietswap.cli.demo_sandbox import SandboxInfo
from tests import loopback
from tests import stored_orders as made
from tests.cli.sandbox_process import Piped, environment, run_command
from tests.waiting import LONG_S, wait_until

pytestmark = pytest.mark.xdist_group("live-cli")
WALLET = 7


def operate(town: SandboxInfo, *words: str, code: int = 0) -> str:
    """Run a command on the sandbox's own settings and database; return what it printed."""
    env = environment(town, WALLET) | {"QUIETSWAP_SETTINGS": town.settings_file}
    done = run_command(words, env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code in {0, 1} and done.stdout else done.stderr


@contextmanager
def fault(town: SandboxInfo, part: str, name: str) -> Iterator[None]:
    url = f"{town.control_url}/faults/{part}"
    loopback.put(url, json={"fault": name}).raise_for_status()
    try:
        yield
    finally:
        loopback.delete(url).raise_for_status()


def findings(town: SandboxInfo, code: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    rows = json.loads(operate(town, "sources", "check", "--json", code=code))
    return {(row["kind"], row["name"]): row for row in rows}


def test_everything_outside_answers(town: SandboxInfo) -> None:
    rows = findings(town)
    assert all(row["works"] for row in rows.values())
    assert {kind for kind, _ in rows} == {"source", "node", "simulation", "relay", "price"}
    table = operate(town, "sources", "check")
    assert max(map(len, table.splitlines())) <= 80


def test_what_is_down_is_named_with_what_to_do(town: SandboxInfo) -> None:
    with fault(town, "velora", "html:200"), fault(town, "backup_relay", "down"):
        rows = findings(town)
    bad = {name: row["advice"] for (_, name), row in rows.items() if not row["works"]}
    assert bad == {
        "velora": "check the network and source.velora.url",
        "Backup relay": "check relay.backup.url",
    }
    with fault(town, "node", "down"):
        rows = findings(town, 1)
    assert not any(row["works"] for (kind, _), row in rows.items() if kind == "node")
    assert rows["source", "uniswap"]["advice"] == "check node.urls"


@pytest.fixture(scope="package")
def never_sent(sandbox: SandboxInfo) -> Iterator[None]:
    """An order that no relay took.

    The wallet trusts no service that nothing was sent: it watches for a minute. Other tests need
    not wait for its end, and it is told to end when they have.
    """
    with fault(sandbox, "relays", "down"):
        wrapping = Piped(["wrap", "0.1", "--yes"], environment(sandbox, WALLET))
        told = ""
        while "PROVIDER_UNAVAILABLE" not in told:
            line = wrapping.stdout.readline()
            assert line, told
            told += line
    yield
    wrapping.terminate()
    wrapping.communicate(timeout=LONG_S)
    assert wrapping.returncode == 4


@pytest.mark.usefixtures("never_sent")
def test_an_order_that_was_never_sent_is_listed_and_explained(town: SandboxInfo) -> None:
    wallet = town.wallets[WALLET].address
    followed = json.loads(operate(town, "orders", "list", "--json"))
    (order,) = (row for row in followed if row["wallet"] == wallet and row["status"] == "failed")
    table = operate(town, "orders", "list").splitlines()
    assert max(map(len, table)) <= 80
    line = next(each for each in table if order["orderId"] in each)
    assert line.split()[1] == "failed"
    assert line.split()[-1] == "NOT_SENT"
    shown = operate(town, "orders", "show", order["txHash"])
    assert "NOT_SENT: the relay could not be reached" in shown
    events = json.loads(operate(town, "orders", "show", order["orderId"], "--json"))["events"]
    assert [event["to"] for event in events] == ["pending", "failed"]


def test_an_order_there_is_not(town: SandboxInfo) -> None:
    said = operate(town, "orders", "show", "ord_nope", code=1)
    assert "there is no order ord_nope in sqlite:///" in said


def listed(town: SandboxInfo, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(operate(town, "orders", "list", "--json", *words))
    return rows


def test_orders_that_are_over_are_found_by_wallet_key_status_and_time(town: SandboxInfo) -> None:
    done = run_command(["wrap", "0.2", "--yes"], environment(town, 5))
    assert done.returncode == 0, done.stdout
    wallet = town.wallets[5].address
    # `wrap` ends with the receipt of the client's own node, a moment before the tracker sees it
    wait_until(lambda: listed(town, "--wallet", wallet)[0]["status"] == "confirmed")
    rows = listed(town, "--wallet", wallet.lower())
    assert {row["wallet"] for row in rows} == {wallet}
    assert rows[0]["status"] == "confirmed"
    key = rows[0]["keyId"]
    by_key = listed(town, "--wallet", wallet, "--key", key, "--status", "confirmed")
    assert [row["orderId"] for row in by_key] == [rows[0]["orderId"]]
    assert listed(town, "--wallet", wallet, "--status", "submitted") == []
    refused = operate(town, "orders", "list", "--key", "key_none", "--json", code=1)
    assert json.loads(refused)["message"].startswith("there is no key key_none")
    assert listed(town, "--wallet", wallet, "--since", "1h") == rows
    assert listed(town, "--wallet", wallet, "--since", "2999-01-01") == []
    assert len(listed(town, "--all", "--limit", "1")) == 1
    times = [row["createdAt"] for row in listed(town, "--all")]
    assert times == sorted(times, reverse=True)
    assert rows[0]["orderId"] in operate(town, "orders", "list", "--all")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "yesterday"), "neither 30m, 12h, 7d nor 2026-11-20"),
        (("--since", "1712011512345"), "a Unix time is not taken"),
        (("--since", "1800000600"), "a Unix time is not taken"),
        (("--since", "20261120"), "a Unix time is not taken"),
        (("--wallet", "0x12"), "is no wallet address"),
        (("--status", "lost"), "is not one of"),
        (("--limit", "0"), "is not in the range"),
    ],
)
def test_a_search_that_cannot_be_meant(
    town: SandboxInfo, words: tuple[str, ...], said: str
) -> None:
    assert said in operate(town, "orders", "list", *words, code=2)


def test_amounts_are_in_units_of_their_tokens(town: SandboxInfo) -> None:
    done = run_command(["wrap", "0.25", "--yes"], environment(town, 4))
    assert done.returncode == 0, done.stdout
    order = listed(town, "--wallet", town.wallets[4].address)[0]["orderId"]
    assert "0.25 WETH" in operate(town, "orders", "show", order)
    shown = json.loads(operate(town, "orders", "show", order, "--json"))
    assert shown["minBuyAmount"] == "250000000000000000"
    assert shown["tokens"]["buy"] == {"symbol": "WETH", "decimals": 18}
    done = run_command(["unwrap", "0.25", "--yes"], environment(town, 4))
    assert done.returncode == 0, done.stdout
    unwrap = listed(town, "--wallet", town.wallets[4].address)[0]
    assert (unwrap["kind"], unwrap["action"]) == ("wrap", "unwrap")
    lines = operate(town, "orders", "show", unwrap["orderId"]).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("kind ")] == ["unwrap"]


ODD = "0x7ee0000000000000000000000000000000000002"
"""The sandbox's token VYP: known to its node, and to nobody's list."""


def test_decimals_come_from_the_node_and_are_unknown_without_it(town: SandboxInfo) -> None:
    done = run_command(["swap", "1", "WETH", ODD, "--yes", "--at-least", "1"], environment(town, 3))
    assert done.returncode == 0, done.stdout
    order = listed(town, "--wallet", town.wallets[3].address)[0]["orderId"]
    page = run_command(["history"], environment(town, 3) | {"COLUMNS": "100"}).stdout
    [row] = [line for line in page.splitlines() if order in line]
    assert "confirmed" in row
    assert "1 WETH → " in row
    assert " VYP\n" in operate(town, "orders", "show", order)
    with fault(town, "node", "down"):
        shown = operate(town, "orders", "show", order)
    assert "1 WETH" in shown
    assert "(no node returned its decimals)" in shown


def test_the_placeholder_of_eth_is_known_without_a_node(town: SandboxInfo) -> None:
    done = run_command(["wrap", "0.125", "--yes"], environment(town, 5))
    assert done.returncode == 0, done.stdout
    order = listed(town, "--wallet", town.wallets[5].address)[0]["orderId"]
    with fault(town, "node", "down"):
        shown = operate(town, "orders", "show", order)
        facts = json.loads(operate(town, "orders", "show", order, "--json"))
    assert "0.125 ETH" in shown
    assert "decimals are unknown" not in shown
    assert facts["tokens"]["sell"] == {"symbol": "ETH", "decimals": 18}


def test_an_order_shows_how_long_its_router_takes_it() -> None:
    shown = _row(made.order(deadline_s=1_700_000_000))
    assert shown["executableUntil"] == "2023-11-14T22:13:20.000+00:00"
    assert _row(made.order())["executableUntil"] is None
