"""A relay that answers "execution reverted" and gets the transaction mined all the same."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from quietswap.rules.orders.order import Order
from quietswap.service.base.clock import SystemClock
from tests.e2e.conftest import Town
from tests.patient import open_storage
from tests.spec.api_client import ETHER, SOLD, ApiClient
from tests.spec.wire import refused

FAULT = "reverted_then_mine:2"


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


def told(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return the details of a refusal that says what may still become of the bytes."""
    body = refused(answer, status, code)
    assert "may still get them mined" in body["message"]
    assert "othing was sent" not in answer.text
    details: dict[str, Any] = body["details"]
    assert details["mayBeMined"] is True
    assert details["orderId"]
    return details


def next_nonce(desk: ApiClient, wallet: LocalAccount) -> int:
    """Return the nonce that a fresh swap is quoted with."""
    nonce: int = desk.quote(wallet)["mevProtection"]["transactionParams"]["nonce"]
    return nonce


def test_a_refused_swap_is_named_followed_and_confirmed(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    with desk.no_blocks():
        with desk.fault(FAULT, "relay"):
            details = told(desk.submit(swap), 422, "VALIDATION_ERROR")
        assert details["reason"] == "REFUSED"
        seen = desk.status(details["orderId"])
        assert (seen["status"], seen["txHash"]) == ("failed", details["txHash"])
        assert (seen["error"]["code"], seen["error"]["mayBeMined"]) == ("REFUSED", True)
        assert next_nonce(desk, wallet) == 0, "so that at most one of the two can be mined"
        second = desk.swap(wallet, sellAmount=str(2 * ETHER))
        desk.mine(2)
        receipt = desk.rpc("eth_getTransactionReceipt", details["txHash"])
        assert receipt["status"] == "0x1"
    mined = desk.follow(details["orderId"], "confirmed")
    assert mined["blockNumber"] == int(receipt["blockNumber"], 16)
    assert mined.get("error") is None
    late = refused(desk.submit(second), 409, "NONCE_TOO_LOW")["details"]
    assert (late["provided"], late["expected"]) == (0, 1)
    assert desk.held(wallet, "WETH") == 1000 * ETHER - SOLD, "one swap, not two"
    assert next_nonce(desk, wallet) == 1


def test_a_refused_wrap_is_named_and_confirmed(desk: ApiClient) -> None:
    wallet = desk.wallet(tokens=0)
    wrap = desk.wrap(wallet)
    with desk.no_blocks():
        with desk.fault(FAULT, "relay"):
            details = told(desk.submit_wrap(wrap), 400, "INVALID_TRANSACTION")
        assert details["txHash"]
        assert next_nonce(desk, wallet) == 0
        desk.mine(2)
        receipt = desk.rpc("eth_getTransactionReceipt", details["txHash"])
        assert receipt["status"] == "0x1"
    desk.until(lambda: stored(desk, details["orderId"]).status.value == "confirmed")
    assert stored(desk, details["orderId"]).tx_hash == details["txHash"]
    assert desk.held(wallet, "WETH") == 3 * ETHER // 2
    assert next_nonce(desk, wallet) == 1


def stored(desk: ApiClient, order_id: str) -> Order:
    """Return an order as the operator reads it: a wrap has no status on the wire."""

    async def read() -> Order:
        storage = await open_storage(desk.database_url, clock=SystemClock())
        try:
            found = await storage.orders.find(order_id)
            assert found is not None
            return found
        finally:
            await storage.close()

    return asyncio.run(read())
