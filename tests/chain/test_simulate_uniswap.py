"""Simulations against Uniswap's own contracts and WETH9, compared with what is then mined."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tokens.token import Token
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.addresses import V2_ROUTER
from quietswap.sandbox.contracts.pools import (
    DAI,
    FEE,
    SOLADY,
    USDC,
    USDT,
    VYPER,
    WBTC,
    WETH,
    SandboxToken,
)
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import NOBODY
from tests.defaults import NODE
from tests.manual_clock import ManualClock
from tests.sandbox.accounts import give, give_eth, send

FAR = 4_000_000_000
PLAIN = "swapExactTokensForTokens"
WITH_FEES = "swapExactTokensForTokensSupportingFeeOnTransferTokens"


@dataclass
class Market:
    """The sandbox's chain, and the adapter that looks at it."""

    sandbox: LocalChain
    node: NodeChain
    clock: ManualClock

    async def simulate(self, *swaps: "Swap") -> list[SimulationResult]:
        first = swaps[0]
        request = RouteRequest(
            as_token(first.sell), as_token(first.buy), first.amount, NOBODY, 50, 10**9, FAR
        )
        return list(await simulate_once(self.node, request, [swap.route() for swap in swaps]))

    async def get_ready(self, swap: "Swap") -> None:
        """Hold and approve for real."""
        await give_eth(self.sandbox, NOBODY, 10**18)
        await give(self.sandbox, swap.sell, NOBODY, swap.amount)
        approve = abi.call("approve(address,uint256)", V2_ROUTER, swap.amount)
        await send(self.sandbox, NOBODY, swap.sell.address, approve)
        await self.sandbox.mine()
        self.clock.advance(60)

    async def mine(self, swap: "Swap") -> tuple[int, int]:
        """Swap for real; return (received, gas used)."""
        before = await self.sandbox.token_balance(swap.buy.address, NOBODY)
        tx_hash = await send(self.sandbox, NOBODY, V2_ROUTER, swap.route().data, gas=1_000_000)
        await self.sandbox.mine()
        receipt = await self.sandbox.receipt(tx_hash)
        assert receipt is not None
        after = await self.sandbox.token_balance(swap.buy.address, NOBODY)
        return after - before, int(receipt["gasUsed"], 16)


@dataclass(frozen=True)
class Swap:
    """One exact-in swap through Uniswap V2, by way of WETH unless it is one of the two."""

    sell: SandboxToken
    buy: SandboxToken
    amount: int
    minimum: int = 0
    method: str = WITH_FEES

    def route(self) -> Route:
        hops = dict.fromkeys((self.sell.address, WETH.address, self.buy.address))
        signature = f"{self.method}(uint256,uint256,address[],address,uint256)"
        data = abi.call(signature, self.amount, self.minimum, list(hops), NOBODY, FAR)
        return Route("v2", "dex", V2_ROUTER, V2_ROUTER, 0, data, (), 1, 1, None, None)


def as_token(token: SandboxToken) -> Token:
    return Token(token.address, token.decimals, token.symbol)


@pytest.fixture
async def market() -> AsyncIterator[Market]:
    http, clock = HttpClient(), ManualClock()
    async with running_chain() as sandbox:
        # anvil simulates within the latest block; a pool's first swap in a block costs more
        await sandbox.mine()
        yield Market(
            sandbox,
            NodeChain(
                NodeRpcClient(http, [sandbox.url], clock, **NODE),
                clock,
                measures_itself=lambda _: False,
            ),
            clock,
        )
    await http.close()


TWO_REFUNDS = 9_600
"""For an allowance and a balance used up (EIP-3529); amounts that are drawn leave something."""

PAIRS = (
    (WETH, USDC, "1"),
    (USDC, WETH, "2500"),
    (USDT, WBTC, "400"),
    (WBTC, DAI, "0.03"),
    (DAI, FEE, "90"),
    (FEE, USDC, "50"),
    (VYPER, WETH, "10"),
    (SOLADY, USDT, "33.3"),
)


@pytest.mark.parametrize(
    ("sell", "buy", "whole"), PAIRS, ids=lambda x: x if isinstance(x, str) else x.symbol
)
async def test_the_mined_swap_delivers_what_was_simulated(
    market: Market, sell: SandboxToken, buy: SandboxToken, whole: str
) -> None:
    swap = Swap(sell, buy, sell.units(whole))
    [pretended] = await market.simulate(swap)
    await market.get_ready(swap)
    [simulated] = await market.simulate(swap)
    received, gas_used = await market.mine(swap)
    assert simulated.succeeded
    assert simulated.broken is None
    assert simulated.received == pretended.received == received > 0
    assert simulated.gas == gas_used
    assert pretended.gas is not None
    assert 0 <= pretended.gas - gas_used <= TWO_REFUNDS


async def test_a_fee_on_transfer_breaks_a_router_that_expects_none(market: Market) -> None:
    plain = Swap(FEE, WETH, FEE.units(50), method=PLAIN)
    [careless, careful] = await market.simulate(plain, Swap(FEE, WETH, FEE.units(50)))
    assert (careless.succeeded, careless.reason) == (False, "UniswapV2: K")
    assert careful.succeeded


async def test_a_minimum_out_of_reach_says_so(market: Market) -> None:
    greedy = Swap(WETH, USDC, WETH.units(1), minimum=10**12)
    honest = Swap(WETH, USDC, WETH.units(1))
    results = await market.simulate(greedy, honest, honest)
    assert results[0].reason == "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT"
    assert results[1].received == results[2].received  # neither moved the pool for the other
    assert results[1].succeeded
