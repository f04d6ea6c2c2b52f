"""Answers that would end the program, or the check, of a caller who has signed."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import AsyncQuietswapClient, QuietswapClient
from quietswap.client.errors import (
    MayBeMined,
    MinedAnyway,
    NeverMined,
    QuoteDeclined,
    UnexpectedResponse,
)
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Do, Time
from tests.client.conftest import either_manner as manner
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import (
    ETHER,
    WALLET,
    FakeServers,
    FakeService,
    Reply,
    refused,
    submitted,
)
from tests.client.test_after_signing import silent
from tests.client.test_cancel_flow import REQUEST as CANCEL
from tests.client.test_cancel_flow import SWAP_HASH, CancelService
from tests.client.test_polling import at
from tests.client.test_swap_flow import REQUEST
from tests.stored_orders import USDC

__all__ = ["manner"]

DEEP = 60_000


@pytest.fixture
def raised_limit() -> Iterator[None]:
    """As `eth_account` leaves it: the JSON decoder is then stopped by the C stack alone."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    return node


@pytest.mark.usefixtures("raised_limit")
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_nests_deep_does_not_end_the_process(
    do_with_node: Do, service: FakeService, approved: FakeChain, status: int
) -> None:
    silent(approved, service)
    deep = b'{"ok":false,"error":"X","message":"m","details":{"a":' + b"[" * DEEP + b"]" * DEEP
    service.next("order", Reply(deep + b"}}", status))
    with pytest.raises(MayBeMined) as left:
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (left.value.tx_hash, left.value.nonce) == (service.tx_hash, 7)
    assert isinstance(left.value.cause, UnexpectedResponse)


def test_an_order_id_that_no_url_can_hold(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    silent(approved, service)
    answer = submitted()
    answer.body["data"]["order"]["orderId"] = "x" * 70_000
    service.next("order", answer)
    with pytest.raises(MayBeMined) as left:
        do_with_node("swap", REQUEST, ACCOUNT)
    assert left.value.tx_hash == service.tx_hash


def test_an_expiry_that_no_clock_has(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    answer = submitted()
    answer.body["data"]["order"]["expiresAt"] = "0001-01-01T00:00:00"
    service.next("order", answer)
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


def test_a_stream_with_a_header_that_is_no_text(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    service.next("status", at(OrderStatus.PENDING))
    service.next("events", Reply(b"", 200, {"Content-Type": "text/event-stream\xff"}))
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


def test_a_node_that_fails_after_a_wrap_was_taken(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    """Its transaction can be mined: the caller must not wrap again with another nonce."""
    node.forgets = True
    with pytest.raises(MayBeMined, match="missing trie node") as left:
        do_with_node("wrap", "2", ACCOUNT)
    assert (left.value.tx_hash, left.value.nonce) == (service.tx_hash, 7)


def test_a_receipt_that_comes_a_block_late_is_awaited(
    do_with_node: Do, service: FakeService, approved: FakeChain, time: Time
) -> None:
    """The nonce is used by the swap itself: its receipt is only behind another backend."""
    approved.holds = 6
    service.mines = lambda tx_hash: (approved.mine(tx_hash), setattr(approved, "nonce", 8))[0]
    service.next("order", refused(errors.ValidationError("no", [])))
    with pytest.raises(MinedAnyway):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert sum(time.pauses) == 12


def test_a_nonce_used_by_another_is_known_after_two_blocks(
    do_with_node: Do, service: FakeService, approved: FakeChain, time: Time
) -> None:
    silent(approved, service)
    service.mines = lambda _: setattr(approved, "nonce", 8)
    service.next("order", refused(errors.ValidationError("no", [])))
    with pytest.raises(NeverMined):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert sum(time.pauses) == 24


def test_the_gas_of_an_approval_has_the_limit_of_the_swap(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    node.tip = 10**14
    with pytest.raises(QuoteDeclined, match=r"gas of the approval may cost 60003600\d+ wei"):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (node.sent, service.bodies("order")) == ([], [])
    assert do_with_node("swap", replace(REQUEST, max_fee_wei=None), ACCOUNT).succeeded


@pytest.mark.parametrize("gone", ["ether", "balance"])
def test_funds_that_are_gone_after_the_approval(
    do_with_node: Do, service: FakeService, node: FakeChain, gone: str
) -> None:
    usual = node.eth_sendRawTransaction

    def sent(raw: str) -> str:
        setattr(node, gone, 0)
        return usual(raw)

    node.eth_sendRawTransaction = sent  # type: ignore[method-assign]
    with pytest.raises(QuoteDeclined, match="holds 0"):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert len(node.sent) == 1
    assert service.bodies("order") == []


async def test_an_asynchronous_accept_is_no_yes(outside: FakeServers, node: FakeChain) -> None:
    async def never(_: object) -> bool:
        return False

    async with AsyncQuietswapClient(outside.url, "qs_right", rpc_url=outside.rpc_url) as client:
        with pytest.raises(TypeError, match="must not be asynchronous"):
            await client.swap(replace(REQUEST, accept=never), ACCOUNT)  # type: ignore[arg-type]
    assert node.sent == []


@pytest.mark.parametrize("bps", [0, 10_000, 20_000])
def test_a_slippage_that_gives_all_away_or_is_none(bps: int) -> None:
    with pytest.raises(ValueError, match="slippage_bps must be"):
        SwapRequest(WETH, USDC, ETHER, WALLET, slippage_bps=bps)


def test_a_service_that_does_not_tell_the_scope(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    """As an older release: the swap is refused then, if it must be."""
    answer: Any = service._usual("usage", None)  # type: ignore[arg-type]
    del answer.body["data"]["scope"]
    service.next("usage", answer)
    assert client.swap(REQUEST, ACCOUNT).succeeded


@pytest.fixture
def cancels(node: FakeChain) -> CancelService:
    """It withholds the cancel."""
    return CancelService(mines=lambda _: None)


def test_a_receipt_of_another_transaction_is_not_the_orders(
    cancels: CancelService, node: FakeChain, time: Time
) -> None:
    node.transactions[SWAP_HASH] = {"from": "0x" + "11" * 20, "nonce": "0x7"}
    node.mine(SWAP_HASH)
    known = node.transactions.pop(SWAP_HASH)
    usual = cancels._cancel

    def late(body: dict[str, Any]) -> Reply:
        if "signedTransaction" in body:
            node.transactions[SWAP_HASH] = known
        return usual(body)

    cancels._cancel = late  # type: ignore[method-assign]
    server = FakeServers(cancels, node)
    with (
        QuietswapClient(
            server.url, "qs_right", rpc_url=server.rpc_url, sleep=time.sleep,
            monotonic=time.monotonic,
        ) as client,
        pytest.raises(MayBeMined, match="your own node does not show it"),
    ):  # fmt: skip
        client.cancel(CANCEL, ACCOUNT)
    server.close()
