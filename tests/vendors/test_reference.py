"""Prices by the pools alone: which pools count, and what the owner of one can do."""

from collections.abc import Mapping
from decimal import Decimal

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.routers.pool_routing import Depth, Pool
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.service.node.multicall import MULTICALL3
from quietswap.service.sources.uniswap_reference import AGREE, PoolPrices, agreed
from tests.manual_clock import ManualClock
from tests.vendors.case import DAI, USDC
from tests.vendors.test_uniswap import DOLLAR, ETHER, PoolNode, depth, pool

USDT = from_any_case("0xdac17f958d2ee523a2206206994597c13d831ec7")
PRICES = {WETH: 3000, USDC: 1, USDT: 1}
DECIMALS = {WETH: 18, USDC: 6, USDT: 6, DAI: 18}


class PricedNode(PoolNode):
    """The same with feeds, decimals and balances; `held` where a pool holds less than its depth."""

    def __init__(self, pools: dict[Pool, Depth], held: Mapping[Pool, int] | None = None) -> None:
        super().__init__(pools)
        self.held = dict(held or {})
        self.now = 1_795_000_100
        self.usd: dict[Address, int] = dict(PRICES)

    def _view(self, to: Address, asked: bytes) -> bytes | None:
        tokens = {FEEDS[token].address: token for token in PRICES}
        if to == MULTICALL3:
            return encode(["uint256"], [self.now])
        if to in tokens:
            usd = self.usd[tokens[to]] * 10**8
            return encode(["uint256"] * 5, [1, usd, 0, self.now, 1])
        if asked[:4].hex() == "313ce567":
            return encode(["uint256"], [DECIMALS[to]])
        if asked[:4].hex() == "70a08231":
            return encode(["uint256"], [self._balance(to, from_any_case("0x" + asked[16:].hex()))])
        return super()._view(to, asked)

    def _balance(self, token: Address, holder: Address) -> int:
        for each, found in self.pools.items():
            if each.address == holder:
                here = found.low if token == each.low else found.high
                return min(self.held.get(each, here), here)
        return 0


def ratio(of: Pool, weth: int, dai: float) -> Depth:
    return depth(of, weth=weth * ETHER, dai=int(weth * dai * ETHER))


V2, V3, WIDE = pool(WETH, DAI), pool(WETH, DAI, 500), pool(WETH, DAI, 10_000)
HONEST = {V2: ratio(V2, 800, 3000), V3: ratio(V3, 100, 3003), WIDE: ratio(WIDE, 20, 2991)}


async def dai(node: PoolNode) -> Decimal | None:
    return await PoolPrices(node, ManualClock()).usd(DAI)


async def test_the_median_of_the_pools_in_usd_by_one_call() -> None:
    node = PricedNode(HONEST)
    assert await dai(node) == pytest.approx(1, rel=Decimal("1e-6"))
    assert len(node.blocks) == 1


async def test_a_price_after_a_past_block_is_of_its_state_and_its_time() -> None:
    node = PricedNode(HONEST)
    prices = PoolPrices(node, ManualClock(node.now + 10**8))  # the feeds were fresh then
    found = await prices.after(0x1234, [DAI, USDT])
    assert found == [pytest.approx(Decimal("1e-18"), rel=Decimal("1e-6")), None]
    assert node.blocks == ["0x1234"] * 2
    assert await prices.usd(DAI) is None


async def test_a_node_without_that_state_gives_no_price() -> None:
    node = PricedNode(HONEST)
    node.cut = 0
    assert await PoolPrices(node, ManualClock()).after(7, [DAI, WETH]) == [None, None]
    node.fails = NodeUnavailable("away")
    assert await PoolPrices(node, ManualClock()).after(7, [DAI]) == [None]


async def test_weth_is_counted_in_dollars() -> None:
    one, other = pool(WETH, USDC), pool(WETH, USDC, 500)
    pools = {
        one: depth(one, weth=100 * ETHER, usdc=299_000 * DOLLAR),
        other: depth(other, weth=100 * ETHER, usdc=301_000 * DOLLAR),
    }
    assert await PoolPrices(PricedNode(pools), ManualClock()).usd(WETH) == pytest.approx(
        3000, rel=Decimal("1e-6")
    )


@pytest.mark.parametrize("factor", [0.001, 0.5, 0.98, 1.02, 2, 1000])
@pytest.mark.parametrize("moved", HONEST)
async def test_the_owner_of_one_pool_moves_it_by_less_than_a_percent(
    moved: Pool, factor: float
) -> None:
    weth = HONEST[moved].high if moved.low != WETH else HONEST[moved].low
    pools = HONEST | {moved: ratio(moved, weth // ETHER, 3000 * factor)}
    found = await dai(PricedNode(pools))
    assert found is None or abs(found - 1) < AGREE


@pytest.mark.parametrize("factor", [0.5, 0.98, 1.03, 2])
async def test_of_two_pools_none_decides_against_the_other(factor: float) -> None:
    assert (
        await dai(PricedNode({V2: ratio(V2, 800, 3000), V3: ratio(V3, 100, 3000 * factor)})) is None
    )


@pytest.mark.parametrize(
    "pools",
    [
        {},
        {V2: ratio(V2, 800, 3000)},
        {V2: ratio(V2, 9, 3000), V3: ratio(V3, 9, 3000)},
        {V2: ratio(V2, 800, 3000), V3: ratio(V3, 9, 3000)},
    ],
    ids=["none", "one", "two thin ones", "one and a thin one"],
)
async def test_too_few_pools_have_no_price(pools: dict[Pool, Depth]) -> None:
    assert await dai(PricedNode(pools)) is None


async def test_depth_that_is_not_held_does_not_count() -> None:
    """Liquidity in a narrow range looks deep at its price, and holds little."""
    pools = {V2: ratio(V2, 800, 3000), V3: ratio(V3, 5000, 3001)}
    assert await dai(PricedNode(pools)) is not None
    assert await dai(PricedNode(pools, held={V3: 2 * ETHER})) is None


async def test_no_price_without_fresh_feeds_or_a_node() -> None:
    node = PricedNode(HONEST)
    node.now -= 90_000
    assert await dai(node) is None
    node = PricedNode(HONEST)
    node.fails = NodeUnavailable("away")
    assert await dai(node) is None


async def test_a_price_is_kept_for_a_slot() -> None:
    node, clock = PricedNode(HONEST), ManualClock()
    prices = PoolPrices(node, clock)
    await prices.usd(DAI)
    clock.advance(11)
    await prices.usd(DAI)
    assert len(node.blocks) == 1
    clock.advance(2)
    await prices.usd(DAI)
    assert len(node.blocks) == 2


honest = st.decimals("0.996", "1.004", places=5)


@given(st.lists(honest, min_size=2, max_size=6), st.decimals("0.0001", "10000", places=4))
def test_one_foreign_price_stays_between_the_honest_ones(
    prices: list[Decimal], foreign: Decimal
) -> None:
    found = agreed([*prices, foreign])
    assert found is None or min(prices) <= found <= max(prices)
