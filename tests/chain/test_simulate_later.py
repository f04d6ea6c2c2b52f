"""Further batches of one quote: on the same block, without another reading of the balances."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from quietswap.rules.chain.records import PreparedSimulation
from tests.chain.fake_node import Refusal
from tests.chain.simulating_node import (
    HEAD,
    REQUEST,
    ROUTE,
    WORKS,
    Scripted,
    held,
    simulating_node,
    traded,
)

READS, SWAPS = "reads", "swaps"


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    async with simulating_node() as all_three:
        yield all_three


def listening(scripted: Scripted) -> list[tuple[str, str]]:
    """Return what is simulated and on which block, as the payloads come."""
    node, _, _ = scripted
    seen: list[tuple[str, str]] = []
    answer = node.answers["eth_simulateV1"]

    def simulated(options: dict[str, Any], tag: str) -> object:
        seen.append((SWAPS if len(options["blockStateCalls"]) == 2 else READS, tag))
        return answer(options, tag)

    node.answers["eth_simulateV1"] = simulated
    return seen


async def prepared(scripted: Scripted) -> PreparedSimulation:
    return await scripted[1].prepare_simulation(REQUEST, [ROUTE.spender])


async def test_the_balances_are_read_once_and_the_block_stays(scripted: Scripted) -> None:
    seen = listening(scripted)
    simulation = await prepared(scripted)
    first = await simulation.simulate([ROUTE])
    scripted[0].answers["eth_getBlockByNumber"] = HEAD | {"number": "0x65"}
    later = await simulation.simulate([ROUTE, ROUTE])
    assert [*first, *later] == [WORKS] * 3
    assert seen == [(READS, "0x64"), *[(SWAPS, "0x64")] * 3]
    assert len({result.block for result in (*first, *later)}) == 1
    assert simulation.next_base_fee > 0


async def test_two_preparations_each_read_the_balances(scripted: Scripted) -> None:
    seen = listening(scripted)
    one, other = await prepared(scripted), await prepared(scripted)
    assert [*await one.simulate([ROUTE]), *await other.simulate([ROUTE])] == [WORKS] * 2
    assert [kind for kind, _ in seen] == [READS, SWAPS] * 2


async def test_another_block_of_the_same_number_is_read_again(scripted: Scripted) -> None:
    """After a reorganisation, or on another node, the first result is no basis."""
    node, _, _ = scripted
    simulation = await prepared(scripted)
    [first] = await simulation.simulate([ROUTE])
    node.answers["eth_simulateV1"] = lambda options, _: [
        block | {"parentHash": "0x" + "cc" * 32}
        for block in (traded() if len(options["blockStateCalls"]) == 2 else held())
    ]
    seen = listening(scripted)
    [second] = await simulation.simulate([ROUTE])
    assert second == WORKS
    assert [kind for kind, _ in seen] == [SWAPS, READS, SWAPS]
    assert first.block != second.block


async def test_a_swap_that_fails_as_a_whole_is_asked_once_more(scripted: Scripted) -> None:
    node, _, _ = scripted
    simulation = await prepared(scripted)
    await simulation.simulate([ROUTE])
    answer = node.answers["eth_simulateV1"]

    def refusing(options: dict[str, Any], tag: str) -> object:
        if len(options["blockStateCalls"]) == 2:
            raise Refusal(-32000, "out of gas")
        return answer(options, tag)

    node.answers["eth_simulateV1"] = refusing
    seen = listening(scripted)
    [result] = await simulation.simulate([ROUTE])
    assert (result.succeeded, result.reason) == (None, "not simulated: out of gas")
    assert [kind for kind, _ in seen] == [SWAPS, READS, SWAPS]


async def test_a_node_that_refuses_the_block_by_now_gets_the_inexact_form(
    scripted: Scripted,
) -> None:
    """Its results are of its latest block, and say so."""
    node, _, _ = scripted
    simulation = await prepared(scripted)
    [first] = await simulation.simulate([ROUTE])
    answer = node.answers["eth_simulateV1"]

    def refusing(options: dict[str, Any], tag: str) -> object:
        if tag != "latest":
            raise Refusal(-32000, "header not found")
        return [block | {"number": "0x66"} for block in answer(options, tag)]

    node.answers["eth_simulateV1"] = refusing
    [second] = await simulation.simulate([ROUTE])
    [third] = await simulation.simulate([ROUTE])
    assert [first, second, third] == [WORKS] * 3
    assert first.block != second.block == third.block
