"""The sandwich: its arithmetic against brute force, and real attacks on a real chain."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain.transactions import Transaction, TransactionFields, sign
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.abi import SEARCHER
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.searcher import Sandwich, amount_out, best_front, largest_front
from quietswap.sandbox.vendors import router_calldata
from quietswap.sandbox.vendors.market import PricedRoute, priced_routes
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.sandbox.small_network import ALICE, BOB, GWEI, SmallNetwork, running_small_network

POOL = 1_000_000


@pytest.fixture
async def town() -> AsyncIterator[SmallNetwork]:
    async with running_small_network() as running:
        yield running


async def _v2(town: SmallNetwork, amount: int, pair: tuple[Address, Address]) -> PricedRoute:
    priced = await priced_routes(town.chain, *pair, amount, 1)
    return next(one for one in priced if not one.route.hops[0].pool.v3)


async def _through(
    town: SmallNetwork, vendor: str, weth: str, slippage_bps: int = 100
) -> Transaction:
    """Return Alice's public swap on the V2 pair through a vendor's router."""
    await town.allow(WETH, ALICE, addresses.ROUTERS[vendor])
    amount = WETH.units(weth)
    best = await _v2(town, amount, (WETH.address, USDC.address))
    least = best.amount_out * (10_000 - slippage_bps) // 10_000
    swap = router_calldata.RouterSwap(best.route, amount, least, ALICE.address, best.amount_out)
    data = stand_ins()[vendor].encode(swap)
    fields = TransactionFields(
        await town.nonce(), addresses.ROUTERS[vendor], data, 500_000, 5 * GWEI, GWEI
    )
    return sign(fields, ALICE.private_key)


@settings(deadline=None)
@given(
    x=st.integers(POOL, 10**9),
    y=st.integers(POOL, 10**9),
    v=st.integers(100, 10**6),
)
def test_it_pays_exactly_when_brute_force_finds_a_profit(x: int, y: int, v: int) -> None:
    scale = 10**18
    plan = Sandwich(x * scale, y * scale, v * scale)
    small = v * scale // 1000
    assert (plan.profit(small) > 0) == plan.pays or abs(plan.profit(small)) < small // 10**4


def test_the_arithmetic_is_the_pairs() -> None:
    assert amount_out(1000, 10**6, 10**6) == 996
    front = 7_577 * 10**6
    plan = Sandwich(3_000_000 * 10**6, 1000 * 10**18, 30_000 * 10**6)
    assert plan.pays
    assert abs(plan.profit(front) - 105_305_000) < 10_000  # the worked example, in USDC
    assert not Sandwich(3_000_000 * 10**6, 1000 * 10**18, 8_000 * 10**6).pays


async def test_the_largest_front_run_is_the_closed_form() -> None:
    plan = Sandwich(3_000_000 * 10**6, 1000 * 10**18, 30_000 * 10**6)
    least = amount_out(plan.victim_in, plan.reserve_in, plan.reserve_out) * 995 // 1000

    async def passes(front: int) -> bool:
        x, y = plan.reserve_in + front, plan.reserve_out - plan.bought(front)
        return amount_out(plan.victim_in, x, y) >= least

    most = await largest_front(plan.reserve_in, passes)
    assert abs(most - 7_577_010_000) < 2_000_000
    assert await passes(most)
    assert best_front(plan, most) >= most * 9999 // 10_000

    async def never(_: int) -> bool:
        return False

    assert await largest_front(10**9, never) == 0


def test_a_front_run_without_limit_has_a_summit() -> None:
    plan = Sandwich(10**12, 10**12, 10**9 * 4)
    best = best_front(plan, 10**14)
    assert plan.profit(best) >= max(plan.profit(best * k // 10) for k in (5, 8, 9, 11, 12, 20))


@pytest.mark.parametrize("vendor", stand_ins())
async def test_a_public_swap_through_any_router_is_sandwiched(
    town: SmallNetwork, vendor: str
) -> None:
    tx = await _through(town, vendor, "10")
    before = await town.chain.token_balance(WETH.address, SEARCHER.address)
    usdc = await town.chain.token_balance(USDC.address, ALICE.address)
    await town.chain.send_raw(tx.raw)
    await town.builder.mine(1)
    mined = await town.mined()
    assert len(mined) == 3
    assert mined[1] == tx.hash
    (attack,) = town.searcher.attacks
    assert attack["victimHash"] == tx.hash
    gained = await town.chain.token_balance(WETH.address, SEARCHER.address) - before
    assert int(attack["profit"]) == gained > 0
    received = await town.chain.token_balance(USDC.address, ALICE.address) - usdc
    assert int(attack["victimReceived"]) == received
    loss = int(attack["victimLoss"])
    assert int(attack["victimExpected"]) - received == loss
    assert 0.0098 < loss / int(attack["victimExpected"]) < 0.0101


async def test_the_same_swap_in_private_loses_nothing(town: SmallNetwork) -> None:
    tx = await _through(town, "kyberswap", "10")
    promised = await _v2(town, WETH.units("10"), (WETH.address, USDC.address))
    usdc = await town.chain.token_balance(USDC.address, ALICE.address)
    await town.hold(tx, "noreverts")
    await town.builder.mine(1)
    assert await town.mined() == [tx.hash]
    received = await town.chain.token_balance(USDC.address, ALICE.address) - usdc
    assert received == promised.amount_out
    assert town.searcher.attacks == []


async def test_a_plain_uniswap_swap_is_sandwiched_too(town: SmallNetwork) -> None:
    tx = await town.v2_swap(ALICE, "20", 1)
    await town.chain.send_raw(tx.raw)
    await town.builder.mine(1)
    (attack,) = town.searcher.attacks
    assert int(attack["profit"]) > WETH.units("1")  # a minimum of 1 allows anything


async def test_what_does_not_pay_is_left_alone(town: SmallNetwork) -> None:
    small = await town.v2_swap(ALICE, "1", 1)  # impact below the fee
    await town.chain.send_raw(small.raw)
    await town.builder.mine(1)
    assert await town.mined() == [small.hash]
    tight = await _through(town, "sushi", "10", slippage_bps=0)
    await town.chain.send_raw(tight.raw)
    await town.builder.mine(1)
    assert await town.mined() == [tight.hash]
    assert town.searcher.attacks == []


async def test_a_victim_whose_approval_waits_beside_it_is_found(town: SmallNetwork) -> None:
    first = await town.signed(tip=GWEI)
    tx = await town.v2_swap(ALICE, "20", 1, nonce=1)
    await town.chain.send_raw(first.raw)
    await town.chain.send_raw(tx.raw)
    await town.builder.mine(1)
    mined = await town.mined()
    assert len(mined) == 4
    assert (mined[0], mined[2]) == (first.hash, tx.hash)


async def test_an_attack_that_private_trades_spoil_is_not_mined(town: SmallNetwork) -> None:
    victim = await _through(town, "velora", "10", slippage_bps=50)
    bob = await town.v2_swap(BOB, "30", 1, tip=0)
    await town.chain.send_raw(victim.raw)
    await town.hold(bob)
    await town.builder.mine(1)
    assert await town.mined() == [bob.hash, victim.hash]
    assert town.searcher.attacks == []


async def test_a_reorg_takes_the_record_back(town: SmallNetwork) -> None:
    tx = await town.v2_swap(ALICE, "20", 1)
    await town.chain.send_raw(tx.raw)
    await town.builder.mine(1)
    assert len(town.searcher.attacks) == 1
    await town.builder.reorg(1)
    assert town.searcher.attacks == []
