"""A service whose word on how a swap ended is not what the caller's own node shows."""

from collections.abc import Callable

import pytest

from quietswap.client import Contradicted
from quietswap.domain.order import Failure, FailureCode, Status
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_outside import FakeService
from tests.client.test_other_transaction import ALONE, status
from tests.client.test_polling import at
from tests.client.test_swap_flow import REQUEST, approved

__all__ = ["approved"]

OFF = [Status.FAILED, Status.CANCELLED]


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
    do_with_node: Do, service: FakeService, approved: FakeChain, name: Status
) -> None:
    service.next("status", at(Status.PENDING), at(name))
    with pytest.raises(Contradicted) as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    error = caught.value
    assert (error.order_id, error.status, error.tx_hash) == ("ord_1", name, service.tx_hash)
    assert str(error) == (
        f"the service says that order ord_1 is {name}, but your own node says that its transaction"
        f" {service.tx_hash} was mined and succeeded: the chain is right, the swap took place,"
        " do not swap again"
    )


def test_a_reverted_swap_that_is_called_confirmed(
    do_with_node: Do, service: FakeService, approved: FakeChain, time: Time
) -> None:
    approved.reverts = True
    approved.holds = 2
    with pytest.raises(Contradicted) as caught:
        do_with_node("swap", REQUEST, ACCOUNT)
    error = caught.value
    assert (error.order_id, error.status, error.tx_hash) == ("ord_1", "confirmed", service.tx_hash)
    assert "was mined and reverted: the chain is right, nothing was swapped" in str(error)
    assert time.pauses == [2, 2]


def test_no_hash_in_the_status_hides_nothing(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    record = at(Status.FAILED)
    del record.body["data"]["txHash"]
    service.next("status", record)
    with pytest.raises(Contradicted, match="do not swap again"):
        do_with_node("swap", REQUEST, ACCOUNT)


def test_a_reverted_swap_that_is_called_failed(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    approved.reverts = True
    failure = Failure(FailureCode.REVERTED, "the swap reverted")
    service.next("status", status(Status.FAILED, failure=failure))
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.status.error.code, result.received) == (
        False,
        "REVERTED",
        None,
    )


@pytest.mark.parametrize("name", OFF)
def test_one_look_for_what_was_never_mined(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    time: Time,
    monkeypatch: pytest.MonkeyPatch,
    name: Status,
) -> None:
    service.mines = lambda _: None
    service.next("status", at(name))
    asked = receipts_asked(approved, monkeypatch)
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.status.status, result.received) == (False, name, None)
    assert (asked, time.pauses) == ([service.tx_hash], [])


def test_ten_looks_for_what_is_called_confirmed(
    do_with_node: Do,
    service: FakeService,
    approved: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.mines = lambda _: None
    asked = receipts_asked(approved, monkeypatch)
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.succeeded, result.received) == (True, None)
    assert asked == [service.tx_hash] * 10


@pytest.mark.parametrize("name", [*OFF, Status.CONFIRMED])
def test_a_node_in_trouble_loses_no_result(
    do_with_node: Do, service: FakeService, approved: FakeChain, name: Status
) -> None:
    approved.forgets = True
    service.next("status", at(name))
    result = do_with_node("swap", REQUEST, ACCOUNT)
    assert (result.status.status, result.received) == (name, None)


@pytest.mark.parametrize("name", OFF)
def test_without_a_node_the_status_is_all_there_is(
    do: Do, service: FakeService, name: Status
) -> None:
    service.next("status", at(name))
    assert do("swap", ALONE, ACCOUNT).status.status == name
