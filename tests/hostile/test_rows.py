"""Every bound method with a hostile executor: it delivers its minimum, and no unit less."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from quietswap.rules.safety import calldata
from quietswap.rules.vendors import VENDORS
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.sandbox.vendors import oneinch as oneinch_stand_in
from quietswap.sandbox.vendors.market import amount_out, best, priced_routes, routes_between
from quietswap.sandbox.vendors.router_calldata import NOBODY, RouterSwap
from tests.hostile.trial import ROW_AMOUNT, ROW_LEAST, WALLET, Trade, approved_chain, breach, tried
from tests.routers.router_calldata import OWN
from tests.vendors import oneinch, velora
from tests.vendors.router import StandInCase

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


ROWS = {
    f"{name} {case}": (VENDORS[name].router, row)
    for name, router in OWN.items()
    if isinstance(router, StandInCase)
    for case, row in router.rows.items()
}


def trade(name: str, paid: int) -> Trade:
    router, row = ROWS[name]
    made = row.made(paid)
    return made if isinstance(made, Trade) else Trade(router, made)


@pytest.mark.parametrize("name", ROWS)
async def test_a_bound_call_gives_its_least_and_not_a_unit_less(
    chain: LocalChain, name: str
) -> None:
    extra = ROWS[name][1].extra
    at_least = trade(name, ROW_LEAST + extra)
    terms = calldata.decode(at_least.to, at_least.data, buy_token=WETH.address)
    assert (terms.sell_amount, terms.recipient in (None, WALLET)) == (ROW_AMOUNT, True)
    enough, short = await tried(chain, [at_least, trade(name, ROW_LEAST - 1)])
    assert enough.succeeded
    assert breach(enough, USDC.address, ROW_AMOUNT, WETH.address, terms.min_buy_amount) is None
    assert enough.lost == {USDC.address: ROW_AMOUNT}
    if not extra:
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
        minimum = priced + (0 if pool_v3 else 1)
        for more in (0, 1):
            terms = (WETH.address, USDC.address, amount, minimum + more, 2**200, b"", NOBODY)
            data = velora.direct(version, terms, 0, route.hops)
            made.append((priced, Trade(VENDORS["velora"].router, data)))
    outcomes = await tried(chain, [one for _, one in made])
    for (priced, one), outcome, more in zip(made, outcomes, (0, 1, 0, 1), strict=True):
        least = calldata.decode(one.to, one.data).min_buy_amount
        assert least == priced + more
        assert outcome.succeeded is (more == 0)
        assert outcome.gained[USDC.address] == (priced if more == 0 else 0)


async def test_unoswap_over_genuine_pools_gives_its_least(chain: LocalChain) -> None:
    for route in routes_between(WETH.address, USDC.address, 1):
        priced = await chain_quote(chain, route.hops[0].pool.v3)
        dex = oneinch.pool_word(route.hops[0])
        swaps = [RouterSwap(route, 10**18, priced + more, WALLET) for more in (0, 1)]
        made = [
            Trade(VENDORS["oneinch"].router, oneinch_stand_in.unoswap(swap, dex)) for swap in swaps
        ]
        terms = calldata.decode(VENDORS["oneinch"].router, made[0].data, buy_token=USDC.address)
        enough, short = await tried(chain, made)
        assert enough.gained[USDC.address] == terms.min_buy_amount == priced
        assert not short.succeeded


async def chain_quote(chain: LocalChain, v3: bool) -> int:
    """The output of 1 WETH in USDC on the pair or on the V3 pool."""
    priced = best(await priced_routes(chain, WETH.address, USDC.address, 10**18, 1))
    assert priced is not None
    if priced.route.hops[0].pool.v3 is v3:
        return priced.amount_out
    (other,) = (
        route
        for route in routes_between(WETH.address, USDC.address, 1)
        if route.hops[0].pool.v3 is v3
    )
    return await amount_out(chain, other, 10**18)
