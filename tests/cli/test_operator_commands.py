"""What an operator looks at when something is wrong: sources, orders, keys, on a live service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from quietswap.cli.demo_sandbox import Town
from tests.cli.town import environment, quietswap, run

pytestmark = pytest.mark.xdist_group("live-cli")
WALLET = 7


def operate(town: Town, *words: str, code: int = 0) -> str:
    """Run a command on the sandbox's own settings and database; return what it printed."""
    env = environment(town, WALLET) | {"QUIETSWAP_SETTINGS": town.settings_file}
    done = run(quietswap(*words), env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code in {0, 1} and done.stdout else done.stderr


@contextmanager
def fault(town: Town, part: str, name: str) -> Iterator[None]:
    url = f"{town.control_url}/faults/{part}"
    httpx.put(url, json={"fault": name}).raise_for_status()
    try:
        yield
    finally:
        httpx.delete(url).raise_for_status()


def findings(town: Town, code: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    rows = json.loads(operate(town, "sources", "check", "--json", code=code))
    return {(row["kind"], row["name"]): row for row in rows}


def test_everything_outside_answers(town: Town) -> None:
    rows = findings(town)
    assert all(row["works"] for row in rows.values())
    assert {kind for kind, _ in rows} == {"source", "node", "relay", "price"}
    table = operate(town, "sources", "check")
    assert max(map(len, table.splitlines())) <= 80


def test_what_is_down_is_named_with_what_to_do(town: Town) -> None:
    with fault(town, "velora", "html:200"), fault(town, "backup_relay", "down"):
        rows = findings(town)
    bad = {name: row["advice"] for (_, name), row in rows.items() if not row["works"]}
    assert bad == {
        "velora": "check the network and source.velora.url",
        "Backup relay": "check relay.backup.url",
    }
    with fault(town, "node", "down"):
        assert not any(
            row["works"] for (kind, _), row in findings(town, 1).items() if kind == "node"
        )


def test_an_order_that_was_never_sent_is_listed_and_explained(town: Town) -> None:
    with fault(town, "relays", "down"):
        done = run(quietswap("wrap", "0.1", "--yes"), environment(town, WALLET))
    assert done.returncode == 1
    assert "PROVIDER_UNAVAILABLE" in done.stdout
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


def test_an_order_there_is_not(town: Town) -> None:
    said = operate(town, "orders", "show", "ord_nope", code=1)
    assert "there is no order ord_nope in sqlite:///" in said
