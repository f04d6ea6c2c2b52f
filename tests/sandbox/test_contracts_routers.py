"""Every vendor's router executes swaps in the vendor's layout and delivers the minimum."""

from dataclasses import replace

import pytest

from quietswap.rules.routers.method import Measure
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.fees import gas_limit_for
from quietswap.sandbox.chain.deploy import DUST
from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.pools import ALL_TOKENS, FEE, USDC, WETH
from quietswap.sandbox.vendors.market import best, priced_routes, routes_between
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.sandbox.accounts import give, send
from tests.sandbox.restored_chain import chain, module_chain
from tests.vendors.case import cases
from tests.vendors.router import Swap

__all__ = ["chain", "module_chain"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

WALLET = WALLETS[0].address
STRANGER = addresses.from_any_case("0x" + "ab" * 20)
ALL_ROUTERS = pytest.mark.parametrize("router", stand_ins())

CASES = {name: case.calls for name, case in cases().items()}
MEASURE_THEMSELVES = [name for name, case in CASES.items() if case.method.measure is Measure.SELF]


async def swap_of(
    chain: LocalChain, sell: str = "WETH", buy: str = "USDC", usd: int = 3000
) -> RouterSwap:
    """The best swap of this USD value; its minimum is the full quoted output."""
    token = ALL_TOKENS[sell]
    amount = token.units(usd / token.usd)
    priced = best(await priced_routes(chain, token.address, ALL_TOKENS[buy].address, amount))
    assert priced is not None
    return RouterSwap(priced.route, amount, priced.amount_out, WALLET, priced.amount_out)


async def approve(chain: LocalChain, router: str, token: str) -> None:
    data = abi.call("approve(address,uint256)", contract_addresses.ROUTERS[router], 2**256 - 1)
    await send(chain, WALLET, token, data)
    await chain.mine()


async def execute(chain: LocalChain, router: str, swap: RouterSwap) -> int:
    """Send the swap from the wallet and return the recipient's gain."""
    before = await chain.token_balance(swap.buy, swap.recipient)
    tx_hash = await send(
        chain,
        WALLET,
        contract_addresses.ROUTERS[router],
        stand_ins()[router].encode(swap),
        gas=1_000_000,
    )
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    gained = await chain.token_balance(swap.buy, swap.recipient) - before
    assert (receipt["status"] == "0x1") == (gained > 0)
    return gained


async def revert_of(chain: LocalChain, router: str, swap: RouterSwap) -> bytes:
    with pytest.raises(CallReverted) as caught:
        await chain.call(
            contract_addresses.ROUTERS[router], stand_ins()[router].encode(swap), sender=WALLET
        )
    return caught.value.data


@ALL_ROUTERS
@pytest.mark.parametrize(
    ("sell", "buy"), [("WETH", "USDC"), ("USDT", "WETH"), ("WBTC", "DAI"), ("USDC", "USDT")]
)
async def test_it_delivers_exactly_what_was_quoted(
    chain: LocalChain, router: str, sell: str, buy: str
) -> None:
    swap = await swap_of(chain, sell, buy)
    await approve(chain, router, swap.sell)
    sold = await chain.token_balance(swap.sell, WALLET)
    assert await execute(chain, router, swap) == swap.min_out
    assert await chain.token_balance(swap.sell, WALLET) == sold - swap.amount
    for place in (contract_addresses.ROUTERS[router], contract_addresses.EXECUTORS[router]):
        assert await chain.token_balance(swap.sell, place) == DUST
        assert await chain.token_balance(swap.buy, place) == DUST
    assert await chain.token_balance(swap.sell, contract_addresses.SETTLER) == 0
    assert await chain.token_balance(swap.buy, contract_addresses.SETTLER) == 0


@ALL_ROUTERS
async def test_less_than_the_minimum_reverts(chain: LocalChain, router: str) -> None:
    """A router that counts its unit of dust keeps one unit: the recipient gets one less."""
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    allowed = CASES[router].method.dust
    greedy = replace(swap, min_out=swap.min_out + allowed + 1)
    assert await revert_of(chain, router, greedy) == CASES[router].short(greedy, swap.min_out)
    assert await execute(chain, router, greedy) == 0
    exact = replace(swap, min_out=swap.min_out + allowed)
    assert await execute(chain, router, exact) == swap.min_out


@ALL_ROUTERS
async def test_the_recipient_of_the_calldata_is_paid(chain: LocalChain, router: str) -> None:
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    assert await execute(chain, router, replace(swap, recipient=STRANGER)) == swap.min_out


@ALL_ROUTERS
async def test_nothing_happens_after_the_deadline(chain: LocalChain, router: str) -> None:
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    now = int((await chain.head())["timestamp"], 16)
    late = replace(swap, deadline=now - 1)
    assert await revert_of(chain, router, late) == CASES[router].expired(now - 1)
    assert await execute(chain, router, replace(swap, deadline=now + 100)) == swap.min_out


@ALL_ROUTERS
async def test_without_an_allowance_nothing_moves(chain: LocalChain, router: str) -> None:
    swap = await swap_of(chain, "USDC", "WETH")
    assert b"exceeds allowance" in await revert_of(chain, router, swap)


@ALL_ROUTERS
async def test_the_selector_and_the_places_of_the_terms_are_the_vendors(
    chain: LocalChain, router: str
) -> None:
    swap = replace(await swap_of(chain), recipient=STRANGER)
    data = stand_ins()[router].encode(swap)
    written = Swap(swap.sell, swap.buy, swap.amount, swap.min_out, STRANGER)
    assert data[:4] == CASES[router].method.encode(written)[:4]
    assert CASES[router].places(data) == (swap.min_out, STRANGER.lower())


async def test_velora_takes_the_partners_fee_after_the_minimum(chain: LocalChain) -> None:
    swap = await swap_of(chain)
    await approve(chain, "velora", swap.sell)
    fee = swap.min_out * 10 // 10_000
    assert await execute(chain, "velora", replace(swap, fee_bps=10)) == swap.min_out - fee


@ALL_ROUTERS
async def test_a_fee_on_transfer_is_not_in_the_promise(chain: LocalChain, router: str) -> None:
    swap = await swap_of(chain, "WETH", "FEE")
    await approve(chain, router, swap.sell)
    promised = swap.min_out
    gained = await execute(chain, router, replace(swap, min_out=promised * 96 // 100))
    assert promised * 97 // 100 <= gained <= promised * 9802 // 10_000


@pytest.mark.parametrize("router", MEASURE_THEMSELVES)
async def test_routers_that_measure_themselves_deliver_less_of_a_token_with_a_fee(
    chain: LocalChain, router: str
) -> None:
    swap = await swap_of(chain, "WETH", "FEE")
    await approve(chain, router, swap.sell)
    least = swap.min_out * 98 // 100
    assert 0 < await execute(chain, router, replace(swap, min_out=least)) < least


async def test_kyberswap_measures_at_the_recipient(chain: LocalChain) -> None:
    swap = await swap_of(chain, "WETH", "FEE")
    await approve(chain, "kyberswap", swap.sell)
    least = swap.min_out * 98 // 100
    assert await execute(chain, "kyberswap", replace(swap, min_out=least)) == 0


@ALL_ROUTERS
async def test_a_token_that_takes_a_fee_can_be_sold(chain: LocalChain, router: str) -> None:
    swap = await swap_of(chain, "FEE", "WETH")
    await approve(chain, router, swap.sell)
    gained = await execute(chain, router, replace(swap, min_out=1))
    assert swap.min_out * 97 // 100 < gained < swap.min_out * 98 // 100 + 10**15


@ALL_ROUTERS
async def test_a_stranger_cannot_make_an_executor_pay_a_pool(
    chain: LocalChain, router: str
) -> None:
    at = contract_addresses.EXECUTORS[router]
    await give(chain, USDC, at, 10**6)
    call = "uniswapV3SwapCallback(int256,int256,bytes)"
    data = abi.call(call, 10**6, 0, abi.encode("(address)", (USDC.address,)))
    with pytest.raises(CallReverted) as caught:
        await chain.call(at, data, sender=STRANGER)
    assert caught.value.data == abi.call("NotThePool()")


async def test_the_allowance_holder_serves_nobody_but_its_caller(chain: LocalChain) -> None:
    await approve(chain, "zeroex", USDC.address)
    theft = abi.call("transferFrom(address,address,uint256)", WALLET, STRANGER, 1)
    exec_ = "exec(address,address,uint256,address,bytes)"
    data = abi.call(exec_, STRANGER, USDC.address, 1, USDC.address, theft)
    with pytest.raises(CallReverted) as caught:
        await chain.call(contract_addresses.ROUTERS["zeroex"], data, sender=STRANGER)
    assert caught.value.data == abi.call("ConfusedDeputy()")
    direct = "transferFrom(address,address,address,uint256)"
    data = abi.call(direct, USDC.address, WALLET, STRANGER, 1)
    with pytest.raises(CallReverted):
        await chain.call(contract_addresses.ROUTERS["zeroex"], data, sender=STRANGER)


@ALL_ROUTERS
async def test_what_a_swap_uses_is_what_it_needs(chain: LocalChain, router: str) -> None:
    """Without dust, refunds would hide a fifth of the gas a limit must cover.

    0x's Settler keeps no dust, on mainnet neither: there one refund is hidden, and the limit the
    service sets covers it.
    """
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    data = "0x" + stand_ins()[router].encode(swap).hex()
    call = {"from": WALLET, "to": contract_addresses.ROUTERS[router], "data": data}
    needed = int(await chain.rpc.call("eth_estimateGas", call), 16)
    (block,) = await chain.rpc.call(
        "eth_simulateV1", {"blockStateCalls": [{"calls": [call]}], "validation": False}, "latest"
    )
    used = int(block["calls"][0]["gasUsed"], 16)
    assert needed < (gas_limit_for(used) if router == "zeroex" else used * 110 // 100)


async def test_every_route_delivers_its_quote(chain: LocalChain) -> None:
    await approve(chain, "kyberswap", WETH.address)
    for priced in await priced_routes(chain, WETH.address, USDC.address, 10**18, max_hops=3):
        now = await priced_routes(chain, WETH.address, USDC.address, 10**18, max_hops=3)
        promised = next(one.amount_out for one in now if one.route == priced.route)
        swap = RouterSwap(priced.route, 10**18, promised, WALLET)
        assert await execute(chain, "kyberswap", swap) == promised


async def test_routes_are_found_by_hops_and_never_turn_back() -> None:
    direct = routes_between(WETH.address, USDC.address, max_hops=1)
    assert sorted(route.hops[0].pool.v3 for route in direct) == [False, True]
    for route in routes_between(FEE.address, USDC.address, max_hops=3):
        assert len(set(route.path)) == len(route.path)
    assert routes_between(WETH.address, STRANGER) == ()


async def test_the_best_route_depends_on_the_size(chain: LocalChain) -> None:
    small = best(await priced_routes(chain, WETH.address, USDC.address, 10**18))
    large = best(await priced_routes(chain, WETH.address, USDC.address, 30 * 10**18))
    assert small is not None
    assert large is not None
    assert [hop.pool.v3 for hop in small.route.hops] == [True]
    assert [hop.pool.v3 for hop in large.route.hops] == [False]


async def test_a_pool_that_would_run_dry_has_no_price(chain: LocalChain) -> None:
    routes = await priced_routes(chain, WETH.address, USDC.address, 10**22, max_hops=1)
    assert [one.route.hops[0].pool.v3 for one in routes] == [False]
    assert best(await priced_routes(chain, WETH.address, STRANGER, 10**18)) is None
