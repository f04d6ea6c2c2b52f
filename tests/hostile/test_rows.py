"""Every bound method with a hostile executor: it delivers its minimum, and no unit less."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio

from quietswap.routers import calldata
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.venues.hostile_calldata import script, word
from quietswap.sandbox.venues.market import amount_out, best_route, routes_between
from quietswap.sandbox.venues.router_calldata import FOREVER, NOBODY, RouterSwap
from quietswap.vendors.oneinch import stand_in as oneinch_stand_in
from quietswap.vendors.sushi import stand_in as sushi_stand_in
from quietswap.vendors.zeroex import stand_in as zeroex_stand_in
from tests.hostile import calls
from tests.hostile.trial import WALLET, Trade, approved_chain, breach, tried

pytestmark = pytest.mark.asyncio(loop_scope="module")
THIEF = addresses.THIEF
FEE_BPS, TAKE_SURPLUS, REFERRAL = 200, 1 << 95, 1 << 94
AMOUNT, LEAST = 1000 * 10**6, 3 * 10**17
"""The sold amount (USDC) and the minimum (WETH) with a hostile executor."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


def pays(to: str, paid: int, answer: bytes = b"") -> bytes:
    return script([(WETH.address, abi.call("transfer(address,uint256)", to, paid), True)], answer)


def kyberswap_description(flags: int = 0x200, fees: tuple[int, ...] = ()) -> tuple[object, ...]:
    receivers = [THIEF] * len(fees)
    return (
        *(USDC.address, WETH.address, [THIEF], [AMOUNT], receivers, fees),
        *(NOBODY, AMOUNT, LEAST, flags, b""),
    )


def kyberswap(paid: int) -> bytes:
    return calls.kyberswap(THIEF, pays(WALLET, paid), kyberswap_description())


def kyberswap_with_a_fee_on_what_is_bought(paid: int) -> bytes:
    """The thief takes 10 % of the output before the check of the minimum."""
    gross = paid * 10 // 9
    description = kyberswap_description(0x200 | 0x40 | 0x80, (1000,))
    return calls.kyberswap(THIEF, pays(addresses.KYBERSWAP, gross), description)


def velora_terms(quoted: int = LEAST) -> tuple[object, ...]:
    return (USDC.address, WETH.address, AMOUNT, LEAST, quoted, b"", NOBODY)


def velora(flags: int, quoted: int = LEAST) -> Callable[[int], bytes]:
    """The router holds a unit of dust and keeps one, so it is paid what arrives before the fee."""
    fees = int(THIEF, 16) << 96 | flags
    return lambda paid: calls.velora(
        velora_terms(quoted), THIEF, fees, pays(addresses.VELORA, paid - 1)
    )


def velora_curve(version: int, method: str, swap_type: int = 0) -> Callable[[int], Trade]:
    take = abi.call("transferFrom(address,address,uint256)", addresses.VELORA, THIEF, AMOUNT)

    def made(paid: int) -> Trade:
        pay = abi.call("transfer(address,uint256)", addresses.VELORA, paid - 1)
        steps = [(USDC.address, take, True), (WETH.address, pay, True)]
        lesson = abi.call("teach(bytes4,bytes)", abi.selector(method), script(steps))
        word_ = int(THIEF, 16) | 1 << 160 | swap_type << 163
        return Trade(
            addresses.VELORA, calls.velora_curve(version, velora_terms(), 0, word_), (lesson,)
        )

    return made


def sushi(paid: int) -> bytes:
    work = abi.call("callBytes(bytes)", pays(WALLET, paid))
    terms = (USDC.address, AMOUNT, WALLET, WETH.address, LEAST)
    return abi.call(sushi_stand_in.SUSHI_SNWAP, *terms, THIEF, work)


def zeroex(*then: bytes) -> Callable[[int], bytes]:
    """All is taken to the thief, who pays Settler; `then` are the actions after that."""

    def made(paid: int) -> bytes:
        permit = ((USDC.address, AMOUNT), 0, FOREVER)
        pay = abi.call("callBytes(bytes)", pays(addresses.SETTLER, paid))
        actions = [
            abi.call(zeroex_stand_in.ZEROEX_TAKE, THIEF, permit, b""),
            abi.call(zeroex_stand_in.ZEROEX_BASIC, NOBODY, 0, THIEF, 0, pay),
            *then,
        ]
        swap = replace(any_swap(), recipient=WALLET, min_out=LEAST)
        return zeroex_stand_in.zeroex_exec(swap, actions)

    return made


def oneinch(paid: int) -> bytes:
    terms = (USDC.address, WETH.address, THIEF, NOBODY, AMOUNT, LEAST, 0)
    return abi.call(
        oneinch_stand_in.ONEINCH_SWAP, THIEF, terms, pays(addresses.ONEINCH, paid, word(paid))
    )


def any_swap() -> RouterSwap:
    (route, *_) = routes_between(USDC.address, WETH.address, 1)
    return RouterSwap(route, AMOUNT, LEAST, WALLET)


SURPLUS_LEFT = abi.call(
    "POSITIVE_SLIPPAGE(address,address,uint256,uint256)", THIEF, WETH.address, LEAST, 10_000
)
SWEEP = abi.call(
    zeroex_stand_in.ZEROEX_BASIC,
    *(WETH.address, 10_000, WETH.address, 36),
    abi.call("transfer(address,uint256)", THIEF, 0),
)


@dataclass(frozen=True)
class Row:
    """A bound method with a hostile executor; `made` takes the thief's payment."""

    router: str
    made: Callable[[int], bytes | Trade]
    extra: int = 0
    """The thief's payment above the minimum, which flags or later actions return to it."""


ROWS = {
    "kyberswap swap": Row("kyberswap", kyberswap),
    "kyberswap swap, fee": Row("kyberswap", kyberswap_with_a_fee_on_what_is_bought),
    "velora swapExactAmountIn": Row("velora", velora(0)),
    "velora, partner's fee": Row("velora", velora(FEE_BPS)),
    "velora, largest fee there is": Row("velora", velora(0x3FFF)),
    "velora, surplus taken": Row("velora", velora(TAKE_SURPLUS), extra=10**18),
    "velora, surplus to the referrer": Row("velora", velora(REFERRAL | 1 << 91), extra=10**18),
    "velora, quoted as high as can be": Row("velora", velora(FEE_BPS, 2**255)),
    "velora swapExactAmountInOnCurveV1": Row(
        "velora", velora_curve(1, "exchange(int128,int128,uint256,uint256)")
    ),
    "velora swapExactAmountInOnCurveV1, underlying": Row(
        "velora", velora_curve(1, "exchange_underlying(int128,int128,uint256,uint256)", 1)
    ),
    "velora swapExactAmountInOnCurveV2": Row(
        "velora", velora_curve(2, "exchange(uint256,uint256,uint256,uint256)")
    ),
    "velora swapExactAmountInOnCurveV2, underlying": Row(
        "velora", velora_curve(2, "exchange_underlying(uint256,uint256,uint256,uint256)", 1)
    ),
    "velora swapExactAmountInOnCurveV2, zap": Row(
        "velora", velora_curve(2, "exchange(address,uint256,uint256,uint256,uint256)", 2)
    ),
    "sushi snwap": Row("sushi", sushi),
    "zeroex exec": Row("zeroex", zeroex()),
    "zeroex, exact payment and a sweep": Row(
        "zeroex", zeroex(abi.call("CHECK_SLIPPAGE(bool)", True), SWEEP), extra=10**18
    ),
    "zeroex, positive slippage": Row("zeroex", zeroex(SURPLUS_LEFT), extra=10**18),
    "oneinch swap": Row("oneinch", oneinch),
}


def trade(row: Row, paid: int) -> Trade:
    made = row.made(paid)
    return made if isinstance(made, Trade) else Trade(addresses.ROUTERS[row.router], made)


@pytest.mark.parametrize("name", ROWS)
async def test_a_bound_call_gives_its_least_and_not_a_unit_less(
    chain: LocalChain, name: str
) -> None:
    row = ROWS[name]
    at_least = trade(row, LEAST + row.extra)
    terms = calldata.decode(at_least.to, at_least.data, buy_token=WETH.address)
    assert (terms.sell_amount, terms.recipient in (None, WALLET)) == (AMOUNT, True)
    enough, short = await tried(chain, [at_least, trade(row, LEAST - 1)])
    assert enough.succeeded
    assert breach(enough, USDC.address, AMOUNT, WETH.address, terms.min_buy_amount) is None
    assert enough.lost == {USDC.address: AMOUNT}
    if not row.extra:
        assert enough.gained[WETH.address] - terms.min_buy_amount in (0, 1)
    assert not short.succeeded
    assert not short.lost


async def test_augustus_over_genuine_pools_gives_its_least(chain: LocalChain) -> None:
    amount = 10**18
    made = []
    for version, pool_v3 in ((2, False), (3, True)):
        (route,) = (
            one
            for one in routes_between(WETH.address, USDC.address, 1)
            if one.hops[0].pool.v3 is pool_v3
        )
        priced = await chain_quote(chain, route.hops[0].pool.v3)
        groups = calls.v3_groups(route.hops) if pool_v3 else calls.v2_groups(route.hops)
        minimum = priced + (0 if pool_v3 else 1)
        for more in (0, 1):
            terms = (WETH.address, USDC.address, amount, minimum + more, 2**200, b"", NOBODY)
            data = calls.velora_direct(version, terms, 0, groups)
            made.append((priced, Trade(addresses.VELORA, data)))
    outcomes = await tried(chain, [one for _, one in made])
    for (priced, one), outcome, more in zip(made, outcomes, (0, 1, 0, 1), strict=True):
        least = calldata.decode(one.to, one.data).min_buy_amount
        assert least == priced + more
        assert outcome.succeeded is (more == 0)
        assert outcome.gained[USDC.address] == (priced if more == 0 else 0)


async def test_unoswap_over_genuine_pools_gives_its_least(chain: LocalChain) -> None:
    for route in routes_between(WETH.address, USDC.address, 1):
        priced = await chain_quote(chain, route.hops[0].pool.v3)
        dex = calls.unoswap_pool(route.hops[0])
        swaps = [RouterSwap(route, 10**18, priced + more, WALLET) for more in (0, 1)]
        made = [Trade(addresses.ONEINCH, oneinch_stand_in.unoswap(swap, dex)) for swap in swaps]
        terms = calldata.decode(addresses.ONEINCH, made[0].data, buy_token=USDC.address)
        enough, short = await tried(chain, made)
        assert enough.gained[USDC.address] == terms.min_buy_amount == priced
        assert not short.succeeded


async def chain_quote(chain: LocalChain, v3: bool) -> int:
    """The output of 1 WETH in USDC on the pair or on the V3 pool."""
    priced = await best_route(chain, WETH.address, USDC.address, 10**18, 1)
    assert priced is not None
    if priced.route.hops[0].pool.v3 is v3:
        return priced.amount_out
    (other,) = (
        route
        for route in routes_between(WETH.address, USDC.address, 1)
        if route.hops[0].pool.v3 is v3
    )
    return await amount_out(chain, other, 10**18)
