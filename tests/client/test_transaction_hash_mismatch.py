"""A service that speaks of another transaction than the one that was signed."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import TransactionHashMismatch
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderStatus
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain, transfer
from tests.client.fake_servers import WALLET, FakeService, Reply, ok, placed, refused
from tests.client.test_swap_flow import REQUEST, approved
from tests.response_json import orders
from tests.stored_orders import USDC, recorded

__all__ = ["approved"]

LIE = "0x" + "ee" * 32
ALONE = replace(REQUEST, approval="never")


def status(name: OrderStatus = OrderStatus.CONFIRMED, **changes: Any) -> Reply:
    return ok(orders.order_status_response(recorded(placed(name, **changes))))


def names_both(error: TransactionHashMismatch, service: FakeService) -> None:
    assert (error.signed_hash, error.named_hash) == (service.tx_hash, LIE)
    assert f"speaks of transaction {LIE}, not of {service.tx_hash}" in str(error)
    assert "look the signed one up at your own node or an explorer" in str(error)


def test_another_hash_for_a_swap(do: Do, service: FakeService) -> None:
    service.lies["order"] = LIE
    seen: list[str] = []
    with pytest.raises(TransactionHashMismatch) as caught:
        do("swap", ALONE, ACCOUNT, lambda event: seen.append(type(event).__name__))
    names_both(caught.value, service)
    assert seen == ["SwapQuoteResponse", "SwapPlan"]
    assert len(service.bodies("order")) == 1


@pytest.mark.parametrize("name", [OrderStatus.MINING, OrderStatus.CONFIRMED, OrderStatus.FAILED])
def test_another_hash_in_a_status(do: Do, service: FakeService, name: OrderStatus) -> None:
    service.next("status", status(OrderStatus.PENDING), status(name, tx_hash=LIE))
    seen: list[str] = []
    with pytest.raises(TransactionHashMismatch) as caught:
        do("swap", ALONE, ACCOUNT, lambda event: seen.append(type(event).__name__))
    names_both(caught.value, service)
    assert seen == ["SwapQuoteResponse", "SwapPlan", "SwapOrderResponse", "OrderStatusResponse"]
    assert (caught.value.nonce, caught.value.order_id, caught.value.fate) == (7, "ord_1", None)


def test_a_replay_that_leads_to_another_order(do: Do, service: FakeService) -> None:
    service.next("order", Reply(None), refused(errors.SignatureReplay(order_id="ord_9")))
    service.next("status", status(tx_hash=LIE))
    with pytest.raises(TransactionHashMismatch) as caught:
        do("swap", ALONE, ACCOUNT)
    names_both(caught.value, service)
    assert service.asked[-1].path.endswith("/ord_9")


@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_another_hash_for_a_wrap(do: Do, service: FakeService, operation: str) -> None:
    service.lies["wrap order"] = LIE
    seen: list[str] = []
    with pytest.raises(TransactionHashMismatch) as caught:
        do(operation, "2", ACCOUNT, nonce=7, watch=lambda event: seen.append(type(event).__name__))
    names_both(caught.value, service)
    assert seen == ["WrapQuoteResponse", "WrapPlan"]


def test_another_hash_for_what_is_submitted_alone(do: Do, service: FakeService) -> None:
    swap, wrap = do("quote", REQUEST), do("wrap_quote", "wrap", "2", WALLET)
    service.lies["order"] = LIE
    with pytest.raises(TransactionHashMismatch) as caught:
        do("submit_order", swap, REQUEST, "0x02ab")
    names_both(caught.value, service)
    service.lies["wrap order"] = LIE
    with pytest.raises(TransactionHashMismatch) as caught:
        do("submit_wrap_order", wrap, "0x02cd")
    names_both(caught.value, service)


def test_capital_letters_are_no_lie(do: Do, service: FakeService) -> None:
    do("swap", ALONE, ACCOUNT)
    shouted = "0x" + service.tx_hash[2:].upper()
    service.next("status", status(tx_hash=shouted))
    assert do("swap", ALONE, ACCOUNT).status.tx_hash == shouted


def test_receipts_are_looked_up_by_the_hash_that_was_signed(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    record = status()
    del record.body["data"]["txHash"]
    service.next("status", record)
    approved.logs = [transfer(USDC, WALLET[:-1] + "7", WALLET, 3 * 10**9)]
    result = client.swap(REQUEST, ACCOUNT)
    assert (result.succeeded, result.received) == (True, 3 * 10**9)
    assert result.status.tx_hash in approved.receipts
