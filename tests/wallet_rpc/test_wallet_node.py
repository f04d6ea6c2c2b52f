"""Reads of wallets: passed on as they are, bounded, and apart from the service's own reads."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import RpcCall, RpcErrorObject
from quietswap.rules.clients import visitor_id
from quietswap.rules.tx.address import Address
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.multicall import MULTICALL3
from quietswap.service.node.simulation.transfer_fee import TransferFeeMeter
from quietswap.service.node.token_metadata import TokenReader
from quietswap.service.node.work import PLACES, Lane
from quietswap.service.wallet_rpc import node as wallet_node
from quietswap.service.wallet_rpc.node import MOST_TOGETHER, WalletNodeClient
from tests.chain.fake_node import FakeNode, Refusal, fake_node
from tests.fake_web import Answer, Request, serving
from tests.manual_clock import ManualClock
from tests.waiting import WITHIN_S, eventually

SLOW_PLACES, QUICK_PLACES = PLACES[Lane.OPEN][0], PLACES[Lane.USUAL][0]
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


def client(
    http: HttpClient, *nodes: FakeNode, max_bytes: int = 1 << 20, timeout_s: float = WITHIN_S
) -> WalletNodeClient:
    return WalletNodeClient(
        http, [node.url for node in nodes], ManualClock(), timeout_s=timeout_s, max_lag_blocks=3,
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
        calls = [RpcCall("eth_call", [{"to": "0x1"}]), RpcCall("eth_gasPrice")]
        assert await client(http, node).read(calls, "rpc_1") == [ODD, b'"0x1"']


async def test_an_error_of_a_call_is_the_wallet_s_and_no_failure_of_the_node(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(
        eth_call=refusing(3, "execution reverted", "0x08c379a0"),
        eth_getLogs=refusing(-32000, "header not found"),
        eth_gasPrice="0x1",
    ) as node:
        calls = [RpcCall("eth_call"), RpcCall("eth_getLogs"), RpcCall("eth_gasPrice")]
        answers = await client(http, node).read(calls, "rpc_1")
    assert answers == [
        RpcErrorObject(3, "execution reverted", "0x08c379a0"),
        RpcErrorObject(-32000, "header not found"),
        b'"0x1"',
    ]
    assert failures == []


async def test_an_answer_that_is_too_large_is_cut_off_and_reported(
    http: HttpClient, failures: list[tuple[Any, ...]]
) -> None:
    async with fake_node(eth_getLogs="x" * 5000, eth_gasPrice="0x1") as node:
        reader = client(http, node, max_bytes=4000)
        with pytest.raises(NodeUnavailable, match="larger than 4000 bytes"):
            await reader.read([RpcCall("eth_getLogs")], "rpc_1")
        assert await reader.read([RpcCall("eth_gasPrice")], "rpc_1") == [b'"0x1"']
    assert len(failures) == 1


async def test_a_message_of_the_node_does_not_hold_its_url(http: HttpClient) -> None:
    async with fake_node(eth_gasPrice="0x1") as node:
        node.answers["eth_call"] = refusing(-32000, f"see {node.url}")
        [answer] = await client(http, node).read([RpcCall("eth_call")], "rpc_1")
    assert isinstance(answer, RpcErrorObject)
    assert node.url not in answer.message


async def test_an_address_in_words_of_the_node_is_masked(http: HttpClient) -> None:
    """One behind a proxy is nobody's business."""
    async with fake_node(eth_gasPrice="0x1") as node:
        node.answers["eth_call"] = refusing(-32000, "dial tcp node-7.internal:8545: refused")
        [answer] = await client(http, node).read([RpcCall("eth_call")], "rpc_1")
    assert isinstance(answer, RpcErrorObject)
    assert answer.message == "dial tcp ***: refused"


def executing(count: int, start: int = 0) -> list[RpcCall]:
    return [RpcCall("eth_call", [place]) for place in range(start, start + count)]


def visitor(address: int, session: int = 0) -> str:
    return visitor_id(f"192.0.2.{address}", b"salt", f"{session:016x}")


class Working(FakeNode):
    """A node that works on each batch with an eth_call until `free` is set, whoever waits."""

    def __init__(self) -> None:
        super().__init__()
        self.reader: WalletNodeClient
        self.free = asyncio.Event()
        self.under_way: list[object] = []
        """The first parameter of each batch that it works on, in their order."""

    def respond(self, request: Request) -> Answer:
        calls = msgspec.json.decode(request.body)
        answer = super().respond(request)
        if any(call["method"] == "eth_call" for call in calls):
            self.under_way.append(calls[1]["params"][0])  # after the chain id
            answer.until = self.free
        return answer

    async def works_on(self, count: int) -> list[object]:
        """Return what it works on, once that are `count` batches and nothing more arrives."""

        async def do_so() -> bool:
            return len(self.under_way) >= count

        await eventually(do_so)
        await self.nothing_arrives()
        return self.under_way

    async def nothing_arrives(self) -> None:
        """Let everything that can be sent be sent: another read comes after all of it."""
        for _ in range(3):
            await self.reader.read([RpcCall("eth_getCode")], "another")


@pytest.fixture
async def working(http: HttpClient) -> AsyncIterator[Working]:
    node = Working()
    node.answers |= {"eth_call": lambda first, *_: first, "eth_getCode": "0x"}
    async with serving(node.respond) as web:
        node.web = web
        node.reader = client(http, node)
        yield node
        node.free.set()
        await node.reader.close()


async def test_calls_that_execute_take_turns_and_leave_the_node_time(working: Working) -> None:
    """One eth_call may loop through all its gas: the node serves quotes and the tracker, too."""
    asked = [working.reader.read(executing(5, start=10 * n), f"client {n}") for n in range(20)]
    reads = [asyncio.ensure_future(one) for one in asked]
    assert len(await working.works_on(SLOW_PLACES)) == SLOW_PLACES
    working.free.set()
    for caller, answers in enumerate(await asyncio.gather(*reads)):
        assert answers == [b"%d" % number for number in range(10 * caller, 10 * caller + 5)]
    assert len(working.under_way) == 20


async def test_a_place_is_kept_as_long_as_the_node_works(
    http: HttpClient, working: Working
) -> None:
    """A node does not stop because nobody waits for its answer any more."""
    hasty = client(http, working, timeout_s=0.05)
    with pytest.raises(NodeUnavailable, match="in time"):
        await hasty.read(executing(1), visitor(1))
    left = asyncio.ensure_future(hasty.read(executing(1, start=1), visitor(1)))
    await working.nothing_arrives()
    left.cancel()
    crowd = [visitor(n % 5, n) for n in range(40)]
    reads = [hasty.read(executing(1, start=n + 2), one) for n, one in enumerate(crowd)]
    waiting = [asyncio.ensure_future(one) for one in reads]
    waiting.append(asyncio.ensure_future(hasty.read(executing(1, start=100), "client")))
    assert await working.works_on(2) == [0, 100], "one of all visitors, and one of a client"
    working.free.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await hasty.read(executing(1, start=200), visitor(2)) == [b"200"]
    await hasty.close()


async def test_a_reader_that_went_away_leaves_its_place_to_the_node(working: Working) -> None:
    first = asyncio.ensure_future(working.reader.read(executing(1), "client"))
    await working.works_on(1)
    first.cancel()
    second = asyncio.ensure_future(working.reader.read(executing(1, start=1), "client"))
    await working.nothing_arrives()
    assert working.under_way == [0]
    working.free.set()
    assert await second == [b"1"]


async def test_balances_and_tokens_that_a_visitor_asks_for_take_its_turns(
    working: Working,
) -> None:
    """A hostile token burns gas in `balanceOf` as well as in any other call."""
    tokens = TokenReader(working.reader.reads_of, ManualClock(), TransferFeeMeter(ManualClock()))
    hostile = [Address(f"0x{n:040x}") for n in range(1, 60)]
    asked = [
        tokens.holdings(hostile[0], hostile, [], visitor(1)),
        tokens.details(hostile[0], visitor(1, 1)),
        tokens.transfer_fee(hostile[1], visitor(1, 2)),
        working.reader.read(executing(1, start=7), visitor(1, 3)),
        working.reader.read(executing(1, start=8), "client"),
    ]
    waiting = [asyncio.ensure_future(one) for one in asked]
    of_visitors = [one for one in await working.works_on(2) if one != 8]
    assert [one["to"] for one in of_visitors] == [MULTICALL3]  # type: ignore[index]
    assert max(batch.count("eth_call") for batch in working.batches) == MOST_TOGETHER
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_visitors_take_turns_by_address_and_not_by_session(working: Working) -> None:
    rude = [visitor(1, session) for session in range(30)]
    reads = [working.reader.read(executing(1, start=n), one) for n, one in enumerate(rude)]
    waiting = [asyncio.ensure_future(one) for one in reads]
    await working.works_on(1)
    waiting.append(asyncio.ensure_future(working.reader.read(executing(1, start=99), visitor(2))))
    await working.nothing_arrives()
    working.free.set()
    await asyncio.gather(*waiting)
    assert working.under_way[:3] in ([0, 99, 1], [0, 1, 99])


async def test_quick_reads_are_bounded_too(http: HttpClient) -> None:
    node = FakeNode()
    free = asyncio.Event()
    async with serving(lambda _: Answer(b"", until=free)) as web:
        node.web = web
        reader = client(http, node)
        reads = [
            reader.read([RpcCall("eth_getCode", [n])], name)
            for n in range(40)
            for name in (visitor(n), f"client {n}")
        ]
        waiting = [asyncio.ensure_future(one) for one in reads]

        async def all_places_are_taken() -> bool:
            return len(web.requests) >= QUICK_PLACES

        await eventually(all_places_are_taken)
        assert len(web.requests) == QUICK_PLACES
        for one in waiting:
            one.cancel()
        free.set()
        await asyncio.gather(*waiting, return_exceptions=True)
        await reader.close()


async def test_a_large_batch_of_slow_calls_is_split_in_its_order(working: Working) -> None:
    working.free.set()
    working.answers["eth_getCode"] = lambda number: number
    working.answers["eth_getLogs"] = lambda number: number
    calls = executing(60)
    calls[3:3] = [RpcCall("eth_getCode", [1000])] * 5
    calls[30] = RpcCall("eth_getLogs", [30])
    answers = await working.reader.read(calls, "client")
    assert answers == [str(call.params[0]).encode() for call in calls]
    sizes = [len(batch) - batch.count("eth_chainId") for batch in working.batches]
    assert sizes == [MOST_TOGETHER + 5, MOST_TOGETHER, 10]
    assert len(await working.reader.read([RpcCall("eth_getCode", [1])] * 99, "client")) == 99
    assert len(working.batches) == 4, "what is quick is one batch"


async def test_a_node_that_fails_frees_its_turn(http: HttpClient) -> None:
    async with fake_node() as node:
        node.mangle = lambda _: b"no JSON"
        reader = client(http, node)
        for _ in range(SLOW_PLACES + 1):
            with pytest.raises(NodeUnavailable):
                await reader.read(executing(1), "rpc_1")
        node.mangle = None
        node.answers["eth_call"] = "0x1"
        assert await reader.read(executing(1), "rpc_1") == [b'"0x1"']
