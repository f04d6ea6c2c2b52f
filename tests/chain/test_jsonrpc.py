import asyncio
import math
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeCall, RpcCall, RpcErrorObject, number, or_none, value
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.fake_node import FakeNode, Refusal, fake_node
from tests.defaults import NODE
from tests.fake_web import Answer
from tests.manual_clock import ManualClock
from tests.waiting import WITHIN_S

GAS, NONCE = RpcCall("eth_gasPrice"), RpcCall("eth_getTransactionCount", ("0x0", "latest"))


class Bench:
    """A client over some nodes, its clock, and what it reported as failed."""

    def __init__(self, http: HttpClient, *nodes: FakeNode, timeout_s: float = 2.0) -> None:
        self.clock = ManualClock()
        self.failures: list[tuple[str, str]] = []
        self.rpc = NodeRpcClient(
            http,
            [node.url for node in nodes],
            self.clock,
            timeout_s=timeout_s,
            on_failure=lambda node, _kind, reason: self.failures.append((node, reason)),
            max_lag_blocks=NODE["max_lag_blocks"],
        )

    async def gas(self) -> str:
        return value((await self.rpc.batch([GAS]))[0], str)


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


@pytest.fixture
async def one() -> AsyncIterator[FakeNode]:
    async with fake_node(eth_gasPrice="0x1", eth_getTransactionCount="0x5") as node:
        yield node


@pytest.fixture
async def two() -> AsyncIterator[FakeNode]:
    async with fake_node(eth_gasPrice="0x2", eth_getTransactionCount="0x5") as node:
        yield node


async def test_results_come_in_the_order_of_the_calls(http: HttpClient, one: FakeNode) -> None:
    one.mangle = lambda replies: msgspec.json.encode(replies[::-1])
    results = await Bench(http, one).rpc.batch([GAS, NONCE])
    assert [value(result, str) for result in results] == ["0x1", "0x5"]


async def test_one_batch_is_one_request(http: HttpClient, one: FakeNode) -> None:
    bench = Bench(http, one)
    await bench.rpc.batch([GAS, NONCE])
    await bench.rpc.batch([GAS, NONCE])
    assert one.batches == [
        ["eth_chainId", "eth_gasPrice", "eth_getTransactionCount"],
        ["eth_chainId", "eth_gasPrice", "eth_getTransactionCount"],
    ]


async def test_nothing_is_asked_of_nobody(http: HttpClient, one: FakeNode) -> None:
    assert await Bench(http, one).rpc.batch([]) == []
    assert one.batches == []


async def test_an_error_stands_for_its_call_alone(http: HttpClient, one: FakeNode) -> None:
    def revert() -> str:
        raise Refusal(3, "execution reverted: no", "0x08c379a0")

    one.answers["eth_gasPrice"] = revert
    failed, fine = await Bench(http, one).rpc.batch([GAS, NONCE])
    assert failed == RpcErrorObject(3, "execution reverted: no", "0x08c379a0")
    assert value(fine, str) == "0x5"
    with pytest.raises(NodeUnavailable, match="error 3"):
        value(failed, str)


async def test_null_is_told_from_a_value(http: HttpClient, one: FakeNode) -> None:
    one.answers["eth_gasPrice"] = None
    nothing, something = await Bench(http, one).rpc.batch([GAS, NONCE])
    quantity = NodeCall("eth_gasPrice", (), partial(or_none, number))
    assert quantity.value(nothing) is None
    assert quantity.value(something) == 5


Mangle = Callable[[list[dict[str, Any]]], Answer | bytes]

MANGLED: dict[str, Mangle] = {
    "a reply is missing": lambda r: msgspec.json.encode(r[1:]),
    "a reply comes twice": lambda r: msgspec.json.encode([*r[1:], r[1]]),
    "one reply too many": lambda r: msgspec.json.encode([*r, r[0]]),
    "a foreign id": lambda r: msgspec.json.encode([r[0] | {"id": 10**6}, *r[1:]]),
    "no result": lambda r: msgspec.json.encode([{"jsonrpc": "2.0", "id": r[0]["id"]}, *r[1:]]),
    "result and error": lambda r: msgspec.json.encode(
        [r[0] | {"error": {"code": 1, "message": "x"}}, *r[1:]]
    ),
    "an error instead of a batch": lambda r: msgspec.json.encode(
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}}
    ),
    "an empty list": lambda r: b"[]",
    "an empty body": lambda r: b"",
    "html": lambda r: Answer(b"<html>Sign in</html>", content_type="text/html"),
    "garbage": lambda r: b"\xff\xfe\x00[{",
    "deep json": lambda r: b"[" * 100_000,
    "a deep result": lambda r: b'[{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000,
    "status 500": lambda r: Answer(msgspec.json.encode(r), status=500),
    "status 429": lambda r: Answer(msgspec.json.encode(r), status=429),
    "a redirect": lambda r: Answer(b"", status=302),
    "cut off": lambda r: Answer(msgspec.json.encode(r), cut=True),
    "silence": lambda r: Answer(b"", hang=True),
}
PATIENCE_S = {"silence": 3.0}


ODD_ENTRIES = {"no result", "result and error"}
"""These void their entry alone."""


@pytest.mark.parametrize("name", sorted(MANGLED.keys() - ODD_ENTRIES))
async def test_half_an_answer_is_no_information(name: str, http: HttpClient, one: FakeNode) -> None:
    bench = Bench(http, one, timeout_s=PATIENCE_S.get(name, WITHIN_S))
    one.mangle = MANGLED[name]
    with pytest.raises(NodeUnavailable):
        await bench.rpc.batch([GAS, NONCE])
    assert len(bench.failures) == (2 if name == "an error instead of a batch" else 1)


@pytest.mark.parametrize("name", MANGLED)
async def test_the_next_node_is_used_when_one_fails(
    name: str, http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    bench = Bench(http, one, two, timeout_s=PATIENCE_S.get(name, WITHIN_S))
    one.mangle = MANGLED[name]
    results = await bench.rpc.batch([GAS, NONCE])
    assert [value(result, str) for result in results] == ["0x2", "0x5"]


async def test_a_refused_connection_is_no_information(http: HttpClient) -> None:
    async with fake_node() as gone:
        bench = Bench(http, gone)
    with pytest.raises(NodeUnavailable):
        await bench.gas()


async def test_the_node_that_served_well_stays(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    bench = Bench(http, one, two)
    assert await bench.gas() == "0x1"
    one.mangle = MANGLED["status 500"]
    assert await bench.gas() == "0x2"
    one.mangle = None
    assert await bench.gas() == "0x2"
    two.mangle = MANGLED["status 500"]
    assert await bench.gas() == "0x1"


async def test_a_lagging_node_is_not_used(http: HttpClient, one: FakeNode, two: FakeNode) -> None:
    one.height, two.height = 96, 100
    assert await Bench(http, one, two).gas() == "0x2"
    assert one.served == []


async def test_a_few_blocks_behind_is_no_lag(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    one.height, two.height = 97, 100
    assert await Bench(http, one, two).gas() == "0x1"


async def test_lag_is_looked_at_again(http: HttpClient, one: FakeNode, two: FakeNode) -> None:
    bench = Bench(http, one, two)
    assert await bench.gas() == "0x1"
    two.height = 110
    bench.clock.advance(6)
    states = await bench.rpc.probe()
    assert [(state.height, state.lags) for state in states] == [(100, True), (110, False)]
    assert await bench.gas() == "0x2"
    one.height = 110
    await bench.rpc.probe()
    two.mangle = MANGLED["garbage"]
    assert await bench.gas() == "0x1"
    await bench.rpc.close()


async def test_a_height_has_the_age_of_its_reading(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    two.mangle = MANGLED["garbage"]
    bench = Bench(http, one, two)
    await bench.rpc.probe()
    bench.clock.advance(6)
    one.mangle = MANGLED["garbage"]
    await bench.rpc.probe()
    seen = [(node.height, node.age_s) for node in bench.rpc.nodes()]
    assert seen == [(100, 6), (None, math.inf)]


async def test_a_probe_says_what_is_wrong(http: HttpClient, one: FakeNode, two: FakeNode) -> None:
    one.chain_id = 137
    two.mangle = MANGLED["status 429"]
    states = await Bench(http, one, two).rpc.probe()
    assert [state.reason for state in states] == [
        "it serves chain 137, not 1",
        "HTTP status 429",
    ]


async def test_a_node_of_another_chain_is_never_used(http: HttpClient, one: FakeNode) -> None:
    one.chain_id = 137
    bench = Bench(http, one)
    for _ in range(2):
        with pytest.raises(NodeUnavailable, match="it serves chain 137, not 1"):
            await bench.gas()


async def test_a_url_that_begins_to_lead_to_another_chain_is_used_no_more(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    """A restarted test node, a provider's route or a DNS record may change at any time."""
    bench = Bench(http, one)
    assert await bench.gas() == "0x1"
    one.chain_id = 11155111
    with pytest.raises(NodeUnavailable, match="it serves chain 11155111, not 1"):
        await bench.gas()
    one.chain_id = 1
    assert await bench.gas() == "0x1"
    both = Bench(http, one, two)
    assert await both.gas() == "0x1"
    one.chain_id = 11155111
    assert await both.gas() == "0x2"


async def test_a_batch_limit_of_one_leaves_each_answer_proven(
    http: HttpClient, one: FakeNode
) -> None:
    def limited(replies: list[dict[str, Any]]) -> bytes:
        if len(replies) == 1:
            return msgspec.json.encode(replies)
        return msgspec.json.encode(REFUSED | {"id": None})

    one.mangle = limited
    bench = Bench(http, one)
    assert [value(r, str) for r in await bench.rpc.batch([GAS, NONCE])] == ["0x1", "0x5"]
    one.chain_id = 5
    with pytest.raises(NodeUnavailable, match="it serves chain 5"):
        await bench.gas()


REFUSED = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "batch too large"}}


@pytest.mark.parametrize("limit", [2, 5])
async def test_a_limit_is_learned_from_a_list_of_one_entry(
    limit: int, http: HttpClient, one: FakeNode
) -> None:
    """geth with --rpc.batch-request-limit answers so, with the id of the first call."""

    def limited(replies: list[dict[str, Any]]) -> bytes:
        if len(replies) <= limit:
            return msgspec.json.encode(replies)
        return msgspec.json.encode([REFUSED | {"id": replies[0]["id"]}])

    one.mangle = limited
    bench = Bench(http, one)
    results = await bench.rpc.batch([GAS, NONCE] * 9)
    assert [value(result, str) for result in results] == ["0x1", "0x5"] * 9
    learned = len(one.batches)
    await bench.rpc.batch([GAS, NONCE] * 9)
    assert max(map(len, one.batches[learned:])) <= limit, "it is remembered"


@pytest.mark.parametrize("code", [-32003, -32008])
async def test_calls_that_an_answer_had_no_room_for_are_asked_again(
    code: int, http: HttpClient, one: FakeNode
) -> None:
    """geth answers 25 MB, and each later entry with an error."""

    def full(replies: list[dict[str, Any]]) -> bytes:
        error = {"code": code, "message": "response too large"}
        return msgspec.json.encode(
            [*replies[:3], *({"id": r["id"], "error": error} for r in replies[3:])]
        )

    one.mangle = full
    results = await Bench(http, one).rpc.batch([GAS, NONCE] * 4)
    assert [value(result, str) for result in results] == ["0x1", "0x5"] * 4


@pytest.mark.parametrize(("status", "is_paused"), [(429, False), (503, False), (500, True)])
async def test_a_busy_node_is_not_paused(
    status: int, is_paused: bool, http: HttpClient, one: FakeNode
) -> None:
    """Nethermind answers 503 to what waits for more than half a second."""
    bench = Bench(http, one)
    one.mangle = lambda replies: Answer(b'{"error":{"code":-32005}}', status=status)
    for _ in range(4):
        with pytest.raises(NodeUnavailable, match=f"HTTP status {status}"):
            await bench.gas()
    assert [node.is_paused for node in bench.rpc.nodes()] == [is_paused]


async def test_the_only_node_is_asked_again_at_once(http: HttpClient, one: FakeNode) -> None:
    bench = Bench(http, one)
    one.mangle = MANGLED["status 500"]
    for _ in range(5):
        with pytest.raises(NodeUnavailable):
            await bench.gas()
    assert len(one.batches) == 5
    one.mangle = None
    assert await bench.gas() == "0x1"


async def test_a_node_in_trouble_is_asked_elsewhere(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    def overloaded() -> str:
        raise Refusal(-32005, "limit exceeded")

    one.answers["eth_gasPrice"] = overloaded
    assert await Bench(http, one, two).gas() == "0x2"


async def test_a_verdict_is_not_asked_twice(http: HttpClient, one: FakeNode, two: FakeNode) -> None:
    def reverts() -> str:
        raise Refusal(-32000, "execution reverted")

    one.answers["eth_gasPrice"] = reverts
    [result] = await Bench(http, one, two).rpc.batch([GAS])
    assert isinstance(result, RpcErrorObject)
    assert result.is_verdict
    assert two.served == []


async def test_a_missing_method_is_looked_for_at_the_others_and_remembered(
    http: HttpClient, one: FakeNode, two: FakeNode
) -> None:
    bench = Bench(http, one, two)
    del one.answers["eth_gasPrice"]
    assert await bench.gas() == "0x2"
    del two.answers["eth_gasPrice"]
    [result] = await bench.rpc.batch([GAS])
    assert isinstance(result, RpcErrorObject)
    assert result.is_unsupported
    assert one.served == ["eth_gasPrice"]


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/v3/0123456789abcdef", "0123456789abcdef"),
        ("/?apikey=topsecret1", "topsecret1"),
    ],
)
async def test_keys_in_urls_never_show(
    path: str, secret: str, http: HttpClient, one: FakeNode
) -> None:
    def blab() -> str:
        raise Refusal(-32000, f"project {secret} is over its limit, see {one.url}{path}")

    one.answers["eth_gasPrice"] = blab
    said: list[str] = []
    rpc = NodeRpcClient(
        http,
        [one.url + path],
        ManualClock(),
        on_failure=lambda node, kind, reason: said.append(node + kind + reason),
        **NODE,
    )
    with pytest.raises(NodeUnavailable) as down:
        value((await rpc.batch([GAS]))[0], str)
    one.mangle = MANGLED["status 500"]
    with pytest.raises(NodeUnavailable) as again:
        await rpc.batch([GAS])
    assert len(said) == 2
    assert all(secret not in text for text in (str(down.value), str(again.value), *said))


def test_a_client_needs_a_node() -> None:
    with pytest.raises(ValueError, match="at least one"):
        NodeRpcClient(None, [], ManualClock(), **NODE)  # type: ignore[arg-type]


async def test_calls_at_once_each_get_their_own_answers(http: HttpClient, one: FakeNode) -> None:
    bench = Bench(http, one)
    assert await asyncio.gather(*(bench.gas() for _ in range(5))) == ["0x1"] * 5
