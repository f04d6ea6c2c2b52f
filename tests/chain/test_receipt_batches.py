"""Large receipts of one sender do not hide the receipts of others."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.fake_node import FakeNode, Refusal, fake_node
from tests.chain.test_chain_answers import RECEIPT
from tests.defaults import NODE
from tests.fake_web import Answer
from tests.manual_clock import ManualClock

BODY = 20_000
LARGE = "0x" + "ab" * 1_500
HASHES = [f"0x{n:064x}" for n in range(16)]
RECEIPTS = "eth_getTransactionReceipt"


def large(tx_hash: str) -> dict[str, Any]:
    return RECEIPT | {"transactionHash": tx_hash, "logs": [{"data": LARGE}]}


@pytest.fixture
async def node() -> AsyncIterator[FakeNode]:
    async with fake_node(**{RECEIPTS: large}) as node:
        yield node


@pytest.fixture
async def chain(node: FakeNode) -> AsyncIterator[NodeChain]:
    http, clock = HttpClient(), ManualClock()
    rpc = NodeRpcClient(http, [node.url], clock, **NODE, max_bytes=BODY)
    yield NodeChain(rpc, clock, batch_size=17)
    await http.close()


def asked(node: FakeNode) -> list[int]:
    """Return the number of receipts in each batch of receipts."""
    return [batch.count(RECEIPTS) for batch in node.batches if RECEIPTS in batch]


async def test_batches_shrink_until_the_receipts_fit(chain: NodeChain, node: FakeNode) -> None:
    found = await chain.receipts(HASHES)
    assert list(found) == HASHES
    assert None not in found.values()
    assert asked(node) == [15, 7, 3, 3, 3, 3, 3, 1]


async def test_a_receipt_that_never_fits_is_left_out_alone(
    chain: NodeChain, node: FakeNode
) -> None:
    node.answers[RECEIPTS] = lambda h: large(h) | ({"logs": "0x" * BODY} if h == HASHES[5] else {})
    with capture_logs() as lines:
        found = await chain.receipts(HASHES)
    assert [h for h in HASHES if h not in found] == [HASHES[5]]
    [line] = [line for line in lines if line["event"] == "receipts_unread"]
    assert (line["count"], line["first"]) == (1, HASHES[5])


async def test_a_node_that_limits_a_batch_is_asked_again_for_the_rest(
    chain: NodeChain, node: FakeNode
) -> None:
    """As geth does at 25 MB: it answers the first calls, and the others with errors."""

    def limited(replies: list[dict[str, Any]]) -> bytes:
        error = {"code": -32003, "message": "response too large"}
        return msgspec.json.encode(
            [
                *replies[:5],
                *({"jsonrpc": "2.0", "id": r["id"], "error": error} for r in replies[5:]),
            ]
        )

    node.answers[RECEIPTS] = lambda h: RECEIPT | {"transactionHash": h}
    await chain.receipts(HASHES[:1])
    node.mangle = limited
    found = await chain.receipts(HASHES)
    assert set(found) == set(HASHES)
    assert asked(node) == [1, 15, 12, 8, 4, 1]


async def test_one_refused_receipt_is_left_out(chain: NodeChain, node: FakeNode) -> None:
    def answer(tx_hash: str) -> dict[str, Any]:
        if tx_hash == HASHES[2]:
            raise Refusal(-32000, "it cannot be read")
        return RECEIPT | {"transactionHash": tx_hash}

    node.answers[RECEIPTS] = answer
    assert HASHES[2] not in await chain.receipts(HASHES[:4])
    assert await chain.receipts([HASHES[2]]) == {}


async def test_a_node_that_is_away_is_not_asked_again_and_again(
    chain: NodeChain, node: FakeNode
) -> None:
    node.mangle = lambda replies: Answer(b"", status=503)
    with pytest.raises(NodeUnavailable):
        await chain.receipts(HASHES)
    assert len(node.batches) == 2, "the batch and one small call"


async def test_a_node_that_refuses_every_call_is_away(chain: NodeChain, node: FakeNode) -> None:
    def refuse(*_: object) -> None:
        raise Refusal(-32005, "rate limited")

    node.answers |= {RECEIPTS: refuse, "eth_blockNumber": refuse}
    with pytest.raises(NodeUnavailable):
        await chain.receipts(HASHES)
    assert asked(node) == [15]


async def test_a_large_answer_does_not_pause_the_node(node: FakeNode) -> None:
    """The node answers; a pause would take it from the quotes of all clients."""
    http, clock = HttpClient(), ManualClock()
    async with fake_node(**{RECEIPTS: large}) as second:
        urls = [node.url, second.url]
        rpc = NodeRpcClient(http, urls, clock, **NODE, max_bytes=BODY, failures=1)
        chain = NodeChain(rpc, clock, batch_size=17)
        assert len(await chain.receipts(HASHES)) == 16
        node.mangle = lambda replies: Answer(b"", status=503)
        assert len(await chain.receipts(HASHES[:1])) == 1, "the second node is asked"
    await http.close()
