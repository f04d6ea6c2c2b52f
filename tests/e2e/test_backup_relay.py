"""A relay that takes an order and loses or keeps it: the backup gets the order, too.

Both relays are real ones of the sandbox, and so are the chain, the service and its database.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from tests import forked
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.wallets import RpcWallet
from tests.spec import cancelling
from tests.spec.api_client import ETHER, SOLD, ApiClient
from tests.spec.wire import data

SETTINGS = {
    "RELAY__BACKUP__KIND": "mev_blocker",
    "RELAY__BACKUP_AFTER_BLOCKS": "1",
    "TRACKING__POLL_S": "0.1",
}
RELAYS = ("relay", "backup_relay")
HELD = 1000 * ETHER
"""WETH of a new wallet."""


@contextmanager
def running(town: Town, folder: Path, **settings: str) -> Iterator[tuple[ApiClient, Served]]:
    """Run a service of the test's own; a second one in the same folder has the same database."""
    with serving(town, folder, **SETTINGS | settings) as served:
        own = replace(served.town, facts=town.facts | {"baseUrl": served.url})
        with ApiClient(own, f"sqlite:///{folder / 'own.sqlite3'}") as found:
            yield found, served


@pytest.fixture
def desk(town: Town, tmp_path: Path) -> Iterator[ApiClient]:
    with running(town, tmp_path) as (found, _), found.no_blocks():
        yield found


def state(desk: ApiClient, relay: str, tx_hash: str) -> str | None:
    """Return a relay's state of a transaction; None if it never took it."""
    found = desk.town.control.get("/relay").json()[relay]["transactions"]
    return {one["hash"]: str(one["state"]) for one in found}.get(tx_hash)


def states(desk: ApiClient, tx_hash: str) -> tuple[str | None, str | None]:
    """Return the state of a transaction at both relays."""
    return state(desk, "relay", tx_hash), state(desk, "backup_relay", tx_hash)


def at_both(desk: ApiClient, wallet: LocalAccount) -> dict[str, Any]:
    """Return a swap that no block had in time: the backup has it, too."""
    order: dict[str, Any] = data(desk.submit(desk.swap(wallet)))["order"]
    assert state(desk, "backup_relay", order["txHash"]) is None, "the first one took it"
    desk.mine()
    desk.until(lambda: state(desk, "backup_relay", order["txHash"]))
    return order


def mined(desk: ApiClient, tx_hash: str) -> bool:
    return desk.rpc("eth_getTransactionReceipt", tx_hash) is not None


def check_once(desk: ApiClient, wallet: LocalAccount, sold: int) -> None:
    """Check what the wallet sold, that it used one nonce, and that nothing was ever public."""
    assert desk.held(wallet, "WETH") == HELD - sold
    assert int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16) == 1
    assert desk.town.control.get("/mempool-leaks").json()["leaks"] == []


@pytest.mark.parametrize("fault", ["lose", "withhold"])
def test_the_backup_has_it_in_the_second_block(desk: ApiClient, fault: str) -> None:
    wallet = desk.wallet()
    with desk.fault(fault, "relay"):
        sent = int(desk.rpc("eth_blockNumber"), 16)
        order = at_both(desk, wallet)
        desk.mine(2)
        found = desk.follow(order["orderId"])
    assert (found["status"], found["blockNumber"]) == ("confirmed", sent + 2)
    desk.mine(4)
    check_once(desk, wallet, SOLD)
    assert desk.history(wallet)["total"] == 1


def test_a_cancelled_swap_is_mined_by_neither(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.fault("withhold", "relay"):
        order = at_both(desk, wallet)
        taken = cancelling.cancel(desk, wallet, order["orderId"])["cancel"]
    assert taken["status"] == "submitted"
    assert states(desk, order["txHash"]) == ("cancelled", "cancelled")
    assert states(desk, taken["txHash"]) == ("held", "held")
    desk.mine(4)
    assert desk.follow(taken["orderId"])["status"] == "confirmed"
    assert desk.follow(order["orderId"])["status"] == "cancelled"
    check_once(desk, wallet, 0)


@pytest.mark.parametrize("silent", ["relay", "backup_relay"])
def test_a_cancel_of_which_one_relay_says_nothing_is_pending(desk: ApiClient, silent: str) -> None:
    wallet = desk.wallet()
    with desk.fault("withhold", "relay"):
        order = at_both(desk, wallet)
        with desk.fault("answer_lost", silent):
            taken = cancelling.cancel(desk, wallet, order["orderId"])["cancel"]
            assert taken["status"] == "pending"
            assert desk.status(order["orderId"])["status"] in {"submitted", "mining"}
    desk.mine(4)
    assert desk.follow(taken["orderId"])["status"] == "confirmed"
    assert not mined(desk, order["txHash"])
    check_once(desk, wallet, 0)


def test_a_cancel_that_the_first_refuses_is_pending_and_sent_until_it_is_taken(
    desk: ApiClient,
) -> None:
    wallet = desk.wallet()
    with desk.fault("lose", "relay"), desk.fault("withhold", "backup_relay"):
        order = at_both(desk, wallet)
        desk.town.fault("relay", "refuse:intrinsic gas too low")
        taken = cancelling.cancel(desk, wallet, order["orderId"])["cancel"]
        assert taken["status"] == "pending"
        assert "MEV Blocker" in desk.status(taken["orderId"])["relayAnswer"]
        assert states(desk, taken["txHash"]) == (None, "held")
        desk.town.heal("relay")
        desk.mine()
        desk.until(lambda: state(desk, "relay", taken["txHash"]))
        desk.until(lambda: desk.status(taken["orderId"])["status"] != "pending")
    desk.mine(4)
    assert desk.follow(taken["orderId"])["status"] == "confirmed"
    check_once(desk, wallet, 0)


def test_a_speed_up_is_mined_in_place_of_the_swap(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    with desk.fault("withhold", "relay"):
        signed = desk.swap(wallet.account)
        order = data(desk.submit(signed))["order"]
        desk.mine()
        desk.until(lambda: state(desk, "backup_relay", order["txHash"]))
        params = signed.quote["mevProtection"]["transactionParams"]
        fields = {
            "to": params["to"], "data": params["data"], "gas": int(params["gasLimit"]),
            "nonce": 0, "maxPriorityFeePerGas": 0,
            "maxFeePerGas": int(params["maxFeePerGas"]) * 2,
        }  # fmt: skip
        sped = wallet.send(fields)
        assert states(desk, sped) == ("held", "held")
        assert states(desk, order["txHash"]) == ("replaced", "replaced")
    desk.mine(4)
    assert mined(desk, sped)
    assert desk.follow(order["orderId"])["status"] == "cancelled"
    check_once(desk, wallet.account, SOLD)


def test_an_expired_order_is_asked_back_from_both(town: Town, tmp_path: Path) -> None:
    soon = {"TRACKING__ORDER_EXPIRY_S": "5"}
    with running(town, tmp_path, **soon) as (desk, _), desk.fault("withhold", *RELAYS):
        wallet = desk.wallet()
        wrap = data(desk.submit_wrap(desk.wrap(wallet)))["order"]
        desk.until(lambda: state(desk, "backup_relay", wrap["txHash"]))
        desk.until(lambda: states(desk, wrap["txHash"]) == ("cancelled", "cancelled"))
        desk.until(lambda: desk.history(wallet, kind="wrap", status="cancelled")["total"] == 1)
        desk.town.heal(*RELAYS)
        desk.mine(6)
        assert not mined(desk, wrap["txHash"])
        assert states(desk, wrap["txHash"]) == ("cancelled", "cancelled")
        check_unused(desk, wallet)


def check_unused(desk: ApiClient, wallet: LocalAccount) -> None:
    assert int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16) == 0


def test_a_service_that_was_killed_cancels_at_both(town: Town, tmp_path: Path) -> None:
    with running(town, tmp_path) as (desk, served), desk.no_blocks():
        wallet = desk.wallet()
        desk.town.fault("relay", "withhold")
        try:
            order = at_both(desk, wallet)
            secret = desk.secret
            served.kill()
            with running(town, tmp_path) as (again, _):
                again.api = again.client(secret)
                taken = cancelling.cancel(again, wallet, order["orderId"])["cancel"]
                assert states(again, taken["txHash"]) == ("held", "held")
                desk.town.heal("relay")
                again.mine(4)
                assert again.follow(taken["orderId"])["status"] == "confirmed"
                check_once(again, wallet, 0)
        finally:
            desk.town.heal("relay")


def test_a_reorganisation_of_the_backups_block_gives_one_swap(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.fault("withhold", "relay"):
        order = at_both(desk, wallet)
        desk.mine()
        desk.until(lambda: mined(desk, order["txHash"]))
    desk.town.control.post("/reorg", json={"depth": 1}).raise_for_status()
    assert not mined(desk, order["txHash"])
    desk.mine(4)
    assert desk.follow(order["orderId"])["status"] == "confirmed"
    check_once(desk, wallet, SOLD)


@pytest.mark.parametrize("promises", [True, False])
def test_an_order_that_a_full_relay_refuses_goes_to_a_backup_that_promises_as_much(
    town: Town, tmp_path: Path, promises: bool
) -> None:
    """Without the promise it waits, and the operator's list says why."""
    settings = {
        "RELAY__BACKUP__KIND": "private_rpc",
        "RELAY__BACKUP__DROPS_REVERTS": str(promises).lower(),
        "RELAY__BACKUP_AFTER_BLOCKS": "0",
    }
    town.fault("relay", "html:429")
    try:
        with running(town, tmp_path, **settings) as (desk, _), desk.no_blocks():
            order = desk.order(desk.wallet())
            has_it = state(desk, "backup_relay", order["txHash"]) is not None
            assert (has_it, order["status"]) == (promises, "submitted" if promises else "pending")
            words = ["orders", "list", "--json"]
            url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
            variables = forked.without_settings() | {"QUIETSWAP_STORAGE__URL": url}
            [row] = json.loads(forked.run(words, variables).stdout)
            said = row["relayAnswer"] or ""
            assert ("the backup does not get it" in said) is not promises, said
    finally:
        town.heal("relay")
