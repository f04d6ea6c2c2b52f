"""Reports about nodes: each row is what a node answers to a batch of two reads, and the results."""

from typing import Any

import msgspec
import pytest

from quietswap.chain.chain import NodeUnavailable
from quietswap.chain.rpc import NodeRpcClient
from quietswap.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.http_client import HttpClient
from tests.adapters.fake_node import fake_node
from tests.adapters.fake_web import Answer
from tests.adapters.manual_clock import ManualClock

_GH = "https://github.com/"
CALLS = [RpcCall("eth_a"), RpcCall("eth_b"), RpcCall("eth_c"), RpcCall("eth_d")]
ENTRIES: tuple[tuple[str, dict[str, Any], str], ...] = (
    (f"{_GH}erigontech/erigon/issues/19267",
     {"result": None, "error": {"code": -32000, "message": "pruned"}}, "-32000 pruned"),
    (f"{_GH}AlphaWallet/alpha-wallet-ios/issues/6614",
     {"error": {"code": "-32001", "message": "bad key"}}, "-32001 bad key"),
    ("issue 41: an error that is a text", {"error": "no such key"}, "-32603 no such key"),
    ("issue 41: a word as its code", {"error": {"code": "LIMIT", "message": "slow down"}},
     "-32603 slow down"),
    ("issue 41: neither", {}, "-32603 an empty entry"),
)  # fmt: skip
LIMITS = (
    (f"{_GH}hemilabs/ui-monorepo/issues/887", 200, "Batch of more than 3 requests are not allowed"),
    (f"{_GH}erigontech/erigon/issues/17245", 200, "batch limit 3 exceeded"),
    ("issue 41: with a status", 413, "batch too large"),
)


async def read(mangle: Any, calls: list[RpcCall]) -> tuple[list[Result], list[list[str]]]:
    """Return the results of a node whose replies are mangled, and the batches it got."""
    http = HttpClient()
    try:
        async with fake_node(**{call.method: "0x1" for call in CALLS}) as node:
            client = NodeRpcClient(http, [node.url], ManualClock(), timeout_s=5.0, max_lag_blocks=3)
            await client.call("eth_a")  # proves the chain id
            node.web.requests.clear()
            node.mangle = mangle
            results = await client.batch(calls)
            results = await client.batch(calls)
            return results, node.batches
    finally:
        await http.close()


def shown(result: Result) -> str:
    if isinstance(result, RpcErrorObject):
        return f"{result.code} {result.message}"
    return bytes(result).decode()


@pytest.mark.parametrize(("source", "odd", "expected"), ENTRIES, ids=[e[0] for e in ENTRIES])
async def test_one_odd_entry_is_an_error_of_that_entry(
    source: str, odd: dict[str, Any], expected: str
) -> None:
    def mangle(replies: list[dict[str, Any]]) -> bytes:
        return msgspec.json.encode([{"id": str(replies[0]["id"])} | odd, *replies[1:]])

    results, _ = await read(mangle, CALLS[:2])
    assert [shown(result) for result in results] == [expected, '"0x1"']


@pytest.mark.parametrize(("source", "status", "text"), LIMITS, ids=[e[0] for e in LIMITS])
async def test_a_batch_limit_is_learned_from_the_refusal(
    source: str, status: int, text: str
) -> None:
    def mangle(replies: list[dict[str, Any]]) -> Answer:
        if len(replies) > 3:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": text}}
            return Answer(msgspec.json.encode(error), status)
        return Answer(msgspec.json.encode(replies))

    results, batches = await read(mangle, CALLS)
    assert [shown(result) for result in results] == ['"0x1"'] * 4
    assert [len(batch) for batch in batches].count(4) == 1  # it is remembered


async def test_the_words_of_a_refused_batch_are_in_the_error() -> None:
    def mangle(_: Any) -> Answer:
        return Answer(b'{"error":{"code":-32000,"message":"invalid project id"}}', 401)

    with pytest.raises(NodeUnavailable, match="HTTP status 401: invalid project id"):
        await read(mangle, CALLS)
