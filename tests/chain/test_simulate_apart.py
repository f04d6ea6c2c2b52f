"""One hostile candidate does not take the simulation away from the others."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec import structs

from quietswap.rules.chain.records import SimulationResult
from quietswap.sandbox.contracts import abi
from quietswap.service.base.http_client import HttpClient
from tests.chain.simulate_once import simulate_once
from tests.chain.simulating_node import (
    LIMIT,
    REQUEST,
    ROUTE,
    WORKS,
    Scripted,
    held,
    judged,
    simulating_node,
    traded,
)
from tests.fake_web import Answer

BOMB = structs.replace(ROUTE, data=abi.call("bomb()"))


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    async with simulating_node() as all_three:
        yield all_three


def is_bomb(options: dict[str, Any]) -> bool:
    swap = options["blockStateCalls"][0]["calls"][0]
    return bool(swap["data"] == "0x" + BOMB.data.hex())


def limit_of(options: dict[str, Any]) -> int:
    return int(options["blockStateCalls"][0]["calls"][0]["gas"], 16)


def breaking(scripted: Scripted, *, from_limit: int = 0) -> list[int]:
    """Let the node fail wholly where the bomb has at least this limit; with less it burns all.

    Returns the number of swaps in each request, as they come.
    """
    node, _, _ = scripted
    broke = False
    swaps = 0
    sizes: list[int] = []

    def simulated(options: dict[str, Any], _tag: str) -> object:
        nonlocal broke, swaps
        if len(options["blockStateCalls"]) == 1:
            return held()
        swaps += 1
        if not is_bomb(options):
            return traded()
        broke = broke or limit_of(options) >= from_limit
        error = {"code": -32000, "message": "out of gas"}
        used = hex(limit_of(options))
        return traded(status="0x0", gasUsed=used, returnData="0x", error=error)

    def mangle(replies: list[dict[str, Any]]) -> Answer | bytes:
        nonlocal broke, swaps
        failed, broke = broke, False
        if swaps:
            sizes.append(swaps)
        swaps = 0
        return Answer(b"", status=500) if failed else msgspec.json.encode(replies)

    node.answers["eth_simulateV1"] = simulated
    node.mangle = mangle
    return sizes


async def test_only_what_breaks_the_node_is_not_simulated(scripted: Scripted) -> None:
    sizes = breaking(scripted)
    honest, bomb, other = await simulate_once(scripted[1], REQUEST, [ROUTE, BOMB, ROUTE])
    assert (honest, other) == (WORKS, WORKS)
    assert bomb.succeeded is None
    assert "500" in str(bomb.reason)
    assert sizes == [3, 1, 1, 1]


async def test_a_raised_limit_runs_apart_and_takes_no_verdict_away(scripted: Scripted) -> None:
    sizes = breaking(scripted, from_limit=4 * LIMIT)
    honest, bomb = await simulate_once(scripted[1], REQUEST, [ROUTE, BOMB])
    assert honest == WORKS
    assert bomb == SimulationResult(False, gas_limit=LIMIT, reason="out of gas")
    assert sizes == [2, 1]


async def test_usually_all_are_one_request(scripted: Scripted) -> None:
    sizes = breaking(scripted)
    assert await judged(scripted[1], 3) == [WORKS] * 3
    assert sizes == [3]


async def test_no_round_begins_after_the_time_for_all(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, chain, clock = scripted
    sizes = breaking(scripted, from_limit=2**30)
    post = HttpClient.post

    async def slow(*args: Any, **named: Any) -> Any:
        clock.advance(5)
        return await post(*args, **named)

    monkeypatch.setattr(HttpClient, "post", slow)
    [bomb] = await simulate_once(chain, REQUEST, [BOMB])
    assert sizes == [1, 1]
    assert (bomb.succeeded, bomb.gas_limit) == (False, 4 * LIMIT)
