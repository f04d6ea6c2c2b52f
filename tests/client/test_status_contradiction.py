"""A service whose word on how a swap ended is not what the caller's own node shows."""

from collections.abc import Callable

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import MayBeMined, StatusContradiction
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import FakeService
from tests.client.test_polling import at
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_transaction_hash_mismatch import ALONE, status

__all__ = ["approved"]

OFF = [OrderStatus.FAILED, OrderStatus.CANCELLED]


def receipts_asked(node: FakeChain, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by each hash whose receipt is asked for."""
    asked: list[str] = []
    usual: Callable[[str], object] = node.eth_getTransactionReceipt

    def receipt(tx_hash: str) -> object:
        asked.append(tx_hash)
        return usual(tx_hash)

    monkeypatch.setattr(node, "eth_getTransactionReceipt", receipt)
    return asked


@pytest.mark.parametrize("name", OFF)
def test_a_mined_swap_that_is_called_off(
    do_with_node: Do, service: FakeService, approved: FakeChain, name: OrderStatus
) -> None:
    service.next("status", at(OrderStatus.PENDING), at(name))
    with pytest.raises(StatusContradiction) as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    error = caught.value
    assert (error.order_id, error.status, error.tx_hash) == ("ord_1", name, service.tx_hash)


def test_a_reverted_swap_that_is_called_confirmed(
    do_with_node: Do, service: FakeService, approved: FakeChain, time: Time
) -> None:
    approved.reverts = True
    approved.holds = 2
    with pytest.raises(StatusContradiction) as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    error = caught.value
    assert (error.order_id, error.status, error.tx_hash) == ("ord_1", "confirmed", service.tx_hash)
    assert time.pauses == [2, 2]


def test_no_hash_in_the_status_hides_nothing(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    record = at(OrderStatus.FAILED)
    del record.body["data"]["txHash"]
    service.next("status", record)
    with pytest.raises(StatusContradiction, match="do not swap again"):
        do_with_node("swap", REQUEST, ACCOUNT)


def test_a_reverted_swap_that_is_called_failed(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    approved.reverts = True
    failure = Failure(FailureCode.REVERTED, "the swap reverted")
    service.next("status", status(OrderStatus.FAILED, failure=failure))
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.status.error.code, result.received) == (
        False,
        "REVERTED",
        None,
    )


@pytest.mark.parametrize("name", OFF)
def test_what_was_never_mined_is_watched_for_a_minute(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    time: Time,
    monkeypatch: pytest.MonkeyPatch,
    name: OrderStatus,
) -> None:
    service.mines = lambda _: None
    service.next("status", at(name))
    asked = receipts_asked(approved, monkeypatch)
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.status.status, result.received) == (False, name, None)
    assert (result.fate, result.may_be_mined) == ("open", True)
    assert (set(asked), time.pauses) == ({service.tx_hash}, [2] * 30)


def test_ten_looks_for_what_is_called_confirmed(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.mines = lambda _: None
    asked = receipts_asked(approved, monkeypatch)
    with pytest.raises(MayBeMined, match="confirmed, but your own node has no receipt") as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (caught.value.order_id, caught.value.tx_hash) == ("ord_1", service.tx_hash)
    assert asked == [service.tx_hash] * 10


@pytest.mark.parametrize("name", OFF)
def test_a_node_in_trouble_loses_no_result(
    do_with_node: Do, service: FakeService, approved: FakeChain, name: OrderStatus
) -> None:
    approved.forgets = True
    service.next("status", at(name))
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.status.status, result.received) == (name, None)


@pytest.mark.parametrize("trouble", ["missing trie node", "over rate limit"])
def test_confirmed_is_not_believed_where_the_node_fails(
    do_with_node: Do, approved: FakeChain, time: Time, trouble: str
) -> None:
    """Nor does a rate limit make each look a wait of its own."""
    approved.busy = lambda method: (
        NodeSays(trouble) if method == "eth_getTransactionReceipt" else None
    )
    with pytest.raises(MayBeMined) as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (caught.value.order_id, caught.value.nonce) == ("ord_1", 7)
    assert time.pauses == [2] * 9


def test_a_short_interval_does_not_shorten_the_look_for_a_receipt(
    client: QuietswapClient, approved: FakeChain, time: Time
) -> None:
    """Each failure is told: a node that hangs takes half a minute for each."""
    approved.forgets = True
    told: list[float] = []
    client.polling = PollingPolicy(
        node_interval_s=0.5, on_trouble=lambda _, seconds: told.append(seconds)
    )
    with pytest.raises(MayBeMined):
        client.swap(REQUEST, ACCOUNT)
    assert time.pauses == [0.5] * 36
    assert told == [0.5] * 37


@pytest.mark.parametrize("broken", ["fails", "null status"])
def test_a_node_that_fails_for_a_moment(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
) -> None:
    """One failed look turns no lie into a success, and loses no receipt that comes later."""
    looks: list[str] = []
    usual: Callable[[str], object] = approved.eth_getTransactionReceipt

    def receipt(tx_hash: str) -> object:
        looks.append(tx_hash)
        found = usual(tx_hash)
        if len(looks) > 2:
            return found
        if broken == "fails":
            raise NodeSays("missing trie node")
        return found | {"status": None}  # type: ignore[operator]

    monkeypatch.setattr(approved, "eth_getTransactionReceipt", receipt)
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.fate, len(looks)) == (True, "mined", 3)


@pytest.mark.parametrize("name", OFF)
def test_without_a_node_the_status_is_all_there_is(
    do: Do, service: FakeService, name: OrderStatus
) -> None:
    service.next("status", at(name))
    assert do("swap", ALONE, ACCOUNT).status.status == name
