"""How a simulation is asked for: the block, what is drawn, and the gas limit."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from quietswap.rules.chain.records import SimulationResult
from tests.chain.fake_node import Refusal
from tests.chain.simulating_node import (
    LIMIT,
    WORKS,
    Scripted,
    answering,
    held,
    judged,
    simulating_node,
    sold,
    traded,
)
from tests.chain.small_chain import NOBODY


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    async with simulating_node() as running:
        yield running


async def test_a_block_that_came_meanwhile_is_no_verdict(scripted: Scripted) -> None:
    node, chain, _ = scripted
    later = [block | {"number": "0x67"} for block in traded()]
    node.answers["eth_simulateV1"] = answering(held(), later)
    assert await judged(chain) == [
        SimulationResult(None, reason="a new block came during the simulation")
    ]


async def test_a_node_that_refuses_the_next_block_simulates_on_its_own(scripted: Scripted) -> None:
    """A hosted node may lag behind the head, or not know `validation`."""
    node, chain, clock = scripted
    seen: list[tuple[str, bool, set[str]]] = []

    def lagging(options: dict[str, Any], tag: str) -> object:
        fields = set(options["blockStateCalls"][0]["blockOverrides"])
        seen.append((tag, options["validation"], fields))
        if tag != "latest":
            raise Refusal(-32000, "header not found")
        return sold()(options, tag)

    node.answers["eth_simulateV1"] = lagging
    [result] = await judged(chain)
    assert result == WORKS
    assert not result.exact
    own = {"baseFeePerGas", "prevRandao", "feeRecipient", "gasLimit"}
    exact, inexact = ("0x64", True, own | {"number", "time", "beaconRoot"}), ("latest", False, own)
    of_nobody = exact  # whether the block is refused, or the wallet's call alone
    assert seen == [exact, exact, exact, exact, of_nobody, inexact, inexact]
    seen.clear()
    assert await judged(chain) == [WORKS]
    assert seen == [inexact, inexact]
    clock.advance(16)
    assert await judged(chain) == [WORKS]
    assert seen[2:] == [exact, exact, exact, exact, of_nobody, inexact, inexact]


@pytest.mark.parametrize("known", ["parentBeaconBlockRoot", None], ids=["besu", "old reth"])
async def test_a_node_that_knows_another_beacon_root_or_none_is_asked_so(
    scripted: Scripted, known: str | None
) -> None:
    """Besu, and Reth of before 2026-02, refuse members of the block that they do not know."""
    node, chain, clock = scripted
    seen: list[tuple[str | None, bool]] = []

    def strict(options: dict[str, Any], tag: str) -> object:
        overrides = options["blockStateCalls"][0]["blockOverrides"]
        name = next((name for name in overrides if "Root" in name), None)
        seen.append((name, options["validation"]))
        if name not in (None, known):
            raise Refusal(-32602, "Invalid params")
        return sold()(options, tag)

    node.answers["eth_simulateV1"] = strict
    [result] = await judged(chain)
    assert result == WORKS
    assert result.exact
    assert seen[-2:] == [(known, True)] * 2
    assert (known, True) not in seen[:-2]
    clock.advance(590)
    seen.clear()
    assert await judged(chain) == [WORKS]
    assert seen == [(known, True)] * 2


async def test_nothing_in_the_request_is_the_same_twice(scripted: Scripted) -> None:
    """Neither prevrandao nor any balance that is overridden."""
    node, chain, _ = scripted
    drawn: list[str] = []

    def noting(options: dict[str, Any], tag: str) -> object:
        for block in options["blockStateCalls"]:
            overrides = block["blockOverrides"]
            drawn.extend((overrides["prevRandao"], overrides["beaconRoot"]))
            wallet = block["stateOverrides"][NOBODY]
            drawn.append(wallet["balance"])
        return sold()(options, tag)

    node.answers["eth_simulateV1"] = noting
    node.answers["eth_getBalance"] = "0x0"
    await judged(chain)
    count = len(drawn)
    await judged(chain)
    assert len(drawn) == 2 * count == 18
    assert len(set(drawn)) == 12  # what only reads repeats the swap's block, with the readers' wei
    assert hex(10**19) not in drawn


def burnt(gas: int) -> object:
    """A swap that failed with all its gas used."""
    error = {"code": -32000, "message": "out of gas"}
    return traded(status="0x0", gasUsed=hex(gas), returnData="0x", error=error)


async def test_a_limit_that_proves_too_low_is_tried_again(scripted: Scripted) -> None:
    node, chain, _ = scripted
    tried: list[int] = []

    def needing(options: dict[str, Any], tag: str) -> object:
        blocks = options["blockStateCalls"]
        if len(blocks) == 1:
            return held()
        limit = int(blocks[0]["calls"][0]["gas"], 16)
        tried.append(limit)
        if limit < 900_000:
            return burnt(limit)
        return traded(gasUsed=hex(800_000))

    node.answers["eth_simulateV1"] = needing
    [one] = await judged(chain)
    assert tried == [LIMIT, 4 * LIMIT, 1_000_000]
    assert (one.succeeded, one.gas, one.gas_limit) == (True, 800_000, 1_000_000)


@pytest.mark.parametrize("then", ["uses less again", "gives no answer"])
async def test_a_limit_that_the_last_round_does_not_lower_is_not_issued(
    scripted: Scripted, then: str
) -> None:
    node, chain, _ = scripted
    tried: list[int] = []

    def adapting(options: dict[str, Any], tag: str) -> object:
        blocks = options["blockStateCalls"]
        if len(blocks) == 1:
            return held()
        tried.append(int(blocks[0]["calls"][0]["gas"], 16))
        if len(tried) <= 2:
            return burnt(tried[-1])
        if len(tried) == 3:
            return traded(gasUsed=hex(1_200_000))
        if then == "gives no answer":
            raise Refusal(-32000, "too large")
        return traded(gasUsed=hex(30_000))

    node.answers["eth_simulateV1"] = adapting
    [one] = await judged(chain)
    assert tried[:4] == [LIMIT, 4 * LIMIT, 16 * LIMIT, 1_500_000]
    assert one.gas_limit is None
    if then == "uses less again":
        reason = "it succeeds only with a gas limit far above the gas that it uses"
        assert one == SimulationResult(False, reason=reason)
    else:
        assert one == SimulationResult(None, reason="not simulated: too large")


async def test_what_always_uses_up_its_gas_is_tried_three_times(scripted: Scripted) -> None:
    node, chain, _ = scripted
    tried: list[int] = []

    def burning(options: dict[str, Any], tag: str) -> object:
        blocks = options["blockStateCalls"]
        if len(blocks) == 1:
            return held()
        tried.append(int(blocks[0]["calls"][0]["gas"], 16))
        return burnt(tried[-1])

    node.answers["eth_simulateV1"] = burning
    [one] = await judged(chain)
    assert (one.succeeded, one.reason) == (False, "out of gas")
    assert tried == [LIMIT, 4 * LIMIT, 16 * LIMIT]
