"""Single rules of the routers' sources in the stand-ins: who takes what, and when."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.vendors import oneinch as oneinch_stand_in
from quietswap.sandbox.vendors import router_calldata
from quietswap.sandbox.vendors import zeroex as zeroex_stand_in
from quietswap.sandbox.vendors.market import amount_out, routes_between
from quietswap.sandbox.vendors.router_calldata import NOBODY, RouterSwap, pays, script, word
from tests.hostile.trial import WALLET, Outcome, Trade, approved_chain, tried
from tests.vendors import kyberswap, velora

pytestmark = pytest.mark.asyncio(loop_scope="module")
THIEF = addresses.THIEF
AMOUNT, PAID, LEAST = 1000 * 10**6, 4 * 10**17, 3 * 10**17
CAP, TAKE, TO_USER, REFERRAL = 1 << 92, 1 << 95, 1 << 90, 1 << 94


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


async def run(chain: LocalChain, vendor: str, data: bytes) -> Outcome:
    (outcome,) = await tried(chain, [Trade(addresses.ROUTERS[vendor], data)])
    return outcome


async def swap_over(chain: LocalChain, *, v3: bool) -> RouterSwap:
    """1 WETH for USDC on one pool; the minimum is its output."""
    kinds = routes_between(WETH.address, USDC.address, 1)
    (route,) = (one for one in kinds if one.hops[0].pool.v3 is v3)
    brings = await amount_out(chain, route, 10**18)
    return RouterSwap(route, 10**18, brings, WALLET, brings)


@pytest.mark.parametrize(
    ("partner", "flags", "quoted", "left"),
    [
        (NOBODY, 0, LEAST, LEAST),
        (NOBODY, 0, PAID - 11, PAID),
        (NOBODY, 0, PAID - 12, PAID - 12),
        (NOBODY, CAP, LEAST, PAID - LEAST // 100),
        (THIEF, 0, LEAST, LEAST),
        (THIEF, 100, LEAST, PAID - PAID // 100),
        (THIEF, 100 | CAP, LEAST, PAID - (LEAST + LEAST // 100) // 100),
        (THIEF, 0x3FFF, LEAST, PAID - PAID // 50),
        (THIEF, 100 | TAKE, LEAST, PAID - PAID // 100),
        (THIEF, TAKE, LEAST, LEAST),
        (THIEF, TAKE | TO_USER, LEAST, PAID - (PAID - LEAST) // 2),
        (THIEF, REFERRAL, LEAST, PAID - (PAID - LEAST) * 3 // 4),
        (THIEF, TAKE, 1, 1),
    ],
)
async def test_velora_takes_its_share_after_the_minimum(
    chain: LocalChain, partner: str, flags: int, quoted: int, left: int
) -> None:
    """The router counts its unit of dust as received and keeps one unit."""
    terms = (USDC.address, WETH.address, AMOUNT, 1, quoted, b"", NOBODY)
    work = script([pays(WETH.address, addresses.ROUTERS["velora"], PAID - 1)])
    data = velora.called(terms, THIEF, int(partner, 16) << 96 | flags, work)
    outcome = await run(chain, "velora", data)
    assert outcome.gained[WETH.address] == left - 1


async def test_velora_with_nothing_quoted_pays_nothing_or_reverts(chain: LocalChain) -> None:
    swap = await swap_over(chain, v3=True)
    hops = swap.route.hops
    terms = (WETH.address, USDC.address, swap.amount, swap.min_out, 0, b"", NOBODY)
    v3 = await run(chain, "velora", velora.direct(3, terms, 0, hops))
    assert v3.succeeded
    assert v3.gained == v3.gained | {WETH.address: -swap.amount, USDC.address: 0}
    paid = script([pays(USDC.address, addresses.ROUTERS["velora"], swap.min_out)])
    data = velora.called(terms, THIEF, 0, paid)
    assert not (await run(chain, "velora", data)).succeeded


@pytest.mark.parametrize(
    ("flags", "fees", "given", "sold", "gained"),
    [
        (0, (5_000_000,), AMOUNT - 5_000_000, AMOUNT, PAID),
        (0, (5_000_000,), AMOUNT, 0, 0),
        (0x80, (100,), AMOUNT * 99 // 100, AMOUNT, PAID),
        (0x80, (9000, 2000), 0, 0, 0),
        (0x40, (10**17,), AMOUNT, AMOUNT, PAID - 10**17),
        (0x40 | 0x80, (100, 100), AMOUNT, AMOUNT, PAID * 98 // 100),
        (0x40 | 0x80, (3000,), AMOUNT, 0, 0),
    ],
)
async def test_kyberswaps_fees_are_within_amount_and_minimum(
    chain: LocalChain, flags: int, fees: tuple[int, ...], given: int, sold: int, gained: int
) -> None:
    desc = (
        *(USDC.address, WETH.address, [THIEF], [given], [addresses.PARTNER] * len(fees), fees),
        *(WALLET, AMOUNT, LEAST, 0x200 | flags, b""),
    )
    to = addresses.ROUTERS["kyberswap"] if flags & 0x40 else WALLET
    data = kyberswap.called(THIEF, script([pays(WETH.address, to, PAID)]), desc)
    outcome = await run(chain, "kyberswap", data)
    assert outcome.lost == ({USDC.address: sold} if sold else {})
    assert outcome.gained[WETH.address] == gained


async def test_1inch_returns_what_a_partial_fill_left(chain: LocalChain) -> None:
    swap = replace(await swap_over(chain, v3=False))
    outcome = await run(chain, "oneinch", oneinch_stand_in.partial_fill(swap))
    assert outcome.lost == {WETH.address: swap.amount // router_calldata.GREED}
    assert outcome.gained[USDC.address] == swap.min_out // router_calldata.GREED + 1


async def test_1inch_pays_out_exactly_what_the_executor_says(chain: LocalChain) -> None:
    terms = (USDC.address, WETH.address, THIEF, NOBODY, AMOUNT, LEAST, 0)
    more = script([pays(WETH.address, addresses.ROUTERS["oneinch"], PAID)], word(LEAST))
    outcome = await run(
        chain, "oneinch", abi.call(oneinch_stand_in.ONEINCH_SWAP, THIEF, terms, more)
    )
    assert outcome.gained[WETH.address] == LEAST


def zeroex(swap: RouterSwap, *actions: bytes) -> bytes:
    return zeroex_stand_in.zeroex_exec(swap, actions)


async def test_0x_checks_nothing_of_empty_terms(chain: LocalChain) -> None:
    swap = replace(await swap_over(chain, v3=True), min_out=0)
    take = abi.call(
        zeroex_stand_in.ZEROEX_TAKE,
        THIEF,
        ((swap.sell, swap.amount), 0, router_calldata.FOREVER),
        b"",
    )
    inner = abi.call(zeroex_stand_in.ZEROEX_EXECUTE, (WALLET, NOBODY, 0), [take], b"")
    data = abi.call(
        zeroex_stand_in.ZEROEX_EXEC,
        addresses.SETTLER,
        swap.sell,
        swap.amount,
        addresses.SETTLER,
        inner,
    )
    outcome = await run(chain, "zeroex", data)
    assert outcome.succeeded
    assert outcome.lost == {swap.sell: swap.amount}
    assert outcome.gained[swap.buy] == 0
    assert (await run(chain, "zeroex", zeroex(swap, take))).lost == {swap.sell: swap.amount}


async def test_0x_lets_settler_take_no_more_than_was_named(chain: LocalChain) -> None:
    swap = replace(await swap_over(chain, v3=True), min_out=0)
    greedy = ((swap.sell, swap.amount + 1), 0, router_calldata.FOREVER)
    data = zeroex(swap, abi.call(zeroex_stand_in.ZEROEX_TAKE, THIEF, greedy, b""))
    assert not (await run(chain, "zeroex", data)).succeeded


@pytest.mark.parametrize(
    "target", [addresses.ROUTERS["zeroex"], "0x000000000022D473030F116dDEE9F6B43aC78BA3"]
)
async def test_0x_calls_nobody_who_holds_allowances(chain: LocalChain, target: str) -> None:
    swap = replace(await swap_over(chain, v3=True), min_out=0)
    data = zeroex(swap, abi.call(zeroex_stand_in.ZEROEX_BASIC, NOBODY, 0, target, 0, bytes(4)))
    outcome = await run(chain, "zeroex", data)
    assert outcome.answer == abi.call("ConfusedDeputy()")


async def test_0x_reads_zeros_behind_its_calldata(chain: LocalChain) -> None:
    """AllowanceHolder does not check the length: a cut call is another call, not an error."""
    swap = await swap_over(chain, v3=True)
    whole = zeroex_stand_in.encode(replace(swap, settler=THIEF))
    cut = whole[: 4 + 5 * 32]
    assert (await run(chain, "zeroex", cut)).succeeded


@pytest.mark.parametrize("size", [0, 44, 71, 225])
async def test_oneinch_knows_the_lengths_of_permits(chain: LocalChain, size: int) -> None:
    """One that fails is passed over, one of another length reverts."""
    action = oneinch_stand_in.drain(await swap_over(chain, v3=False))
    data = abi.call("permitAndCall(bytes,bytes)", bytes(20 + size), action)
    with pytest.raises(CallReverted) as caught:
        await chain.call(addresses.ROUTERS["oneinch"], data, sender=WALLET)
    assert caught.value.data == abi.call("SafePermitBadLength()")
