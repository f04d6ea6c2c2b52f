"""Reports about nodes: each row is what a node answers to a batch of two reads, and the results."""

from typing import Any

import msgspec
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.orders.nonces import OwnNonces, next_nonce
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.fake_node import Refusal, fake_node
from tests.chain.small_chain import WALLET
from tests.chain.test_chain_answers import BLOCK
from tests.fake_web import Answer
from tests.manual_clock import ManualClock

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


WORDS: tuple[tuple[str, Answer, str], ...] = (
    (f"{_GH}INFURA/infura/issues/82", Answer(b"invalid host specified"), "invalid host specified"),
    (f"{_GH}web3/web3.js/issues/5236", Answer(b"non-json response", 503, "text/plain"),
     "HTTP status 503: non-json response"),
    (f"{_GH}bnb-chain/node-binary/issues/267",
     Answer(b"<html><title>502 Bad Gateway</title></html>", 502, "text/html"),
     "HTTP status 502: 502 Bad Gateway"),
    (f"{_GH}AlphaWallet/alpha-wallet-ios/pull/5177",
     Answer(b'{"message":"API rate limit exceeded"}', 429),
     "HTTP status 429: API rate limit exceeded"),
    (f"{_GH}fluencelabs/dev-rewards/issues/20",  # held before
     Answer(b'{"id":"1709215671","error":{"code":-32005,"message":"rate limit exceeded"}}', 429),
     "HTTP status 429: rate limit exceeded"),
    (f"{_GH}CirclesUBI/circles-myxogastria/issues/54",  # held before
     Answer(b'{"error":"daily request count exceeded, request rate limited"}'),
     "daily request count exceeded, request rate limited"),
    (f"{_GH}web3/web3.js/issues/5138", Answer(b""), "an unexpected structure"),  # held before
)  # fmt: skip
PENDING: tuple[tuple[str, Any], ...] = (
    (f"{_GH}status-im/nimbus-eth1/pull/4687",
     Refusal(-32000, "`eth_getTransactionCount` raised an exception")),
    (f"{_GH}mybucks-online/app/pull/63", Refusal(-32603, "internal error")),
    (f"{_GH}MetaMask/web3-provider-engine/issues/11", None),
    (f"{_GH}polkadot-evm/frontier/issues/171", "0x0"),  # held before
)  # fmt: skip


async def read(mangle: Any, calls: list[RpcCall]) -> tuple[list[Result], list[list[str]]]:
    """Return the results of a node whose replies are mangled, and the batches it got."""
    http = HttpClient()
    try:
        async with fake_node(**{call.method: "0x1" for call in CALLS}) as node:
            client = NodeRpcClient(http, [node.url], ManualClock(), timeout_s=5.0, max_lag_blocks=3)
            await client.batch(CALLS[:1])  # proves the chain id
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
        chain_id, first, *others = replies  # each batch asks for the chain first
        return msgspec.json.encode([chain_id, {"id": str(first["id"])} | odd, *others])

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
    sizes = [len(batch) for batch in batches]
    assert sizes.count(1 + len(CALLS)) == 1  # it is remembered; each batch has the chain id, too


async def test_the_words_of_a_refused_batch_are_in_the_error() -> None:
    def mangle(_: Any) -> Answer:
        return Answer(b'{"error":{"code":-32000,"message":"invalid project id"}}', 401)

    with pytest.raises(NodeUnavailable, match="HTTP status 401: invalid project id"):
        await read(mangle, CALLS)


@pytest.mark.parametrize(("source", "answer", "words"), WORDS, ids=[e[0] for e in WORDS])
async def test_what_a_node_says_in_place_of_an_answer_is_in_the_error(
    source: str, answer: Answer, words: str
) -> None:
    with pytest.raises(NodeUnavailable) as failed:
        await read(lambda _: answer, CALLS)
    assert words in str(failed.value)


@pytest.mark.parametrize(("source", "pending"), PENDING, ids=[e[0] for e in PENDING])
async def test_a_node_without_a_mempool_still_serves_quotes(source: str, pending: Any) -> None:
    def count(_: str, tag: str) -> object:
        if tag == "pending" and isinstance(pending, Refusal):
            raise pending
        return pending if tag == "pending" else "0x7"

    http, clock = HttpClient(), ManualClock()
    try:
        async with fake_node(eth_getTransactionCount=count) as node:
            rpc = NodeRpcClient(http, [node.url], clock, timeout_s=5.0, max_lag_blocks=3)
            found = await NodeChain(rpc, clock).pending_nonce(WALLET)
    finally:
        await http.close()
    assert next_nonce(7, found, OwnNonces()) == 7


async def test_a_block_that_one_backend_does_not_know_is_asked_for_again() -> None:
    """https://github.com/Crossbell-Box/crossbell.js/issues/40: it is an error, not null."""
    asked = 0

    def block(number: str, _: bool) -> object:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Refusal(-32000, "block number 100 is not mined")
        return BLOCK

    http, clock = HttpClient(), ManualClock()
    try:
        async with fake_node(eth_getBlockByNumber=block) as node:
            rpc = NodeRpcClient(http, [node.url], clock, timeout_s=5.0, max_lag_blocks=3)
            chain = NodeChain(rpc, clock)
            await chain.newest_number()
            found = await chain.block(100)
    finally:
        await http.close()
    assert found is not None
    assert (found.number, asked) == (100, 2)
