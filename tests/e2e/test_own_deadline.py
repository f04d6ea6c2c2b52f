"""An order over the own source ends for good once blocks are past the router's deadline."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tests.e2e.conftest import running_town
from tests.e2e.serving import serving
from tests.spec.api_client import SOLD, ApiClient
from tests.spec.wire import data
from tests.waiting import wait_until

SOON = {
    "QUOTES__SOURCES": "uniswap",
    "QUOTES__VALIDITY_S": "1",
    "TRACKING__ORDER_EXPIRY_S": "1",
    "TRACKING__POLL_S": "0.1",
}
"""With the 30 seconds for a late confirmation the calldata is good for 32 seconds."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ApiClient]:
    """A service on a chain of its own, whose blocks are as long apart as their times.

    The shared chain has two blocks a second, each a second later: it runs ahead of the clock, and
    an order expires only when both are past its deadline.
    """
    with running_town("--block-time", "1") as town, serving(town, tmp_path, **SOON) as served:
        own = replace(served.town, facts=town.facts | {"baseUrl": served.url})
        with ApiClient(own, f"sqlite:///{tmp_path / 'own.sqlite3'}") as found:
            yield found


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def block_time(desk: ApiClient) -> int:
    return int(desk.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


def test_withheld_past_its_deadline_and_released_it_never_swaps(desk: ApiClient) -> None:
    wallet = desk.wallet()
    sold, bought = desk.held(wallet, "WETH"), desk.held(wallet, "USDC")
    relays = ("relay", "backup_relay")
    for relay in relays:
        desk.town.fault(relay, "withhold")
    try:
        signed = desk.swap(wallet)
        order = data(desk.submit(signed))["order"]
        until = order["executableUntil"]
        assert until == signed.quote["executableUntil"]
        assert seconds(until) >= seconds(order["expiresAt"])
        wait_until(lambda: block_time(desk) > seconds(until), "no block is past it")
        wait_until(lambda: time.time() > seconds(until), "the local clock is not past it")
        found = desk.follow(order["orderId"])
    finally:
        desk.town.heal(*relays)
    assert found["status"] == "cancelled"
    assert found["executableUntil"] == until
    assert (found["error"]["code"], found["error"]["mayBeMined"]) == ("EXPIRED", False)
    assert "it can never swap" in found["error"]["message"]

    desk.mine(2)
    assert (desk.held(wallet, "WETH"), desk.held(wallet, "USDC")) == (sold, bought)

    again = desk.swap(wallet)
    first, second = (s.quote["mevProtection"]["transactionParams"] for s in (signed, again))
    assert first["nonce"] == second["nonce"]
    taken = data(desk.submit(again))["order"]
    assert desk.follow(taken["orderId"])["status"] == "confirmed"
    assert desk.held(wallet, "WETH") == sold - SOLD
