"""A swap that can no longer meet its minimum is refused before it is sent, and can be cancelled."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from quietswap.sandbox.contracts.pools import POOLS, USDC, WETH
from quietswap.service.base.clock import SystemClock
from tests.e2e.conftest import Town, running_town
from tests.patient import open_storage
from tests.spec.api_client import ApiClient
from tests.spec.cancelling import cancel
from tests.spec.wire import refused

pytestmark = pytest.mark.xdist_group("would-revert")


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    """A sandbox of its own: pools that were drained are not what they were."""
    with running_town("--block-time", "0.5") as found:
        yield found


@contextmanager
def drained(desk: ApiClient) -> Iterator[None]:
    """Take all USDC out of the pools for the length of a `with` block."""
    keys = [USDC.balance_key(pool.address) for pool in POOLS]
    held = [desk.rpc("eth_getStorageAt", USDC.address, key, "latest") for key in keys]
    for key in keys:
        desk.rpc("anvil_setStorageAt", USDC.address, key, "0x" + "00" * 32)
    try:
        yield
    finally:
        for key, word in zip(keys, held, strict=True):
            desk.rpc("anvil_setStorageAt", USDC.address, key, word)


@pytest.mark.parametrize("fault", [None, "no_simulate"])
def test_a_swap_below_its_minimum_is_refused_and_nothing_is_sent(
    desk: ApiClient, fault: str | None
) -> None:
    """A swap is tried on a head of up to 0.9 s, so no block may come between it and the drain."""
    wallet = desk.wallet()
    with desk.no_blocks():
        swap = desk.swap(wallet)
        with drained(desk):
            if fault:
                desk.town.fault("node", fault)
            try:
                answer = desk.submit(swap)
            finally:
                desk.town.heal("node")
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert details["reason"] == "WOULD_REVERT"
    assert details["revertReason"]
    assert desk.api.get(f"/api/v1/mev/orders/user/{wallet.address}").json()["data"]["total"] == 0
    assert not [
        one for one in desk.given_to_relays() if one["sender"].lower() == wallet.address.lower()
    ]
    assert desk.submit(swap).status_code == 200  # the same bytes, now that they would work
    # a node that lacked the method is tried again after a while, and no swap is quoted before
    desk.until(lambda: desk.ask_quote(wallet).status_code == 200)


def test_an_order_that_would_fail_is_cancelled_and_frees_its_nonce(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.fault("withhold", "relay", "backup_relay"):
        order = desk.submit(desk.swap(wallet)).json()["data"]["order"]
        with drained(desk):
            desk.mine(8)
            desk.until(lambda: "would_fail" in diary(desk, order["orderId"]))
            assert desk.status(order["orderId"])["status"] == "mining"
            cancel(desk, wallet, order["orderId"])
    seen = desk.follow(order["orderId"])
    assert seen["error"]["code"] == "USER_CANCELLED"
    assert desk.quote(wallet)["mevProtection"]["transactionParams"]["nonce"] == 1


def test_a_revert_by_fullprivacy_is_mined_and_reported_as_failed(desk: ApiClient) -> None:
    """That endpoint promises no protection, and the quote says so."""
    wallet = desk.wallet()
    with desk.no_blocks():
        unwrap = desk.wrap(wallet, operation="unwrap")
        settings = unwrap.quote["mevProtection"]["providerMetadata"]["mevRelayMetadata"]
        assert (settings["endpointType"], settings["revertProtection"]) == ("fullprivacy", False)
        assert desk.submit_wrap(unwrap).status_code == 200
        desk.give(wallet, WETH, 0)
        desk.mine()
    [listed] = desk.history(wallet, kind="wrap")["orders"]
    seen = desk.follow(listed["orderId"])
    assert (seen["status"], seen["error"]["code"]) == ("failed", "REVERTED")
    assert (seen["error"]["mayBeMined"], int(seen["error"]["gasUsed"]) > 21_000) == (False, True)
    assert int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16) == 1


def diary(desk: ApiClient, order_id: str) -> list[str]:
    """Return what was seen of an order, as the operator reads it."""

    async def read() -> list[str]:
        storage = await open_storage(desk.database_url, clock=SystemClock())
        try:
            return [event.event_type for event in await storage.orders.events(order_id)]
        finally:
            await storage.close()

    return asyncio.run(read())
