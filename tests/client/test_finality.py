"""A service that lies about the end of an order, to both clients, with and without a node."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from quietswap.client import AsyncQuietswapClient, OrderEnd, QuietswapClient
from quietswap.client.errors import AfterSubmission, MayBeMined, StatusContradiction
from quietswap.client.flows.finality import CANCEL, SubmittedTransaction, TransactionOutcome
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from tests.api.scripted_use_cases import WALLET
from tests.client.conftest import Time
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import TX_HASH, FakeServers, FakeService, Reply, ok, placed
from tests.response_json import orders
from tests.stored_orders import recorded

NONCE = 7
EXPIRED = Failure(FailureCode.EXPIRED, "it can never swap")
CONFIRMED, FAILED, CANCELLED = OrderStatus.CONFIRMED, OrderStatus.FAILED, OrderStatus.CANCELLED
CALLED_OFF = [FAILED, CANCELLED]
Chain = Callable[[FakeChain], None]


def mined(node: FakeChain) -> None:
    node.mine(TX_HASH)
    node.nonce += 1


def reverted(node: FakeChain) -> None:
    node.reverts = True
    mined(node)


def replaced(node: FakeChain) -> None:
    node.nonce, node.replaced_in = NONCE + 1, node.head - 5


def replaced_in_the_newest_block(node: FakeChain) -> None:
    node.nonce, node.replaced_in = NONCE + 1, node.head


def of_another_chain(node: FakeChain) -> None:
    """What a provider's wrong route answers: no receipt, and the nonce is used."""
    node.chain_id, node.nonce = 11155111, NONCE + 1


def counted_by_one_backend(node: FakeChain) -> None:
    """The count says that the nonce is used, and no block of the chain holds such a transaction."""
    node.nonce = NONCE + 1
    usual = node.eth_getTransactionCount
    node.eth_getTransactionCount = lambda wallet, block: (  # type: ignore[method-assign]
        hex(NONCE) if block == "finalized" else usual(wallet, block)
    )


def counted_by_a_fork(node: FakeChain) -> None:
    """All counts are of a fork; no block holds a transaction with the nonce."""
    node.nonce = NONCE + 1
    used_in = node.head - 5

    def count(_wallet: str, block: str) -> str:
        if block == "finalized":
            return hex(NONCE)
        return hex(NONCE + (not block.startswith("0x") or int(block, 16) >= used_in))

    node.eth_getTransactionCount = count  # type: ignore[method-assign]


def failing(node: FakeChain) -> None:
    node.forgets = True


def nothing(_: FakeChain) -> None:
    """Nothing is mined."""


def reported(status: OrderStatus) -> Reply:
    failure = EXPIRED if status in CALLED_OFF else None
    return ok(orders.order_status_response(recorded(placed(status, failure=failure))))


@pytest.fixture
def service() -> FakeService:
    return FakeService()


class Asking:
    """Calls a method of a new client that signed `ord_1`, or did not."""

    def __init__(self, manner: str, outside: FakeServers, time: Time) -> None:
        self._manner, self._outside, self._time = manner, outside, time
        self.has_node = self.signed_here = True
        self.sent_as = "the swap"

    def __call__(self, method: str, *args: Any) -> Any:
        sent = SubmittedTransaction(self.sent_as, TX_HASH, WALLET, NONCE, "ord_1")
        options: dict[str, Any] = {
            "rpc_url": self._outside.rpc_url if self.has_node else None,
            "polling": PollingPolicy(doubt_s=60.0),
            "orders": {"ord_1": sent} if self.signed_here else {},
            "monotonic": self._time.monotonic,
        }
        if self._manner == "blocking":
            with QuietswapClient(
                self._outside.url, "qs_right", sleep=self._time.sleep, **options
            ) as client:
                return getattr(client, method)(*args)

        async def work() -> Any:
            async with AsyncQuietswapClient(
                self._outside.url, "qs_right", sleep=self._time.sleep_async, **options
            ) as client:
                return await getattr(client, method)(*args)

        return asyncio.run(work())


@pytest.fixture
def ask(either_manner: str, outside: FakeServers, time: Time) -> Asking:
    return Asking(either_manner, outside, time)


def end_of(ask: Asking, service: FakeService, status: OrderStatus) -> OrderEnd:
    service.next("status", reported(status))
    end = ask("end", "ord_1")
    assert isinstance(end, OrderEnd)
    return end


@pytest.mark.parametrize("status", CALLED_OFF)
def test_a_mined_swap_that_is_called_off(
    ask: Asking, service: FakeService, node: FakeChain, status: OrderStatus
) -> None:
    mined(node)
    end = end_of(ask, service, status)
    assert (end.fate, end.is_final, end.is_contradicted) == ("mined", True, True)
    assert (end.confirmed, end.may_be_mined) == (True, False)
    service.next("status", reported(status))
    with pytest.raises(StatusContradiction, match="the swap took place, do not swap again"):
        ask("follow", "ord_1")


def test_a_reverted_swap_that_is_called_confirmed(
    ask: Asking, service: FakeService, node: FakeChain
) -> None:
    reverted(node)
    end = end_of(ask, service, CONFIRMED)
    assert (end.fate, end.is_contradicted, end.confirmed) == ("reverted", True, False)
    service.next("status", reported(CONFIRMED))
    with pytest.raises(StatusContradiction, match="nothing was swapped"):
        ask("follow", "ord_1")


@pytest.mark.parametrize("status", [CONFIRMED, *CALLED_OFF])
@pytest.mark.parametrize(
    "chain",
    [
        nothing,
        of_another_chain,
        counted_by_one_backend,
        counted_by_a_fork,
        failing,
        replaced_in_the_newest_block,
    ],
)
def test_what_no_block_shows_is_not_final(
    ask: Asking, service: FakeService, node: FakeChain, status: OrderStatus, chain: Chain
) -> None:
    chain(node)
    end = end_of(ask, service, status)
    assert (end.fate, end.is_final, end.may_be_mined) == ("open", False, True)
    service.next("status", reported(status))
    with pytest.raises(MayBeMined, match=f"the order is {status.value}, but your own node"):
        ask("follow", "ord_1")


@pytest.mark.parametrize(
    ("chain", "status", "fate"),
    [
        (mined, CONFIRMED, "mined"),
        (reverted, FAILED, "reverted"),
        (replaced, CANCELLED, "replaced"),
        (replaced, FAILED, "replaced"),
    ],
)
def test_what_a_block_shows_is_final_at_the_first_look(
    ask: Asking,
    service: FakeService,
    node: FakeChain,
    time: Time,
    chain: Chain,
    status: OrderStatus,
    fate: str,
) -> None:
    chain(node)
    end = end_of(ask, service, status)
    assert (end.fate, end.is_final, end.is_contradicted) == (fate, True, False)
    service.next("status", reported(status))
    assert ask("follow", "ord_1").status == status.value
    assert time.pauses == []


def test_a_revert_in_the_newest_block_waits_for_the_next_one(
    ask: Asking, service: FakeService, node: FakeChain, time: Time
) -> None:
    """A reorganization of this block could mine it elsewhere, beside a second swap."""
    reverted(node)
    in_the_newest_block(node, looks=2)
    assert end_of(ask, service, FAILED).fate is TransactionOutcome.REVERTED
    assert time.pauses == [2, 2]


def in_the_newest_block(node: FakeChain, looks: int) -> None:
    """Let the block with the receipt be the head for so many looks."""
    at = int(node.receipts[TX_HASH]["blockNumber"], 16)
    heads = iter([at] * looks)
    usual = node.eth_getBlockByNumber
    node.eth_getBlockByNumber = lambda tag, full: (  # type: ignore[method-assign]
        usual(tag, full) | {"number": hex(next(heads, at + 1))}
    )


@pytest.mark.parametrize("status", [OrderStatus.MINING, CONFIRMED, CANCELLED])
def test_a_cancel_in_the_newest_block_waits_for_the_next_one(
    ask: Asking, service: FakeService, node: FakeChain, status: OrderStatus
) -> None:
    """A reorganization of this block could mine the swap, beside another one."""
    mined(node)
    ask.sent_as = CANCEL
    in_the_newest_block(node, looks=1)
    service.next("status", reported(status))
    record = ask("order_status", "ord_1")
    end = ask("check_order", record)
    assert (end.fate, end.is_final, end.confirmed, end.may_be_mined) == ("open", False, False, True)
    end = ask("check_order", record)
    assert (end.fate, end.is_final, end.may_be_mined) == ("mined", True, False)


@pytest.mark.parametrize("status", [CONFIRMED, *CALLED_OFF])
@pytest.mark.parametrize("chain", [mined, nothing])
def test_without_a_node_the_service_only_reports(
    ask: Asking, service: FakeService, node: FakeChain, status: OrderStatus, chain: Chain
) -> None:
    chain(node)
    ask.has_node = False
    end = end_of(ask, service, status)
    assert (end.fate, end.checked, end.is_final) == (None, False, False)
    assert end.may_be_mined == (status is not CONFIRMED)
    assert end.unchecked == "not checked: there is no node of yours"


def test_an_order_that_was_signed_elsewhere_is_not_final(
    ask: Asking, service: FakeService, node: FakeChain
) -> None:
    """The service may name a reverted transaction that is not this order's."""
    reverted(node)
    ask.signed_here = False
    end = end_of(ask, service, CANCELLED)
    assert (end.fate, end.is_final, end.may_be_mined) == (None, False, True)
    node.receipts[TX_HASH]["status"] = "0x1"
    assert end_of(ask, service, CANCELLED).is_contradicted
    service.next("status", reported(CANCELLED))
    with pytest.raises(StatusContradiction, match="do not swap again"):
        ask("follow", "ord_1")


def test_a_node_that_fails_for_a_while_is_no_verdict(
    ask: Asking, service: FakeService, node: FakeChain
) -> None:
    """As geth does after a start: "transaction indexing is in progress"."""
    mined(node)
    answers = iter([NodeSays("transaction indexing is in progress", -32000)] * 3)
    node.busy = lambda method: (
        next(answers, None) if method == "eth_getTransactionReceipt" else None
    )
    assert end_of(ask, service, CANCELLED).fate is TransactionOutcome.MINED


@pytest.mark.parametrize("answer", ["one error", "one error in a list"])
def test_a_node_that_takes_no_batch_is_asked_one_by_one(
    ask: Asking,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
) -> None:
    """The list with one entry is geth's answer to a batch that is too large."""
    from tests.client import fake_servers

    usual, error = fake_servers.rpc_answer, {"code": -32600, "message": "batch too large"}
    refused: Any = {"jsonrpc": "2.0", "id": 1, "error": error}

    def single(scripted: Any, body: Any) -> Any:
        if isinstance(body, list):
            return refused if answer == "one error" else [refused]
        return usual(scripted, body)

    monkeypatch.setattr(fake_servers, "rpc_answer", single)
    mined(node)
    assert end_of(ask, service, CANCELLED).is_contradicted


def test_an_order_is_checked_with_one_look(
    ask: Asking, service: FakeService, node: FakeChain, time: Time
) -> None:
    mined(node)
    service.next("status", reported(CANCELLED))
    end = ask("check_order", ask("order_status", "ord_1"))
    assert (end.fate, end.is_contradicted, time.pauses) == ("mined", True, [])


def test_one_look_is_repeated_while_the_node_is_busy(
    ask: Asking, service: FakeService, node: FakeChain, time: Time
) -> None:
    refusals = iter([NodeSays("over rate limit", -32016)])
    mined(node)
    node.busy = lambda _: next(refusals, None)
    service.next("status", reported(CANCELLED))
    end = ask("check_order", ask("order_status", "ord_1"))
    assert (end.fate, end.is_contradicted, time.pauses) == ("mined", True, [0.5])


@pytest.mark.parametrize(("chain", "fate"), [(mined, "mined"), (reverted, "reverted")])
def test_a_service_that_says_pending_for_ever_hides_no_end(
    ask: Asking, service: FakeService, node: FakeChain, time: Time, chain: Chain, fate: str
) -> None:
    chain(node)
    service.next("status", *[reported(OrderStatus.PENDING)] * 200)
    end = ask("end", "ord_1")
    assert (end.fate, end.is_final, end.record.status) == (fate, True, "pending")
    assert sum(time.pauses) < 120
    with pytest.raises(AfterSubmission, match="the service still reports pending"):
        ask("follow", "ord_1")
