"""A wallet whose simulation cannot be made changes nothing for the simulations of others."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
import pytest

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.fake_node import Refusal
from tests.chain.simulate_once import simulate_once
from tests.chain.simulating_node import REQUEST, WORKS, judged, simulating_node, sold
from tests.chain.small_chain import NOBODY, WALLET, SmallChain, odd, small_chain

AMOUNT = 1_000_000
SELL, BUY = odd("Ordinary"), odd("Bought")
ROUTER = odd("Witness").address
ROUTE = Route("a", "dex", ROUTER, ROUTER, 0, abi.call("nothing()"), (), 1, 1, 420_000, None)
"""It reverts: a simulation says so, and no simulation says nothing."""


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        await chain.mine(2)
        yield chain


async def simulated(small: SmallChain, wallet: Address) -> SimulationResult:
    request = RouteRequest(SELL, BUY, AMOUNT, wallet, 50, 10**9, 2_000_000_000)
    [result] = await simulate_once(small.chain, request, [ROUTE])
    return result


def before_storage(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[Sequence[RpcCall]], Awaitable[Any]]
) -> None:
    """Let something happen once before stored words are read, or be read instead."""
    batch, done = NodeRpcClient.batch, False

    async def changed(rpc: NodeRpcClient, calls: Sequence[RpcCall]) -> list[Result]:
        nonlocal done
        if done or not any(call.method == "eth_getStorageAt" for call in calls):
            return await batch(rpc, calls)
        done = True
        return await happens(calls) or await batch(rpc, calls)

    monkeypatch.setattr(NodeRpcClient, "batch", changed)


async def test_a_deposit_between_two_reads_is_not_blamed_on_the_token(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await small.give(SELL, NOBODY, 5)

    async def deposit(_: Sequence[RpcCall]) -> None:
        await small.give(SELL, NOBODY, 1)
        await small.mine()

    before_storage(monkeypatch, deposit)
    assert (await simulated(small, NOBODY)).succeeded is False
    assert (await simulated(small, WALLET)).succeeded is False


async def test_a_node_that_answers_of_another_block_hides_no_token_from_others(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def of_another_block(calls: Sequence[RpcCall]) -> list[Result]:
        return [msgspec.Raw(msgspec.json.encode(f"0x{7:064x}")) for _ in calls]

    before_storage(monkeypatch, of_another_block)
    misread = await simulated(small, NOBODY)
    assert misread.succeeded is None
    assert misread.reason is not None
    assert "does not return the balance" in misread.reason
    assert (await simulated(small, WALLET)).succeeded is False


async def test_words_of_a_block_that_a_node_lacks_are_read_at_its_latest(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lagging(calls: Sequence[RpcCall]) -> list[Result]:
        assert all(call.params[2] != "latest" for call in calls)
        return [RpcErrorObject(-32000, "header not found")] * len(calls)

    before_storage(monkeypatch, lagging)
    assert (await simulated(small, NOBODY)).succeeded is False


async def test_a_wallet_that_is_the_sell_token_is_simulated_like_any_other(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = simulations(monkeypatch)
    assert (await simulated(small, SELL.address)).succeeded is False
    assert (await simulated(small, WALLET)).succeeded is False
    assert set(asked) == {True}


async def test_a_call_that_only_this_wallet_cannot_make_leaves_the_block_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node may refuse the call of a contract, which a wallet cannot be."""
    async with simulating_node() as (node, chain, _):
        refuses = True

        def picky(options: dict[str, Any], tag: str) -> object:
            senders = {
                call["from"] for block in options["blockStateCalls"] for call in block["calls"]
            }
            if refuses and options["validation"] and REQUEST.wallet in senders:
                raise Refusal(-38014, "sender is not an EOA")
            return sold()(options, tag)

        node.answers["eth_simulateV1"] = picky
        asked = simulations(monkeypatch)
        assert await judged(chain) == [WORKS]
        assert asked == [True, True, True, False, False]
        refuses = False
        asked.clear()
        assert await judged(chain) == [WORKS]
        assert asked == [True, True]


async def test_a_swap_whose_failure_names_a_method_leaves_simulation_to_others() -> None:
    async with simulating_node() as (node, chain, _):

        def worded(options: dict[str, Any], tag: str) -> object:
            if len(options["blockStateCalls"]) == 2:
                raise Refusal(-32000, "execution reverted: method not supported")
            return sold()(options, tag)

        node.answers["eth_simulateV1"] = worded
        [result] = await judged(chain)
        assert result.succeeded is None
        assert chain.can_simulate


def simulations(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each simulation from now on is one of the exact block, as they come."""
    asked: list[bool] = []
    batch = NodeRpcClient.batch

    async def listening(rpc: NodeRpcClient, calls: Sequence[RpcCall]) -> list[Result]:
        payloads = [call.params for call in calls if call.method == "eth_simulateV1"]
        text = [(msgspec.json.encode(options), tag) for options, tag in payloads]
        # what looks for the storage layout of a token is on no block of its own
        asked.extend(tag != "latest" for options, tag in text if b"blockOverrides" in options)
        return await batch(rpc, calls)

    monkeypatch.setattr(NodeRpcClient, "batch", listening)
    return asked
