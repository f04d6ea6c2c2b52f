"""Routes over pools: which paths, which split, and what is asked of the node."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import msgspec
import pytest
from eth_abi.abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.quotes.indicative_price import SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason
from quietswap.rules.routers import pool_routing as routing
from quietswap.rules.routers.known_pools import V3_FEES
from quietswap.rules.routers.pool_routing import Depth, Path, Pool, best_split, pools_of
from quietswap.rules.safety import calldata
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.service.node.multicall import LIMITED, MULTICALL3
from quietswap.service.sources import uniswap as adapter
from tests.manual_clock import ManualClock
from tests.vendors.case import DAI, REQUEST, USDC, WALLET

ETHER, DOLLAR = 10**18, 10**6
HUBS = (WETH, USDC, DAI)


def pool(one: Address, other: Address, fee: int = 0) -> Pool:
    return Pool(frozenset({one, other}), fee)


def depth(of: Pool, **amounts: int) -> Depth:
    named = {WETH: amounts.get("weth", 0), USDC: amounts.get("usdc", 0), DAI: amounts.get("dai", 0)}
    low, high = sorted(of.tokens, key=str.lower)
    return Depth(named[low], named[high])


DEEP = pool(WETH, USDC, 500)
THIN = pool(WETH, USDC)
VIA = pool(WETH, DAI, 3000), pool(DAI, USDC, 100)
POOLS = {
    DEEP: depth(DEEP, weth=2_000 * ETHER, usdc=6_000_000 * DOLLAR),
    THIN: depth(THIN, weth=1_000 * ETHER, usdc=3_000_000 * DOLLAR),
    VIA[0]: depth(VIA[0], weth=800 * ETHER, dai=2_400_000 * ETHER),
    VIA[1]: depth(VIA[1], dai=9_000_000 * ETHER, usdc=9_000_000 * DOLLAR),
}


class PoolNode:
    """A node whose only contracts are pools, QuoterV2 and Multicall3. Counts its calls."""

    def __init__(self, pools: dict[Pool, Depth]) -> None:
        self.pools = pools
        self.batches = self.gas = 0
        """Batches, and the gas of all quotes in them."""
        self.quoted: defaultdict[bytes, list[int]] = defaultdict(list)
        """Amounts by path, as QuoterV2 packs it."""
        self.blocks: list[str] = []
        self.fails: Exception | None = None
        self.cut: int | None = None
        self.burns: list[bytes] = []
        """Tokens, or fees, whose quotes use up their gas."""
        self.prices: dict[Pool, Fraction] = {}
        """What pools really give, as a part of what their depth promises."""

    async def batch(self, calls: Sequence[RpcCall]) -> list[Result]:
        if self.fails:
            raise self.fails
        self.batches += 1
        return [self._answer(call) for call in calls]

    def _answer(self, call: RpcCall) -> Result:
        assert call.method == "eth_call"
        asked, block = call.params
        self.blocks.append(block)
        data = bytes.fromhex(asked["data"][10:])
        if asked["to"] == LIMITED:
            return self._quotes(
                decode(["(address,uint256,bytes)[]"], data)[0], int(asked["gas"], 16)
            )
        assert asked["to"] == MULTICALL3
        (views,) = decode(["(address,bool,bytes)[]"], data)
        results = [self._view(from_any_case(to), asked) for to, _, asked in views]
        answer = encode(["(bool,bytes)[]"], [[(one is not None, one or b"") for one in results]])
        return self.result(answer[: self.cut])

    def _quotes(self, quotes: Sequence[tuple[str, int, bytes]], gas: int) -> Result:
        assert gas > sum(limit for _, limit, _ in quotes)
        self.gas += gas
        rows = []
        for to, limit, asked in quotes:
            assert from_any_case(to) == adapter.QUOTER
            packed, amount = decode(["bytes", "uint256"], asked[4:])
            self.quoted[packed].append(amount)
            burns = any(token in packed for token in self.burns)
            output = None if burns else self._quoted(packed, amount)
            rows.append((output is not None, limit if burns else 90_000, output or b""))
        return self.result(encode(["uint256", "(bool,uint256,bytes)[]"], [1, rows])[: self.cut])

    def result(self, answer: bytes) -> Result:
        return msgspec.Raw(msgspec.json.encode("0x" + answer.hex()))

    def _view(self, to: Address, asked: bytes) -> bytes | None:
        found = {one.address: one for one in self.pools}.get(to)
        if found is None:
            return b""
        held = self.pools[found]
        if asked[:4].hex() == "0902f1ac":
            return encode(["uint112", "uint112", "uint32"], [held.low, held.high, 0])
        root = int((held.high * 2**192 // held.low) ** 0.5)
        liquidity = int((held.low * held.high) ** 0.5)
        if asked[:4].hex() == "3850c7bd":
            return encode(["uint160"] + ["uint256"] * 6, [root, *[0] * 6])
        return encode(["uint128"], [liquidity])

    def _quoted(self, packed: bytes, amount: int) -> bytes | None:
        tokens = [
            from_any_case("0x" + packed[at : at + 20].hex()) for at in range(0, len(packed), 23)
        ]
        fees = [int.from_bytes(packed[at : at + 3]) for at in range(20, len(packed), 23)]
        pools = tuple(
            pool(*pair, fee) for *pair, fee in zip(tokens, tokens[1:], fees, strict=False)
        )
        out = routing.path_gives(Path(tuple(tokens), pools), self.pools, amount)
        for each in pools:
            out = int(out * self.prices.get(each, Fraction(1)))
        return encode(["uint256"] * 4, [out, 128, 160, 0]) if out else None


class Desk:
    def __init__(self, pools: dict[Pool, Depth], hubs: tuple[Address, ...] = HUBS) -> None:
        self.node, self.clock = PoolNode(pools), ManualClock()
        self.source = adapter.Adapter(self.node, self.clock, hubs)

    async def out(self, amount: int = ETHER, gas_price: int = 10**9) -> int:
        return await self.out_of(WETH, USDC, amount, gas_price)

    async def out_of(
        self, sell: Address, buy: Address, amount: int = ETHER, gas_price: int = 10**9
    ) -> int:
        ask = SourcePriceRequest(Token(sell, 18, ""), Token(buy, 18, ""), amount, gas_price)
        return (await self.source.price(ask)).buy_amount


async def test_the_first_quote_of_a_pair_needs_two_calls_and_the_next_one() -> None:
    desk = Desk(POOLS)
    assert await desk.out() == await desk.out()
    assert desk.node.batches == 3


async def test_pools_that_are_not_there_are_looked_for_again_after_ten_minutes() -> None:
    desk = Desk({THIN: POOLS[THIN]})
    thin = await desk.out()
    desk.node.pools = POOLS
    desk.clock.advance(adapter.ABSENT_S - 1)
    assert await desk.out() == thin
    desk.clock.advance(1)
    await desk.out()  # finds them in the call of its own quote
    assert await desk.out() > thin
    assert desk.node.batches == 5


async def test_a_pool_whose_liquidity_leaves_is_not_used_again() -> None:
    desk = Desk(dict(POOLS))
    before = await desk.out(20 * ETHER)
    for each in (DEEP, *VIA):
        del desk.node.pools[each]
    assert 0 < await desk.out(20 * ETHER) < before


async def test_the_route_is_bound_by_its_router_and_sells_what_was_asked() -> None:
    desk = Desk(POOLS)
    route = await desk.source.route(REQUEST)
    terms = calldata.decode(route.target, route.data, buy_token=USDC)
    assert (terms.sell_amount, terms.min_buy_amount) == (ETHER, route.min_buy_amount)
    assert terms.recipient == WALLET
    assert route.spender == route.target
    assert route.min_buy_amount == route.buy_amount * 9950 // 10_000


async def test_a_large_amount_is_split_over_disjoint_pools() -> None:
    desk = Desk(POOLS)
    split = await desk.source._split(
        SourcePriceRequest(REQUEST.sell, REQUEST.buy, 300 * ETHER + 7, 10**9)
    )
    pools = [each for path in split.parts for each in path.pools]
    assert len(split.parts) == 3
    assert len(set(pools)) == len(pools)
    legs = split.legs(300 * ETHER + 7)
    assert sum(leg.amount for leg in legs) == 300 * ETHER + 7
    alone = max(
        routing.path_gives(path, POOLS, 300 * ETHER)
        for path in routing.all_paths(WETH, USDC, HUBS, POOLS)
    )
    assert split.output > alone


TIERS = {fee: pool(WETH, DAI, fee) for fee in V3_FEES}


async def test_v3_paths_over_a_hub_that_only_look_deep_push_no_other_out() -> None:
    """Liquidity in one tick is cheap and looks deep, at any price: here at ten times the price."""
    false = {fee: TIERS[fee] for fee in V3_FEES if fee != VIA[0].fee}.values()
    looks = {each: depth(each, weth=10**24, dai=30_000 * 10**24) for each in false}
    looks |= {
        pool(DAI, USDC, fee): depth(pool(DAI, USDC, fee), dai=10**25, usdc=10**13)
        for fee in V3_FEES
    }
    desk = Desk({VIA[0]: POOLS[VIA[0]]} | looks)
    desk.node.prices = dict.fromkeys(false, Fraction(1, 10**6))
    genuine = routing.path_gives(Path((WETH, DAI, USDC), VIA), desk.node.pools, ETHER)
    assert await desk.out() >= genuine


def test_paths_of_v2_and_of_one_pool_need_no_place_among_those_over_hubs() -> None:
    looks = {each: depth(each, weth=10**24, dai=3060 * 10**24) for each in TIERS.values()}
    looks |= {
        pool(DAI, USDC, fee): depth(pool(DAI, USDC, fee), dai=10**30, usdc=10**18)
        for fee in V3_FEES
    }
    depths = {DEEP: POOLS[DEEP], THIN: POOLS[THIN]} | looks
    paths = list(routing.all_paths(WETH, USDC, HUBS, depths))
    assert {path.pools for path in paths} >= {(DEEP,), (THIN,)}
    assert not {DEEP, THIN} & {
        p for path in routing.over_hubs(paths, depths, ETHER) for p in path.pools
    }


async def test_a_pool_that_uses_all_gas_costs_only_its_own_path() -> None:
    desk = Desk(POOLS)
    desk.node.burns = [DEEP.fee.to_bytes(3)]
    others = Path((WETH, USDC), (THIN,)), Path((WETH, DAI, USDC), VIA)
    assert await desk.out() >= max(routing.path_gives(path, POOLS, ETHER) for path in others)
    desk.node.quoted.clear()
    await desk.out()
    assert not any(DEEP.fee.to_bytes(3) in path for path in desk.node.quoted)


async def test_an_amount_below_the_one_that_ran_out_of_gas_is_still_asked_for() -> None:
    desk = Desk(POOLS)
    desk.node.burns = [DEEP.fee.to_bytes(3)]
    await desk.out()
    desk.node.burns = []
    desk.node.quoted.clear()
    await desk.out(amount=ETHER // 20)
    direct = next(path for path in desk.node.quoted if DEEP.fee.to_bytes(3) in path)
    assert len(desk.node.quoted[direct]) == 10


async def test_a_token_that_burns_all_gas_is_not_asked_for_again_for_five_minutes() -> None:
    """Whatever the amount, and whichever token it is swapped for."""
    desk = Desk(
        {each: depth(each, weth=800 * ETHER, dai=2_400_000 * ETHER) for each in TIERS.values()}
    )
    desk.source = adapter.Adapter(desk.node, desk.clock, (WETH,))
    desk.node.burns = [bytes.fromhex(DAI[2:])]
    with pytest.raises(NoRoute, match="takes this amount"):
        await desk.out_of(WETH, DAI)
    first = desk.node.gas
    assert 0 < first < 25_000_000
    for amount in (1, ETHER, 7 * ETHER):
        with pytest.raises(NoRoute, match="takes this amount"):
            await desk.out_of(DAI, WETH, amount)
    assert desk.node.gas == first
    desk.clock.advance(adapter.REMEMBERED_S + 1)
    desk.node.burns = []
    assert await desk.out_of(DAI, WETH)


async def test_another_token_is_quoted_beside_one_that_burns_all_gas() -> None:
    """A path over both does not tell which one it was."""
    desk = Desk({VIA[0]: POOLS[VIA[0]], VIA[1]: POOLS[VIA[1]]})
    desk.source = adapter.Adapter(desk.node, desk.clock, (DAI,))
    desk.node.burns = [bytes.fromhex(USDC[2:])]
    with pytest.raises(NoRoute):
        await desk.out_of(WETH, USDC)
    assert await desk.out_of(WETH, DAI)


@pytest.mark.parametrize(
    ("weth", "asked"), [(1, 10), (499, 10), (510, 9), (4_990, 1), (5_010, 0), (10**12, 0)]
)
async def test_parts_far_above_the_depth_are_not_asked_for(weth: int, asked: int) -> None:
    """Each may use most of the call's gas: QuoterV2 looks for liquidity to the last tick."""
    desk = Desk({DEEP: POOLS[DEEP], THIN: POOLS[THIN]})
    await desk.out(weth * ETHER)
    assert sum(map(len, desk.node.quoted.values())) == asked


async def test_a_small_amount_is_not_split_because_a_leg_costs_gas() -> None:
    desk = Desk(POOLS)
    for gas_price, legs in ((0, 2), (100 * 10**9, 1)):
        ask = SourcePriceRequest(REQUEST.sell, REQUEST.buy, 3 * ETHER, gas_price)
        assert len((await desk.source._split(ask)).parts) == legs


@pytest.mark.parametrize(
    ("pools", "reason"),
    [({}, "no pool of Uniswap V2 or V3"), ({VIA[0]: POOLS[VIA[0]]}, "no pool of Uniswap V2 or V3")],
)
async def test_without_pools_there_is_no_route(pools: dict[Pool, Depth], reason: str) -> None:
    with pytest.raises(NoRoute, match=reason) as caught:
        await Desk(pools).out()
    assert caught.value.miss is NoRouteReason.NO_ROUTE


@pytest.mark.parametrize("cut", [0, 31, 64, 200])
async def test_a_truncated_answer_is_a_miss(cut: int) -> None:
    desk = Desk(POOLS)
    desk.node.cut = cut
    with pytest.raises(NoRoute) as caught:
        await desk.out()
    assert caught.value.miss is NoRouteReason.UNAVAILABLE


async def test_a_node_that_refuses_is_a_miss_and_the_next_quote_asks_again() -> None:
    desk = Desk(POOLS)
    desk.node.fails = NodeUnavailable("execution timeout")
    with pytest.raises(NoRoute, match="the node: execution timeout") as caught:
        await desk.out()
    assert caught.value.miss is NoRouteReason.UNAVAILABLE
    desk.node.fails = None
    assert await desk.out()


@pytest.mark.parametrize("amount", [1, 4, 9, 11, 19])
@pytest.mark.parametrize("only", [DEEP, THIN], ids=["v3", "v2"])
async def test_few_smallest_units_are_sold_whole(amount: int, only: Pool) -> None:
    """Tokens without decimals: nine units may be worth much."""
    desk = Desk({only: depth(only, weth=10**6, usdc=3 * 10**9)})
    path = Path((WETH, USDC), (only,))
    assert await desk.out(amount) == routing.path_gives(path, desk.node.pools, amount) > 0


@pytest.mark.parametrize("units", [1, 4, 9])
@pytest.mark.parametrize("only", [DEEP, THIN], ids=["v3", "v2"])
async def test_few_smallest_units_are_bought(units: int, only: Pool) -> None:
    desk = Desk({only: depth(only, weth=10**6 * ETHER, usdc=10**6)})
    assert await desk.out(units * ETHER * 1005 // 1000 + ETHER // 2) == units


curves = st.lists(st.integers(1, 10**9), min_size=10, max_size=10).map(
    lambda gains: [sum(sorted(gains, reverse=True)[: n + 1]) for n in range(10)]
)


@given(outputs=st.lists(curves, min_size=1, max_size=3), cost=st.integers(0, 10**4))
def test_no_other_split_is_better(outputs: list[list[int]], cost: int) -> None:
    """Compared with every way to give ten parts to the paths."""
    paths = [Path((WETH, USDC), (pool(WETH, USDC, fee),)) for fee in V3_FEES[: len(outputs)]]
    known = dict(zip(paths, outputs, strict=True))
    split = best_split(known, Fraction(cost))
    assert split is not None

    def worth(parts: Sequence[int]) -> Fraction:
        used = {path: steps for path, steps in zip(paths, parts, strict=True) if steps}
        out = sum(known[path][steps - 1] for path, steps in used.items())
        return out - cost * Fraction(routing.Split(used, out).gas)

    every = (parts for parts in product(range(11), repeat=len(paths)) if sum(parts) == 10)
    assert split.output - cost * Fraction(split.gas) == max(map(worth, every))


def test_two_paths_do_not_share_a_pool() -> None:
    shared = pool(WETH, DAI, 3000)
    paths = [Path((WETH, DAI, USDC), (shared, pool(DAI, USDC, fee))) for fee in (100, 500)]
    split = best_split({path: [10 * n for n in range(1, 11)] for path in paths}, Fraction(0))
    assert split is not None
    assert len(split.parts) == 1


def test_the_pools_of_a_pair_are_those_of_the_genuine_factories() -> None:
    found = {each.fee: each.address for each in pools_of(WETH, USDC)}
    assert found[0] == "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc"
    assert found[500] == "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
