"""Once the bytes are handed over, no refusal reads as "nothing happened"."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    AfterSubmission,
    ApiError,
    MayBeMined,
    MinedAnyway,
    NeverMined,
    OrderStillOpen,
    StatusContradiction,
)
from quietswap.client.flows.finality import OutcomeWatch, SubmittedTransaction
from quietswap.rules import errors
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain, transfer
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import MINIMUM, WALLET, FakeService, Reply, refused
from tests.client.test_polling import at
from tests.client.test_swap_flow import REQUEST, approved
from tests.client.test_transaction_hash_mismatch import status
from tests.stored_orders import USDC

__all__ = ["approved"]

ALONE = replace(REQUEST, approval="never")
Fate = Callable[[FakeChain, FakeService], None]


def said(code: str, status: int = 400, **details: Any) -> Reply:
    body = {"ok": False, "error": code, "message": "execution reverted", "details": details}
    return Reply(body, status)


REFUSALS = [
    refused(errors.ProviderUnavailable("execution reverted")),
    refused(errors.ValidationError("WOULD_REVERT", [])),
    refused(errors.InsufficientAllowance(token=USDC, router=USDC, required=1, current=0)),
    said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT"),
    said("NONCE_TOO_LOW", 409, provided=7, expected=8),
    said("DEADLINE_EXPIRED", deadline=1),
    said("UNAUTHORIZED", 401),
    said("ORDER_NOT_FOUND", 404),
    said("SIGNATURE_REPLAY", 409),
    said("A_CODE_OF_THE_FUTURE", 418),
    Reply(b"<html>", 400),
    Reply({"ok": True, "data": {}}),
    Reply({"ok": True, "data": {"order": {"txHash": 5}}}),
]


def mined(node: FakeChain, service: FakeService) -> None:
    """It is mined as soon as it is posted."""


def reverted(node: FakeChain, service: FakeService) -> None:
    node.reverts = True


def replaced(node: FakeChain, service: FakeService) -> None:
    service.mines = lambda _: setattr(node, "nonce", 8)


def silent(node: FakeChain, service: FakeService) -> None:
    service.mines = lambda _: None


def lost(node: FakeChain, service: FakeService) -> None:
    node.forgets = True


def busy(node: FakeChain, service: FakeService) -> None:
    node.busy = lambda method: (
        NodeSays("slow down", 429) if method == "eth_getTransactionReceipt" else None
    )


FATES: list[tuple[Fate, type[AfterSubmission]]] = [
    (mined, MinedAnyway),
    (reverted, NeverMined),
    (replaced, NeverMined),
    (silent, MayBeMined),
    (lost, MayBeMined),
    (busy, MayBeMined),
]


@pytest.mark.parametrize(("fate", "kind"), FATES)
@pytest.mark.parametrize("reply", REFUSALS)
def test_a_refusal_is_held_against_the_callers_own_node(
    client: QuietswapClient,
    service: FakeService,
    approved: FakeChain,
    time: Time,
    reply: Reply,
    fate: Fate,
    kind: type[AfterSubmission],
) -> None:
    fate(approved, service)
    service.next("order", reply)
    with pytest.raises(AfterSubmission) as caught:
        client.swap(REQUEST, ACCOUNT)
    error = caught.value
    assert type(error) is kind
    assert (error.tx_hash, error.nonce) == (service.tx_hash, 7)
    assert service.tx_hash in str(error)
    assert error.cause is not None
    assert str(error).startswith(str(error.cause))
    assert sum(time.pauses) <= 60


@pytest.mark.parametrize("reply", REFUSALS)
def test_without_a_node_it_may_always_be_mined(do: Do, service: FakeService, reply: Reply) -> None:
    service.next("order", reply)
    with pytest.raises(MayBeMined, match="only another transaction with nonce 7 rules it out"):
        do("swap", ALONE, ACCOUNT)


@pytest.mark.parametrize(
    ("details", "order_id"),
    [
        ({"orderId": "ord_5", "txHash": "0x", "mayBeMined": True}, "ord_5"),
        ({"orderId": "ord_5", "mayBeMined": False}, "ord_5"),
        ({"mayBeMined": False}, None),
        ({"orderId": 5}, None),
        ({"orderId": "x" * 5000}, "x" * 100),
        ({}, None),
    ],
)
def test_the_order_is_named_where_the_service_names_it(
    do: Do, service: FakeService, details: dict[str, Any], order_id: str | None
) -> None:
    """Its absence, or a false `mayBeMined`, changes nothing else."""
    service.next("order", said("PROVIDER_UNAVAILABLE", 503, **details))
    with pytest.raises(MayBeMined) as caught:
        do("swap", ALONE, ACCOUNT)
    assert caught.value.order_id == order_id
    assert isinstance(caught.value.cause, ApiError)


def test_what_was_signed_for_a_refused_order_is_recorded(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    """Only so the caller's own node can show later what became of it."""
    service.next("order", said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT", orderId="ord_5"))
    with pytest.raises(AfterSubmission):
        client.swap(REQUEST, ACCOUNT)
    recorded = client.orders["ord_5"]
    assert (recorded.tx_hash, recorded.nonce) == (service.tx_hash, 7)


def test_a_refusal_cannot_name_the_order_of_another_transaction(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    other = SubmittedTransaction("the swap", "0x" + "99" * 32, WALLET, 5, "ord_5")
    client.orders["ord_5"] = other
    service.next("order", said("PROVIDER_UNAVAILABLE", 503, reason="NOT_SENT", orderId="ord_5"))
    with pytest.raises(AfterSubmission):
        client.swap(REQUEST, ACCOUNT)
    assert client.orders["ord_5"] == other


def test_a_transaction_that_is_mined_late_is_seen(
    client: QuietswapClient, service: FakeService, approved: FakeChain, time: Time
) -> None:
    approved.holds = 20
    service.next("order", REFUSALS[0])
    told: list[object] = []
    with pytest.raises(MinedAnyway) as caught:
        client.swap(REQUEST, ACCOUNT, told.append)
    assert caught.value.receipt.succeeded
    assert time.pauses == [2] * 20
    (doubt,) = (each for each in told if isinstance(each, OutcomeWatch))
    assert (doubt.seconds, doubt.sent.tx_hash) == (60, service.tx_hash)


def test_a_nonce_that_only_one_look_shows_used_settles_nothing(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    """Nodes behind one address differ: one that is ahead of another must not read as safe."""
    looks = iter([7, 7, 8, 7, 8] + [7] * 60)
    approved.eth_getTransactionCount = (  # type: ignore[method-assign]
        lambda _, block: hex(next(looks)) if block == "latest" else "0x7"
    )
    service.mines = lambda _: None
    service.next("order", REFUSALS[0])
    with pytest.raises(MayBeMined):
        client.swap(REQUEST, ACCOUNT)


@pytest.mark.parametrize("reply", [said("ORDER_NOT_FOUND", 404), said("UNAUTHORIZED", 401)])
@pytest.mark.parametrize(("fate", "kind"), FATES)
def test_an_order_that_is_denied_later(
    client: QuietswapClient,
    service: FakeService,
    approved: FakeChain,
    reply: Reply,
    fate: Fate,
    kind: type[AfterSubmission],
) -> None:
    fate(approved, service)
    service.next("status", at(OrderStatus.MINING), reply)
    with pytest.raises(kind) as caught:
        client.swap(REQUEST, ACCOUNT)
    assert caught.value.order_id == "ord_1"


def test_an_order_that_stays_open_while_the_chain_has_it(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    service.next("status", *[at(OrderStatus.MINING)] * 40)
    with pytest.raises(MinedAnyway, match="still mining after 300 s"):
        client.swap(REQUEST, ACCOUNT)


def test_an_order_that_stays_open(
    client: QuietswapClient, service: FakeService, approved: FakeChain, time: Time
) -> None:
    service.mines = lambda _: None
    service.next("status", *[at(OrderStatus.MINING)] * 40)
    with pytest.raises(OrderStillOpen):
        client.swap(REQUEST, ACCOUNT)
    assert sum(time.pauses) == 300


OFF = [
    status(OrderStatus.FAILED, failure=Failure(FailureCode.REVERTED, "execution reverted")),
    status(OrderStatus.CANCELLED, failure=Failure(FailureCode.EXPIRED, "expired")),
    at(OrderStatus.FAILED),
]


@pytest.mark.parametrize("record", OFF)
@pytest.mark.parametrize(
    ("fate", "name", "open_"),
    [(reverted, "reverted", False), (replaced, "replaced", False), (silent, "open", True)],
)
def test_an_order_called_off_is_watched_too(
    client: QuietswapClient,
    service: FakeService,
    approved: FakeChain,
    record: Reply,
    fate: Fate,
    name: str,
    open_: bool,
) -> None:
    fate(approved, service)
    service.next("status", record)
    result = client.swap(REQUEST, ACCOUNT)
    assert (result.succeeded, result.fate, result.may_be_mined) == (False, name, open_)


def test_an_order_called_off_that_is_mined_half_a_minute_later(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    approved.holds = 15
    service.next("status", OFF[0])
    with pytest.raises(StatusContradiction, match="do not swap again"):
        client.swap(REQUEST, ACCOUNT)


def test_without_a_node_an_order_called_off_may_be_mined(do: Do, service: FakeService) -> None:
    service.next("status", OFF[0])
    result = do("swap", ALONE, ACCOUNT)
    assert (result.succeeded, result.fate, result.may_be_mined) == (False, None, True)


@pytest.mark.parametrize(
    ("received", "succeeds"), [(MINIMUM, True), (MINIMUM - 1, False), (0, False)]
)
def test_success_means_the_minimum_arrived(
    client: QuietswapClient, approved: FakeChain, received: int, succeeds: bool
) -> None:
    approved.logs = [transfer(USDC, WALLET[:-1] + "7", WALLET, received)] if received else []
    result = client.swap(REQUEST, ACCOUNT)
    assert (result.status.status, result.received) == ("confirmed", received)
    assert (result.succeeded, result.fell_short) == (succeeds, not succeeds)
    assert not result.may_be_mined


@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
@pytest.mark.parametrize(("fate", "kind"), FATES)
def test_wraps_likewise(
    do_with_node: Do,
    service: FakeService,
    node: FakeChain,
    operation: str,
    fate: Fate,
    kind: type[AfterSubmission],
) -> None:
    fate(node, service)
    service.next("wrap order", REFUSALS[0])
    with pytest.raises(kind) as caught:
        do_with_node(operation, "2", ACCOUNT)
    assert (caught.value.tx_hash, caught.value.nonce) == (service.tx_hash, 7)
