"""Reads of wallets: passed on as they are, bounded, and apart from the service's own reads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
import pytest

from quietswap.adapters.http import HttpClient
from quietswap.adapters.rpc import wallet_node
from quietswap.adapters.rpc.wallet_node import MOST_EXECUTING, MOST_TOGETHER, WalletNodeClient
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.wallet_rpc import NodeAnswer, NodeCall, NodeFailure
from tests.adapters.fake_node import FakeNode, Refusal, fake_node
from tests.adapters.manual_clock import ManualClock
from tests.waiting import WITHIN_S

ODD = b'{ "n" : 1.50, "big": 1e400, "s":"\\u00e9" }'


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


def refusing(code: int, message: str, data: str | None = None) -> Callable[..., Any]:
    def answer(*_: object) -> Any:
        raise Refusal(code, message, data)

    return answer


def client(http: HttpClient, *nodes: FakeNode, max_bytes: int = 1 << 20) -> WalletNodeClient:
    return WalletNodeClient(
        http, [node.url for node in nodes], ManualClock(), timeout_s=WITHIN_S, max_lag_blocks=3,
        max_bytes=max_bytes,
    )  # fmt: skip


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was reported as a failure of a node."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(wallet_node.observe, "node_failed", lambda *said: found.append(said))
    return found


async def test_a_result_keeps_its_bytes(http: HttpClient) -> None:
    async with fake_node(eth_call="@odd@", eth_gasPrice="0x1") as node:
        node.mangle = lambda replies: msgspec.json.encode(replies).replace(b'"@odd@"', ODD)
        calls = [NodeCall("eth_call", [{"to": "0x1"}]), NodeCall("eth_gasPrice")]
        assert await client(http, node).read(calls, "rpc_1") == [ODD, b'"0x1"']


async def test_an_error_of_a_call_is_the_wallet_s_and_no_failure_of_the_node(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(
        eth_call=refusing(3, "execution reverted", "0x08c379a0"),
        eth_getLogs=refusing(-32000, "header not found"),
        eth_gasPrice="0x1",
    ) as node:
        calls = [NodeCall("eth_call"), NodeCall("eth_getLogs"), NodeCall("eth_gasPrice")]
        answers = await client(http, node).read(calls, "rpc_1")
    assert answers == [
        NodeFailure(3, "execution reverted", "0x08c379a0"),
        NodeFailure(-32000, "header not found"),
        b'"0x1"',
    ]
    assert failures == []


async def test_an_answer_that_is_too_large_is_cut_off_and_reported(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(eth_getLogs="x" * 5000, eth_gasPrice="0x1") as node:
        reader = client(http, node, max_bytes=4000)
        with pytest.raises(NodeUnavailable, match="larger than 4000 bytes"):
            await reader.read([NodeCall("eth_getLogs")], "rpc_1")
        assert await reader.read([NodeCall("eth_gasPrice")], "rpc_1") == [b'"0x1"']
    assert len(failures) == 1


async def test_a_message_of_the_node_does_not_hold_its_url(http: HttpClient) -> None:
    async with fake_node(eth_gasPrice="0x1") as node:
        node.answers["eth_call"] = refusing(-32000, f"see {node.url}")
        [answer] = await client(http, node).read([NodeCall("eth_call")], "rpc_1")
    assert isinstance(answer, NodeFailure)
    assert node.url not in answer.message


class CountingNode(WalletNodeClient):
    """Answers batches itself, and holds those with executing calls until `free` is set."""

    def __init__(self, http: HttpClient) -> None:
        super().__init__(
            http, ["http://127.0.0.1:9"], ManualClock(),
            timeout_s=WITHIN_S, max_lag_blocks=3, max_bytes=1 << 20,
        )  # fmt: skip
        self.sizes: list[int] = []
        self.under_way = self.most = 0
        self.free = asyncio.Event()

    async def _batch(self, calls: Sequence[NodeCall]) -> Sequence[NodeAnswer]:
        self.sizes.append(len(calls))
        if any(call.method == "eth_call" for call in calls):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self.free.wait()
            self.under_way -= 1
        return [str(call.params[0]).encode() for call in calls]


def executing(count: int, start: int = 0) -> list[NodeCall]:
    return [NodeCall("eth_call", [place]) for place in range(start, start + count)]


async def test_calls_that_execute_take_turns_and_leave_the_node_time(http: HttpClient) -> None:
    """One eth_call may loop through all its gas: the node serves quotes and the tracker, too."""
    node = CountingNode(http)
    reads = [
        asyncio.create_task(node.read(executing(5, start=10 * caller), f"rpc_{caller}"))
        for caller in range(20)
    ]
    await asyncio.sleep(0.05)
    assert len(node.sizes) == node.under_way == MOST_EXECUTING
    assert await node.read([NodeCall("eth_getCode", [7])], "rpc_99") == [b"7"], "not held back"
    node.free.set()
    for caller, answers in enumerate(await asyncio.gather(*reads)):
        assert answers == [b"%d" % number for number in range(10 * caller, 10 * caller + 5)]
    assert node.most == MOST_EXECUTING
    await node.close()


async def test_a_large_batch_of_calls_that_execute_is_split_in_its_order(http: HttpClient) -> None:
    node = CountingNode(http)
    node.free.set()
    calls = executing(60)
    calls[3:3] = [NodeCall("eth_getCode", [1000])] * 5
    answers = await node.read(calls, "rpc_1")
    assert answers == [str(call.params[0]).encode() for call in calls]
    assert node.sizes == [MOST_TOGETHER + 5, MOST_TOGETHER, 10]
    node.sizes.clear()
    assert len(await node.read([NodeCall("eth_getCode", [1])] * 100, "rpc_1")) == 100
    assert node.sizes == [100], "what executes nothing is one batch"
    await node.close()


async def test_a_node_that_fails_frees_its_turn(http: HttpClient) -> None:
    async with fake_node() as node:
        node.mangle = lambda _: b"no JSON"
        reader = client(http, node)
        for _ in range(MOST_EXECUTING + 1):
            with pytest.raises(NodeUnavailable):
                await reader.read(executing(1), "rpc_1")
        node.mangle = None
        node.answers["eth_call"] = "0x1"
        assert await reader.read(executing(1), "rpc_1") == [b'"0x1"']
