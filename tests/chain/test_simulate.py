"""Candidates on a real node: what they deliver, what they cost, and when nobody can tell."""

from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec import structs

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import (
    DAI,
    FEE,
    SOLADY,
    USDC,
    USDT,
    VYPER,
    WBTC,
    SandboxToken,
)
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import (
    NOBODY,
    VENUE,
    WALLET,
    SmallChain,
    odd,
    odd_runtimes,
    small_chain,
)

AMOUNT = 1_000_000
BOUGHT, ORDINARY = odd("Bought"), odd("Ordinary")


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


def asking(sell: Token, wallet: Address = NOBODY, buy: Token = BOUGHT) -> RouteRequest:
    return RouteRequest(sell, buy, AMOUNT, wallet, 50, 10**9, 2_000_000_000)


def calling(signature: str, *values: object) -> Route:
    data = abi.call(signature, *values)
    return Route("a", "dex", VENUE, VENUE, 0, data, (), AMOUNT, AMOUNT, None, None)


def paying(sell: Token, rate: int, buy: Token = BOUGHT) -> Route:
    """A route that pays `rate` thousandths of the amount."""
    signature = "swap(address,address,uint256,uint256)"
    return calling(signature, sell.address, buy.address, AMOUNT, rate)


def listed(token: SandboxToken) -> Token:
    return Token(token.address, token.decimals, token.symbol)


async def simulated(small: SmallChain, sell: Token, wallet: Address = NOBODY) -> SimulationResult:
    [one] = await simulate_once(small.chain, asking(sell, wallet), [paying(sell, 2000)])
    return one


async def ready(small: SmallChain, sell: Token, amount: int = AMOUNT) -> None:
    """Let the wallet hold and approve `amount` for real."""
    await small.give(sell, WALLET, amount)
    await small.send(sell.address, "approve(address,uint256)", VENUE, amount)
    await small.mine()


TOKENS = (USDC, DAI, WBTC, FEE, VYPER, SOLADY)


@pytest.mark.parametrize("sell", TOKENS, ids=lambda t: str(t.symbol))
async def test_a_wallet_without_anything(small: SmallChain, sell: SandboxToken) -> None:
    one = await simulated(small, listed(sell))
    assert (one.succeeded, one.received, one.reason) == (True, 2 * AMOUNT, None)
    assert one.gas is not None
    assert 60_000 < one.gas < 200_000


@pytest.mark.parametrize("name", ["Ordinary", "Flagged", "Namespaced"])
async def test_odd_layouts_that_are_found(small: SmallChain, name: str) -> None:
    one = await simulated(small, odd(name))
    assert (one.succeeded, one.received) == (True, 2 * AMOUNT)


@pytest.mark.parametrize("name", ["Shares", "Hidden", "Reflecting"])
async def test_layouts_that_are_not_found_are_unverifiable(small: SmallChain, name: str) -> None:
    for _ in range(2):
        one = await simulated(small, odd(name))
        assert one.succeeded is None
        assert one.reason


async def test_an_unknown_layout_is_looked_for_again_later(small: SmallChain) -> None:
    sell = odd("Hidden")
    assert (await simulated(small, sell)).succeeded is None
    await small.raw.call("anvil_setCode", sell.address, odd_runtimes()["Ordinary"])
    small.clock.advance(599)
    assert (await simulated(small, sell)).succeeded is None
    small.clock.advance(2)
    assert (await simulated(small, sell)).succeeded


@pytest.mark.parametrize("name", ["Shares", "Hidden", "Flagged", "Ordinary"])
async def test_a_wallet_that_is_ready_is_simulated_as_it_is(small: SmallChain, name: str) -> None:
    sell = odd(name)
    await ready(small, sell, 2 * AMOUNT)
    one = await simulated(small, sell, WALLET)
    assert (one.succeeded, one.received) == (True, 2 * AMOUNT)


async def test_a_wallet_that_holds_but_has_not_approved(small: SmallChain) -> None:
    sell = odd("Flagged")
    await small.give(sell, WALLET, AMOUNT)
    assert (await simulated(small, sell, WALLET)).received == 2 * AMOUNT


async def test_usdt_which_returns_nothing_reverts_in_a_careless_venue(small: SmallChain) -> None:
    one = await simulated(small, listed(USDT))
    assert one.succeeded is False


async def test_a_fee_on_transfer_is_reported_as_it_is(small: SmallChain) -> None:
    """The venue swaps into the fee token by moving what it holds: 1 % less arrives."""
    await small.give_sandbox("FEE", VENUE, 10 * AMOUNT)
    buy = listed(FEE)
    data = abi.call("swapFromStock(address,address,uint256)", ORDINARY.address, buy.address, AMOUNT)
    route = Route("a", "dex", VENUE, VENUE, 0, data, (), AMOUNT, AMOUNT, None, None)
    [one] = await simulate_once(small.chain, asking(ORDINARY, buy=buy), [route])
    assert (one.succeeded, one.received) == (True, AMOUNT * 99 // 100)


async def test_a_blocked_owner_stays_blocked_under_the_override(small: SmallChain) -> None:
    sell = odd("Flagged")
    await small.send(sell.address, "blockOwner(address)", NOBODY)
    await small.mine()
    one = await simulated(small, sell)
    assert (one.succeeded, one.reason) == (False, "account is blocked")


@pytest.mark.parametrize("name", ["Ordinary", "Namespaced", "Shares"])
async def test_what_was_simulated_is_what_is_mined(small: SmallChain, name: str) -> None:
    sell = odd(name)
    await ready(small, sell, 2 * AMOUNT)
    route = paying(sell, 1234)
    [one] = await simulate_once(small.chain, asking(sell, WALLET), [route])
    call = {"from": WALLET, "to": VENUE, "data": "0x" + route.data.hex(), "gas": hex(500_000)}
    tx_hash = await small.raw.call("eth_sendTransaction", call)
    await small.mine()
    assert one.received == await small.balance(BOUGHT, WALLET) == AMOUNT * 1234 // 1000
    receipt = (await small.chain.receipts([tx_hash]))[tx_hash]
    assert receipt is not None
    assert one.gas == receipt.gas_used


async def test_candidates_do_not_see_each_other(small: SmallChain) -> None:
    once = calling("swapOnce(address,address,uint256)", ORDINARY.address, BOUGHT.address, AMOUNT)
    results = await simulate_once(small.chain, asking(ORDINARY), [once, once, once])
    assert [one.received for one in results] == [1000, 1000, 1000]


@pytest.mark.parametrize("claimed", [None, 200_000, 2_000_000])
@pytest.mark.parametrize("least", [700_000, 2_500_000, 13_000_000])
async def test_no_gas_limit_is_issued_that_a_route_demands_and_does_not_use(
    small: SmallChain, claimed: int | None, least: int
) -> None:
    """A contract reads its limit: it could use little gas now, and all of it when it is mined."""
    signature = "swapWithMuchGas(address,address,uint256,uint256)"
    greedy = calling(signature, ORDINARY.address, BOUGHT.address, AMOUNT, least)
    honest = paying(ORDINARY, 1000)
    routes = [structs.replace(greedy, gas=claimed), structs.replace(honest, gas=claimed)]
    [refused, fair] = await simulate_once(small.chain, asking(ORDINARY), routes)
    assert refused.succeeded is False
    assert fair.succeeded
    assert fair.gas is not None
    assert fair.gas_limit is not None
    assert not fees.is_excessive(fair.gas_limit, fair.gas)


async def test_the_chain_is_left_as_it_was(small: SmallChain) -> None:
    assert (await simulated(small, ORDINARY)).received == 2 * AMOUNT
    assert await small.balance(BOUGHT, NOBODY) == 0


async def test_every_candidate_has_a_verdict_of_its_own(small: SmallChain) -> None:
    routes = [
        paying(ORDINARY, 500),
        calling("refuse()"),
        calling("refuseWithCode()"),
        calling("panic(uint256)", 0),
        calling("spin()"),
        calling("nothingLikeThis()"),
        paying(ORDINARY, 0),
    ]
    results = await simulate_once(small.chain, asking(ORDINARY), routes)
    assert [one.succeeded for one in results] == [True, False, False, False, False, False, True]
    assert (results[0].received, results[-1].received) == (AMOUNT // 2, 0)
    reasons = [one.reason or "" for one in results]
    assert reasons[1].startswith("Venue: [31mINSUFFICIENT_OUTPUT_AMOUNT, and on")
    assert reasons[2:4] == [f"custom error 0x{abi.selector('Closed(uint256)').hex()}", "panic 0x12"]
    assert all(0 < len(reason) <= 120 and reason.isprintable() for reason in reasons[1:-1])


async def test_nobody_asks_without_candidates(small: SmallChain) -> None:
    assert await simulate_once(small.chain, asking(ORDINARY), []) == []


async def test_round_trips(small: SmallChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Head with holdings and stored words, then the simulation.

    The head comes with the holdings: one that is remembered may be a block behind them. What tells
    where a token stores them comes with its metadata, and no words of a wallet that was ready
    before.
    """
    batches: list[list[str]] = []
    batch = NodeRpcClient.batch

    async def counting(self: NodeRpcClient, calls: Sequence[RpcCall]) -> list[Result]:
        batches.append([call.method for call in calls])
        return await batch(self, calls)

    await ready(small, ORDINARY)
    monkeypatch.setattr(NodeRpcClient, "batch", counting)
    look = ["eth_getBlockByNumber", *["eth_getTransactionCount"] * 2]
    look += ["eth_getBalance", "eth_getCode", "eth_call"]
    token = ["eth_getBlockByNumber", "eth_call", "eth_simulateV1"]
    words = ["eth_getStorageAt"] * 2
    swaps = ["eth_simulateV1"] * (1 + 3)
    routes = [paying(ORDINARY, 1)] * 3
    await small.chain.token(ORDINARY.address)
    await small.chain.head()
    await simulate_once(small.chain, asking(ORDINARY), routes)
    await simulate_once(small.chain, asking(ORDINARY, WALLET), routes)
    await simulate_once(small.chain, asking(ORDINARY, WALLET), routes)
    assert batches == [token, look + words, swaps, look + words, swaps, look, swaps]
