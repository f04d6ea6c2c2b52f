"""What a scripted node answers to simulations, and what is made of it."""

from collections.abc import AsyncIterator, Sequence

import pytest

from quietswap.adapters.chain import NodeChain
from quietswap.adapters.http import HttpClient
from quietswap.adapters.jsonrpc import JsonRpc
from quietswap.adapters.simulate import NO_METHOD
from quietswap.domain.route import Route, SwapRequest
from quietswap.ports.outside import ChainDown, Simulation
from quietswap.sandbox import abi
from tests.adapters.fake_node import FakeNode, Refusal, fake_node
from tests.adapters.manual_clock import ManualClock
from tests.adapters.rehearsal import rehearsed
from tests.adapters.small_chain import NOBODY, VENUE, odd

AMOUNT = 1_000_000
REQUEST = SwapRequest(odd("Ordinary"), odd("Bought"), AMOUNT, NOBODY, 50, 10**9, 2_000_000_000)
ROUTE = Route("a", "dex", VENUE, VENUE, 0, b"", (), AMOUNT, AMOUNT, None, None)


def node_answers(simulated: object) -> dict[str, object]:
    """A node whose wallet holds and has approved everything."""
    held = multicall_answer(10**18, AMOUNT, AMOUNT)
    return {"eth_call": held, "eth_getTransactionCount": "0x0", "eth_simulateV1": simulated}


def multicall_answer(*numbers: int) -> str:
    results = [(1, number.to_bytes(32)) for number in numbers]
    return "0x" + abi.encode("((bool,bytes)[])", (results,)).hex()


def ran(number: int = AMOUNT, **more: object) -> dict[str, object]:
    data = f"0x{number:064x}"
    return {"status": "0x1", "gasUsed": "0x5208", "returnData": data, "logs": [], **more}


def sold(**swap: object) -> list[dict[str, object]]:
    return [{"calls": [ran(), ran(), ran(5), ran(**swap), ran(12)]}]


@pytest.fixture
async def scripted() -> AsyncIterator[tuple[FakeNode, NodeChain, ManualClock]]:
    http, clock = HttpClient(), ManualClock()
    async with fake_node(**node_answers(sold())) as node:
        yield node, NodeChain(JsonRpc(http, [node.url], clock), clock), clock
    await http.close()


Scripted = tuple[FakeNode, NodeChain, ManualClock]


async def judged(chain: NodeChain, count: int = 1) -> Sequence[Simulation]:
    return await rehearsed(chain, REQUEST, [ROUTE] * count)


async def test_max_used_gas_is_preferred(scripted: Scripted) -> None:
    node, chain, _ = scripted
    assert await judged(chain) == [Simulation(True, 7, 21_000)]
    node.answers["eth_simulateV1"] = sold(maxUsedGas="0x6000")
    assert await judged(chain) == [Simulation(True, 7, 0x6000)]


async def test_the_reason_may_come_with_the_error(scripted: Scripted) -> None:
    """Geth answers returnData 0x and puts the data into the error."""
    node, chain, _ = scripted
    data = "0x08c379a0" + abi.encode("(string)", ("Always reverting contract",)).hex()
    error = {"code": 3, "message": "execution reverted: x", "data": data}
    node.answers["eth_simulateV1"] = sold(status="0x0", returnData="0x", error=error)
    assert await judged(chain) == [Simulation(False, reason="Always reverting contract")]
    node.answers["eth_simulateV1"] = sold(
        status="0x0", returnData="0x", error={"code": -32000, "message": "out of gas"}
    )
    assert await judged(chain) == [Simulation(False, reason="out of gas")]


async def test_a_node_that_cannot_simulate_is_remembered(scripted: Scripted) -> None:
    node, chain, clock = scripted
    del node.answers["eth_simulateV1"]
    assert chain.can_simulate
    assert await judged(chain, 2) == [Simulation(None, reason=NO_METHOD)] * 2
    assert not chain.can_simulate
    asked = len(node.web.requests)
    assert await judged(chain, 2) == [Simulation(None, reason=NO_METHOD)] * 2
    assert len(node.web.requests) == asked + 1  # what the wallet has is asked all the same
    clock.advance(16)
    node.answers["eth_simulateV1"] = sold()
    assert await judged(chain) == [Simulation(True, 7, 21_000)]
    assert chain.can_simulate


async def test_a_probe_finds_out_too(scripted: Scripted) -> None:
    node, chain, _ = scripted
    del node.answers["eth_simulateV1"]
    node.answers["eth_call"] = multicall_answer(0, 0, 0)
    assert await judged(chain) == [Simulation(None, reason=NO_METHOD)]
    assert not chain.can_simulate


async def test_one_refused_payload_does_not_blind_the_others(scripted: Scripted) -> None:
    node, chain, _ = scripted
    asked = iter(range(9))

    def second_refused(*_: object) -> object:
        if next(asked) == 1:
            raise Refusal(-38013, "intrinsic gas too low")
        return sold()

    node.answers["eth_simulateV1"] = second_refused
    assert await judged(chain, 3) == [
        Simulation(True, 7, 21_000),
        Simulation(None, reason="not simulated: intrinsic gas too low"),
        Simulation(True, 7, 21_000),
    ]


async def test_holdings_that_changed_meanwhile_are_no_verdict(scripted: Scripted) -> None:
    node, chain, _ = scripted
    node.answers["eth_simulateV1"] = [{"calls": [ran(0), ran(), ran(), ran(), ran()]}]
    [one] = await judged(chain)
    assert (one.succeeded, one.received) == (None, None)


MALFORMED = {
    "no blocks": [],
    "a call is missing": [{"calls": [ran()] * 4}],
    "no status": [{"calls": [{"gasUsed": "0x1"}] * 5}],
    "an odd status": sold(status="0x2"),
    "gas as a number": sold(gasUsed=21_000),
    "half a byte": sold(returnData="0x123"),
    "null": None,
    "text": "0x",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_simulation_is_no_information(scripted: Scripted, name: str) -> None:
    node, chain, _ = scripted
    node.answers["eth_simulateV1"] = MALFORMED[name]
    with pytest.raises(ChainDown):
        await judged(chain)


@pytest.mark.parametrize("answer", ["0x", "0x00", multicall_answer(1), "junk", None])
async def test_malformed_holdings_are_no_information(
    scripted: Scripted, answer: str | None
) -> None:
    node, chain, _ = scripted
    node.answers["eth_call"] = answer
    with pytest.raises(ChainDown):
        await judged(chain)
