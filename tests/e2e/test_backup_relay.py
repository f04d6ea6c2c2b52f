"""A relay that takes an order and loses or keeps it: the backup gets the order, too."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import Town
from tests.e2e.serving import serving
from tests.spec.api_client import SOLD, ApiClient
from tests.spec.wire import data

AFTER_ONE_BLOCK = {
    "RELAY__BACKUP__KIND": "mev_blocker",
    "RELAY__BACKUP_AFTER_BLOCKS": "1",
    "TRACKING__POLL_S": "0.1",
}


@pytest.fixture
def desk(town: Town, tmp_path: Path) -> Iterator[ApiClient]:
    with serving(town, tmp_path, **AFTER_ONE_BLOCK) as served:
        own = replace(served.town, facts=town.facts | {"baseUrl": served.url})
        with ApiClient(own, f"sqlite:///{tmp_path / 'own.sqlite3'}") as found:
            yield found


def holds(desk: ApiClient, relay: str, tx_hash: str) -> bool:
    """Return whether a relay received a transaction."""
    found = desk.town.control.get("/relay").json()[relay]["transactions"]
    return tx_hash in {one["hash"] for one in found}


@pytest.mark.parametrize("fault", ["lose", "withhold"])
def test_the_backup_has_it_in_the_second_block(desk: ApiClient, fault: str) -> None:
    wallet = desk.wallet()
    sold = desk.held(wallet, "WETH")
    with desk.fault(fault, "relay"):
        signed = desk.swap(wallet)
        with desk.no_blocks():
            order = data(desk.submit(signed))["order"]
            assert not holds(desk, "backup_relay", order["txHash"]), "the first one took it"
            sent = int(desk.rpc("eth_blockNumber"), 16)
            desk.mine()
            desk.until(lambda: holds(desk, "backup_relay", order["txHash"]))
            desk.mine()
        found = desk.follow(order["orderId"])
    assert (found["status"], found["blockNumber"]) == ("confirmed", sent + 2)
    assert desk.held(wallet, "WETH") == sold - SOLD
    assert int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16) == 1
    assert desk.history(wallet)["total"] == 1
    assert desk.town.control.get("/mempool-leaks").json()["leaks"] == []
