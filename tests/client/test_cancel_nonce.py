"""cancel() after the bytes are out, and what ties its nonce to the order."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import (
    ClientError,
    MayBeMined,
    QuoteDeclined,
    StatusContradiction,
    UnsafeQuote,
)
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.client.signing import hash_of
from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.order import Order, OrderStatus
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import WALLET, FakeServers, Reply, placed, refused
from tests.client.test_cancel_flow import REQUEST, SWAP_HASH, CancelService, service

__all__ = ["service"]

OTHER_HASH = "0x" + "6b" * 32


def refusing(service: CancelService, mines: str | None, node: FakeChain) -> None:
    """The service refuses the signed cancel; `mines` is mined all the same."""
    usual = service._cancel

    def answer(body: dict[str, Any]) -> Reply:
        if "signedTransaction" in body and mines == "cancel":
            node.mine(hash_of(body["signedTransaction"]))
        elif "signedTransaction" in body and mines == "swap":
            node.mine(SWAP_HASH)
            node.nonce = 8
        return usual(body)

    service._cancel = answer  # type: ignore[method-assign]
    service.refuses = refused(ValidationError("the relay refused it", reason="REFUSED"))


def test_a_refused_cancel_may_be_mined_by_the_own_node(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    refusing(service, None, node)
    with pytest.raises(MayBeMined, match="the relay refused it"):
        do_with_node("cancel", REQUEST, ACCOUNT)


@pytest.mark.parametrize(("mines", "cancelled"), [("cancel", True), ("swap", False)])
def test_a_refused_cancel_ends_as_the_own_node_shows(
    do_with_node: Do, service: CancelService, node: FakeChain, mines: str, cancelled: bool
) -> None:
    refusing(service, mines, node)
    service.ends = service.order
    result = do_with_node("cancel", REQUEST, ACCOUNT)
    assert (result.cancelled, result.swap is None) == (cancelled, cancelled)


def test_an_order_without_a_hash_is_not_cancelled(do: Do, service: CancelService) -> None:
    usual = service._record

    def nameless(order: Order, tx_hash: str) -> Reply:
        reply = usual(order, tx_hash)
        del reply.body["data"]["txHash"]
        return reply

    service._record = nameless  # type: ignore[method-assign]
    with pytest.raises(QuoteDeclined, match="names no txHash, as of one that was never sent"):
        do("cancel", REQUEST, ACCOUNT)
    assert service.posts == 0


def test_only_the_services_word_ties_the_nonce(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    """The nonce may be another one of the wallet: who signed the order must know it."""
    unknown = replace(REQUEST, nonce=None, tx_hash=None)
    with pytest.raises(QuoteDeclined, match="--nonce"):
        do_with_node("cancel", unknown, ACCOUNT)
    node.transactions[SWAP_HASH] = {"from": WALLET, "nonce": "0x8"}
    with pytest.raises(UnsafeQuote, match=r"own node the order's transaction .* nonce 8"):
        do_with_node("cancel", REQUEST, ACCOUNT)
    node.transactions[SWAP_HASH] = {"from": "0x" + "11" * 20, "nonce": "0x7"}
    with pytest.raises(UnsafeQuote, match="by your own node"):
        do_with_node("cancel", REQUEST, ACCOUNT)
    node.transactions[SWAP_HASH] = {"from": WALLET, "nonce": "0x7"}
    with pytest.raises(QuoteDeclined, match="--nonce"):
        do_with_node("cancel", unknown, ACCOUNT)
    assert service.posts == 0
    assert do_with_node("cancel", replace(REQUEST, nonce=None), ACCOUNT).cancelled


def naming(service: CancelService, node: FakeChain) -> None:
    """The service names another pending transaction of the wallet, and its nonce."""
    node.transactions[OTHER_HASH] = {"from": WALLET, "nonce": "0x8"}
    usual = service._record

    def record(order: Order, tx_hash: str) -> Reply:
        reply = usual(order, tx_hash)
        if tx_hash == SWAP_HASH:
            reply.body["data"]["txHash"] = OTHER_HASH
        return reply

    service._record = record  # type: ignore[method-assign]
    issued = service.issues
    service.issues = replace(issued, params=replace(issued.params, nonce=8))


def signed(tx_hash: str = SWAP_HASH) -> dict[str, SubmittedTransaction]:
    return {"ord_1": SubmittedTransaction("the swap", tx_hash, WALLET, 7, "ord_1")}


@pytest.mark.parametrize(
    ("known", "orders", "refusal"),
    [
        ({}, {}, QuoteDeclined),
        ({"nonce": 7}, {}, UnsafeQuote),
        ({"tx_hash": SWAP_HASH}, {}, UnsafeQuote),
        ({}, signed(), UnsafeQuote),
    ],
)
def test_the_hash_of_another_transaction_kills_nothing(
    outside: FakeServers,
    service: CancelService,
    node: FakeChain,
    known: dict[str, Any],
    orders: dict[str, SubmittedTransaction],
    refusal: type[ClientError],
) -> None:
    """The own node knows what the service names, but the service chose what it is asked for."""
    naming(service, node)
    with (
        QuietswapClient(outside.url, "qs_right", rpc_url=outside.rpc_url, orders=orders) as client,
        pytest.raises(refusal),
    ):
        client.cancel(CancelRequest("ord_1", WALLET, **known), ACCOUNT)
    assert service.posts == 0


def test_another_mined_transaction_is_not_the_swap(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    """A receipt without a nonce shows nothing for a hash that the service chose."""
    service.mines = lambda _: node.mine(SWAP_HASH)
    node.nonce = 8
    service.issues = replace(service.issues, params=replace(service.issues.params, nonce=8))
    with pytest.raises(MayBeMined):
        do_with_node("cancel", replace(REQUEST, nonce=8, tx_hash=None), ACCOUNT)


def test_a_cancel_of_another_nonce_is_no_success(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    """Both are in blocks: then the cancel's nonce was not the order's."""
    service.mines = lambda tx_hash: (node.mine(tx_hash), node.mine(SWAP_HASH))[0]
    with pytest.raises(StatusContradiction, match="the swap took place"):
        do_with_node("cancel", REQUEST, ACCOUNT)
    service.taken, service.ends = None, placed(OrderStatus.CONFIRMED)
    assert not do_with_node("cancel", REQUEST, ACCOUNT).cancelled


def test_no_receipt_of_the_order_must_be_read(
    do_with_node: Do, service: CancelService, node: FakeChain
) -> None:
    usual = node.eth_getTransactionReceipt

    def receipt(tx_hash: str) -> Any:
        if tx_hash == SWAP_HASH:
            raise NodeSays("missing trie node")
        return usual(tx_hash)

    node.eth_getTransactionReceipt = receipt  # type: ignore[method-assign]
    with pytest.raises(MayBeMined, match="does not say what became of the order's own"):
        do_with_node("cancel", REQUEST, ACCOUNT)
