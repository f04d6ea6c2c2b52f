"""A scripted node that answers simulations: payloads that read, and payloads that swap."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.sandbox.contracts import abi
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.fake_node import FakeNode, fake_node
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import NOBODY, VENUE, odd
from tests.defaults import NODE
from tests.manual_clock import ManualClock

AMOUNT = 1_000_000
REQUEST = RouteRequest(odd("Ordinary"), odd("Bought"), AMOUNT, NOBODY, 50, 10**9, 2_000_000_000)
ROUTE = Route("a", "dex", VENUE, VENUE, 0, b"", (), AMOUNT, AMOUNT, None, None)
HEAD = {
    "number": "0x64",
    "hash": "0x" + "aa" * 32,
    "parentHash": "0x" + "bb" * 32,
    "timestamp": "0x6afd86cc",
    "gasUsed": "0x0",
    "gasLimit": "0x1c9c380",
    "baseFeePerGas": "0x3b9aca00",
    "miner": "0x" + "cb" * 20,
}
LIMIT = 225_000
"""What a route without a figure of its own is first simulated with."""
WORKS = SimulationResult(True, 7, 21_000, gas_limit=LIMIT)


def node_answers(simulated: object) -> dict[str, object]:
    """A node whose wallet holds and has approved everything."""
    return {
        "eth_getBlockByNumber": HEAD,
        "eth_getBalance": hex(10**18),
        "eth_getCode": "0x",
        "eth_call": multicall_answer(AMOUNT, AMOUNT),
        "eth_getTransactionCount": "0x0",
        "eth_simulateV1": simulated,
    }


def multicall_answer(*numbers: int) -> str:
    results = [(True, number.to_bytes(32)) for number in numbers]
    return "0x" + abi.encode("((bool,bytes)[])", (results,)).hex()


def ran(number: int = AMOUNT, **more: object) -> dict[str, object]:
    data = f"0x{number:064x}"
    return {"status": "0x1", "gasUsed": "0x5208", "returnData": data, "logs": [], **more}


def held(sell: int = AMOUNT) -> list[dict[str, Any]]:
    """What the wallet has before: 5 of what it buys."""
    return [{"number": "0x65", "calls": [ran(sell), ran(5), ran()]}]


def traded(**swap: object) -> list[dict[str, Any]]:
    """A swap that sells all and buys 7."""
    after = {"number": "0x66", "calls": [ran(0), ran(12)]}
    return [{"number": "0x65", "calls": [ran(**swap)]}, after]


def sold(**swap: object) -> Callable[..., object]:
    return answering(held(), traded(**swap))


def answering(before: object, swap: object) -> Callable[..., object]:
    """Answer the payload that only reads, of one block, and those that swap, of two."""

    def answer(options: dict[str, Any], _tag: str) -> object:
        return swap if len(options["blockStateCalls"]) == 2 else before

    return answer


Scripted = tuple[FakeNode, NodeChain, ManualClock]


@contextlib.asynccontextmanager
async def simulating_node() -> AsyncIterator[Scripted]:
    """Run a node that answers what `sold()` says until told otherwise."""
    http, clock = HttpClient(), ManualClock()
    async with fake_node(**node_answers(sold())) as node:
        rpc = NodeRpcClient(http, [node.url], clock, **NODE)
        yield node, NodeChain(rpc, clock, measures_itself=lambda _: False), clock
    await http.close()


async def judged(chain: NodeChain, count: int = 1) -> Sequence[SimulationResult]:
    return await simulate_once(chain, REQUEST, [ROUTE] * count)
