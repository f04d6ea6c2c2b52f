"""What a scripted node answers to simulations, and what is made of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.chain.records import NodeUnavailable, SimulationResult
from quietswap.rules.safety.wallet_effects import TRANSFER
from quietswap.sandbox.contracts import abi
from quietswap.service.node.simulation.simulator import NO_METHOD
from tests.chain.fake_node import Refusal
from tests.chain.simulating_node import (
    AMOUNT,
    HEAD,
    LIMIT,
    WORKS,
    Scripted,
    answering,
    held,
    judged,
    multicall_answer,
    ran,
    simulating_node,
    sold,
    traded,
)
from tests.chain.small_chain import NOBODY, VENUE


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    async with simulating_node() as running:
        yield running


async def test_max_used_gas_is_preferred(scripted: Scripted) -> None:
    node, chain, _ = scripted
    assert await judged(chain) == [WORKS]
    node.answers["eth_simulateV1"] = sold(maxUsedGas="0x6000")
    assert await judged(chain) == [replace(WORKS, gas=0x6000)]


async def test_the_reason_may_come_with_the_error(scripted: Scripted) -> None:
    """Geth answers returnData 0x and puts the data into the error."""
    node, chain, _ = scripted
    data = "0x08c379a0" + abi.encode("(string)", ("Always reverting contract",)).hex()
    error = {"code": 3, "message": "execution reverted: x", "data": data}
    node.answers["eth_simulateV1"] = sold(status="0x0", returnData="0x", error=error)
    assert await judged(chain) == [
        SimulationResult(False, reason="Always reverting contract", gas_limit=LIMIT)
    ]
    node.answers["eth_simulateV1"] = sold(
        status="0x0", returnData="0x", error={"code": -32000, "message": "out of gas"}
    )
    assert await judged(chain) == [SimulationResult(False, reason="out of gas", gas_limit=LIMIT)]


async def test_a_route_that_lacked_gas_after_amsterdam_is_no_revert(scripted: Scripted) -> None:
    """Gas of new storage is given back where a frame reverts: what was used does not tell."""
    node, chain, _ = scripted
    fails = sold(status="0x0", gasUsed="0x1d4c0", returnData="0x", error={"message": "reverted"})

    def needs_300_000(options: dict[str, Any], tag: str) -> object:
        limit = int(options["blockStateCalls"][0]["calls"][0]["gas"], 16)
        return (sold(gasUsed=hex(270_000)) if limit >= 300_000 else fails)(options, tag)

    node.answers["eth_simulateV1"] = needs_300_000
    [before] = await judged(chain)
    assert before.succeeded is False
    node.answers["eth_getBlockByNumber"] = HEAD | {"blockAccessListHash": "0x" + "ac" * 32}
    node.answers["eth_getBlockByNumber"] |= {"number": "0x65", "hash": "0x" + "ad" * 32}
    [after] = await judged(chain)
    assert (after.succeeded, after.gas) == (True, 270_000)


async def test_a_node_that_cannot_simulate_is_remembered(scripted: Scripted) -> None:
    node, chain, clock = scripted
    del node.answers["eth_simulateV1"]
    assert chain.can_simulate
    assert await judged(chain, 2) == [SimulationResult(None, reason=NO_METHOD)] * 2
    assert not chain.can_simulate
    asked = len(node.web.requests)
    assert await judged(chain, 2) == [SimulationResult(None, reason=NO_METHOD)] * 2
    assert len(node.web.requests) == asked + 1  # what the wallet has is asked all the same
    clock.advance(16)
    node.answers["eth_simulateV1"] = sold()
    assert await judged(chain) == [WORKS]
    assert chain.can_simulate


async def test_a_probe_finds_out_too(scripted: Scripted) -> None:
    node, chain, _ = scripted
    del node.answers["eth_simulateV1"]
    node.answers["eth_call"] = multicall_answer(0, 0)
    assert await judged(chain) == [SimulationResult(None, reason=NO_METHOD)]
    assert not chain.can_simulate


async def test_one_refused_payload_does_not_blind_the_others(scripted: Scripted) -> None:
    node, chain, _ = scripted
    asked = iter(range(9))

    def second_refused(options: dict[str, Any], tag: str) -> object:
        if len(options["blockStateCalls"]) == 2 and next(asked) == 1:
            raise Refusal(-38013, "intrinsic gas too low")
        return sold()(options, tag)

    node.answers["eth_simulateV1"] = second_refused
    assert await judged(chain, 3) == [
        WORKS,
        SimulationResult(None, reason="not simulated: intrinsic gas too low"),
        WORKS,
    ]


async def test_holdings_that_changed_meanwhile_are_no_verdict(scripted: Scripted) -> None:
    node, chain, _ = scripted
    node.answers["eth_simulateV1"] = answering(held(sell=AMOUNT - 1), traded())
    [one] = await judged(chain)
    assert (one.succeeded, one.received) == (None, None)


OURS = "0x" + "0" * 24 + NOBODY[2:].lower()
LOG = {"address": "0x12", "topics": ["0x" + TRANSFER.hex(), OURS, OURS], "data": "0x"}
MALFORMED: dict[str, object] = {
    "no blocks": answering(held(), []),
    "one block": answering(held(), traded()[:1]),
    "a call is missing": answering([{"number": "0x65", "calls": [ran()] * 2}], traded()),
    "no status": answering([{"number": "0x65", "calls": [{"gasUsed": "0x1"}] * 3}], traded()),
    "an odd status": sold(status="0x2"),
    "gas as a number": sold(gasUsed=21_000),
    "half a byte": sold(returnData="0x123"),
    "a log without topics": sold(logs=[{"address": NOBODY, "data": "0x"}]),
    "a log of half an address": sold(logs=[LOG]),
    "logs as text": sold(logs="0x"),
    "null": None,
    "text": "0x",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_simulation_is_no_information(scripted: Scripted, name: str) -> None:
    node, chain, _ = scripted
    node.answers["eth_simulateV1"] = MALFORMED[name]
    [one] = await judged(chain)
    assert one.succeeded is None
    assert one.reason


async def test_too_many_logs_about_the_wallet_are_refused(scripted: Scripted) -> None:
    node, chain, _ = scripted
    about = {"address": VENUE, "topics": ["0x" + "0" * 24 + NOBODY[2:].lower()], "data": "0x"}
    elsewhere = about | {"topics": []}
    node.answers["eth_simulateV1"] = sold(logs=[about] * 64 + [elsewhere] * 500)
    assert await judged(chain) == [WORKS]
    node.answers["eth_simulateV1"] = sold(logs=[about] * 65)
    [one] = await judged(chain)
    assert one.broken == "its logs about the wallet are too many or too large to be read"
    node.answers["eth_simulateV1"] = sold(logs=[about | {"data": "0x" + "00" * 10_000}])
    [one] = await judged(chain)
    assert one.broken == "its logs about the wallet are too many or too large to be read"


@pytest.mark.parametrize("answer", ["0x", "0x00", multicall_answer(1), "junk", None])
async def test_malformed_holdings_are_no_information(
    scripted: Scripted, answer: str | None
) -> None:
    node, chain, _ = scripted
    node.answers["eth_call"] = answer
    with pytest.raises(NodeUnavailable):
        await judged(chain)
