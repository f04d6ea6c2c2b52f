"""Every vendor's router swaps for real, in the vendor's layout, and keeps what it promises."""

from dataclasses import replace

import pytest

from quietswap.domain import address as addresses
from quietswap.sandbox import abi, places
from quietswap.sandbox.chain import CallReverted, Chain
from quietswap.sandbox.deploy import DUST
from quietswap.sandbox.routers import ENCODERS, RouterSwap
from quietswap.sandbox.routes import best_route, priced_routes, routes_between
from quietswap.sandbox.tokens import ALL_TOKENS, FEE, USDC, WETH
from quietswap.sandbox.wallets import WALLETS

WALLET = WALLETS[0].address
STRANGER = addresses.from_any_case("0x" + "ab" * 20)
ALL_ROUTERS = pytest.mark.parametrize("router", ENCODERS)

SELECTORS = {
    "kyberswap": "e21fd0e9",
    "velora": "e3ead59e",
    "sushi": "5f3bd1c8",
    "openocean": "90411a32",
    "zeroex": "2213bc0b",
    "oneinch": "07ed2379",
}


async def swap_of(
    chain: Chain, sell: str = "WETH", buy: str = "USDC", usd: int = 3000
) -> RouterSwap:
    """The best swap of so many dollars' worth whose minimum is all that was promised."""
    token = ALL_TOKENS[sell]
    amount = token.units(usd / token.usd)
    priced = await best_route(chain, token.address, ALL_TOKENS[buy].address, amount)
    assert priced is not None
    return RouterSwap(priced.route, amount, priced.amount_out, WALLET)


async def approve(chain: Chain, router: str, token: str) -> None:
    data = abi.call("approve(address,uint256)", places.ROUTERS[router], 2**256 - 1)
    await chain.send(WALLET, token, data)
    await chain.mine()


async def execute(chain: Chain, router: str, swap: RouterSwap) -> int:
    """Send the swap from the wallet; returns what its recipient gained."""
    before = await chain.token_balance(swap.buy, swap.recipient)
    tx_hash = await chain.send(
        WALLET, places.ROUTERS[router], ENCODERS[router](swap), gas=1_000_000
    )
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    gained = await chain.token_balance(swap.buy, swap.recipient) - before
    assert (receipt["status"] == "0x1") == (gained > 0)
    return gained


async def revert_of(chain: Chain, router: str, swap: RouterSwap) -> bytes:
    with pytest.raises(CallReverted) as caught:
        await chain.call(places.ROUTERS[router], ENCODERS[router](swap), sender=WALLET)
    return caught.value.data


@ALL_ROUTERS
@pytest.mark.parametrize(
    ("sell", "buy"), [("WETH", "USDC"), ("USDT", "WETH"), ("WBTC", "DAI"), ("USDC", "USDT")]
)
async def test_it_delivers_exactly_what_was_quoted(
    chain: Chain, router: str, sell: str, buy: str
) -> None:
    swap = await swap_of(chain, sell, buy)
    await approve(chain, router, swap.sell)
    sold = await chain.token_balance(swap.sell, WALLET)
    assert await execute(chain, router, swap) == swap.min_out
    assert await chain.token_balance(swap.sell, WALLET) == sold - swap.amount
    for place in (places.ROUTERS[router], places.SETTLER):
        assert await chain.token_balance(swap.sell, place) == DUST
        assert await chain.token_balance(swap.buy, place) == DUST


@ALL_ROUTERS
async def test_one_unit_less_than_the_minimum_reverts(chain: Chain, router: str) -> None:
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    greedy = replace(swap, min_out=swap.min_out + 1)
    assert await revert_of(chain, router, greedy) == abi.call(
        "ReturnAmountTooLow(uint256,uint256)", swap.min_out, swap.min_out + 1
    )
    assert await execute(chain, router, greedy) == 0


@ALL_ROUTERS
async def test_the_recipient_of_the_calldata_is_paid(chain: Chain, router: str) -> None:
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    assert await execute(chain, router, replace(swap, recipient=STRANGER)) == swap.min_out


@ALL_ROUTERS
async def test_nothing_happens_after_the_deadline(chain: Chain, router: str) -> None:
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    now = int((await chain.head())["timestamp"], 16)
    late = replace(swap, deadline=now - 1)
    assert await revert_of(chain, router, late) == abi.call("Expired(uint256)", now - 1)
    assert await execute(chain, router, replace(swap, deadline=now + 100)) == swap.min_out


@ALL_ROUTERS
async def test_without_an_allowance_nothing_moves(chain: Chain, router: str) -> None:
    swap = await swap_of(chain, "USDC", "WETH")
    assert b"exceeds allowance" in await revert_of(chain, router, swap)


@ALL_ROUTERS
async def test_the_selector_is_the_vendors(chain: Chain, router: str) -> None:
    assert ENCODERS[router](await swap_of(chain))[:4].hex() == SELECTORS[router]


async def test_the_minimum_and_the_recipient_sit_where_the_vendors_have_them(chain: Chain) -> None:
    swap = replace(await swap_of(chain), recipient=STRANGER)
    to = int(STRANGER, 16)
    data = {name: encode(swap)[4:] for name, encode in ENCODERS.items()}
    body = abi.word(data["kyberswap"], 0) // 32
    desc = body + abi.word(data["kyberswap"], body + 3) // 32
    assert abi.word(data["kyberswap"], desc + 6) == to
    assert abi.word(data["kyberswap"], desc + 8) == swap.min_out
    assert abi.word(data["velora"], 4) == swap.min_out
    assert abi.word(data["velora"], 7) == to
    assert abi.word(data["sushi"], 2) == to
    assert abi.word(data["sushi"], 4) == swap.min_out
    desc = abi.word(data["openocean"], 1) // 32
    assert abi.word(data["openocean"], desc + 3) == to
    assert abi.word(data["openocean"], desc + 5) == swap.min_out
    assert abi.word(data["oneinch"], 4) == to
    assert abi.word(data["oneinch"], 6) == swap.min_out
    settler = data["zeroex"][abi.word(data["zeroex"], 4) + 32 :]
    assert settler[:4].hex() == "1fff991f"
    assert abi.word(settler[4:], 0) == to
    assert abi.word(settler[4:], 2) == swap.min_out


async def test_velora_takes_the_partners_fee_after_the_minimum(chain: Chain) -> None:
    swap = await swap_of(chain)
    await approve(chain, "velora", swap.sell)
    fee = swap.min_out * 10 // 10_000
    assert await execute(chain, "velora", replace(swap, fee_bps=10)) == swap.min_out - fee


@ALL_ROUTERS
async def test_a_fee_on_transfer_is_not_in_the_promise(chain: Chain, router: str) -> None:
    """All but Sushi's measure what they got, not what arrived; Sushi's reverts instead."""
    swap = await swap_of(chain, "WETH", "FEE")
    await approve(chain, router, swap.sell)
    promised = swap.min_out
    gained = await execute(chain, router, replace(swap, min_out=promised * 98 // 100))
    assert promised * 98 // 100 <= gained <= promised * 9802 // 10_000


@ALL_ROUTERS
async def test_a_token_that_takes_a_fee_can_be_sold(chain: Chain, router: str) -> None:
    swap = await swap_of(chain, "FEE", "WETH")
    await approve(chain, router, swap.sell)
    gained = await execute(chain, router, replace(swap, min_out=1))
    assert swap.min_out * 97 // 100 < gained < swap.min_out * 98 // 100 + 10**15


@ALL_ROUTERS
async def test_a_stranger_cannot_make_a_router_pay_a_pool(chain: Chain, router: str) -> None:
    at = places.SETTLER if router == "zeroex" else places.ROUTERS[router]
    await chain.give(USDC, at, 10**6)
    call = "uniswapV3SwapCallback(int256,int256,bytes)"
    data = abi.call(call, 10**6, 0, abi.encode("(address)", (USDC.address,)))
    with pytest.raises(CallReverted) as caught:
        await chain.call(at, data, sender=STRANGER)
    assert caught.value.data == abi.call("NotThePool()")


async def test_the_allowance_holder_serves_settler_alone(chain: Chain) -> None:
    await approve(chain, "zeroex", USDC.address)
    theft = abi.call("transferFrom(address,address,uint256)", WALLET, STRANGER, 1)
    exec_ = "exec(address,address,uint256,address,bytes)"
    direct = "transferFrom(address,address,address,uint256)"
    for data in (
        abi.call(exec_, STRANGER, USDC.address, 1, USDC.address, theft),
        abi.call(exec_, places.SETTLER, USDC.address, 1, USDC.address, theft),
        abi.call(direct, USDC.address, WALLET, STRANGER, 1),
    ):
        with pytest.raises(CallReverted) as caught:
            await chain.call(places.ZEROEX, data, sender=STRANGER)
        assert caught.value.data == abi.call("NotAllowed()")


@ALL_ROUTERS
async def test_what_a_swap_uses_is_what_it_needs(chain: Chain, router: str) -> None:
    """Without dust, refunds would hide a fifth of the gas a limit must cover."""
    swap = await swap_of(chain)
    await approve(chain, router, swap.sell)
    data = "0x" + ENCODERS[router](swap).hex()
    call = {"from": WALLET, "to": places.ROUTERS[router], "data": data}
    needed = int(await chain.rpc.call("eth_estimateGas", call), 16)
    (block,) = await chain.rpc.call(
        "eth_simulateV1", {"blockStateCalls": [{"calls": [call]}], "validation": False}, "latest"
    )
    assert needed < int(block["calls"][0]["gasUsed"], 16) * 110 // 100


async def test_every_route_delivers_its_quote(chain: Chain) -> None:
    await approve(chain, "kyberswap", WETH.address)
    for priced in await priced_routes(chain, WETH.address, USDC.address, 10**18, max_hops=3):
        now = await priced_routes(chain, WETH.address, USDC.address, 10**18, max_hops=3)
        promised = next(one.amount_out for one in now if one.route == priced.route)
        swap = RouterSwap(priced.route, 10**18, promised, WALLET)
        assert await execute(chain, "kyberswap", swap) == promised


async def test_routes_are_found_by_hops_and_never_turn_back() -> None:
    direct = routes_between(WETH.address, USDC.address, max_hops=1)
    assert sorted(route.hops[0].pool.name for route in direct) == ["uniswap-v2", "uniswap-v3"]
    for route in routes_between(FEE.address, USDC.address, max_hops=3):
        assert len(set(route.path)) == len(route.path)
    assert routes_between(WETH.address, STRANGER) == ()


async def test_the_best_route_depends_on_the_size(chain: Chain) -> None:
    small = await best_route(chain, WETH.address, USDC.address, 10**18)
    large = await best_route(chain, WETH.address, USDC.address, 30 * 10**18)
    assert small is not None
    assert large is not None
    assert [hop.pool.name for hop in small.route.hops] == ["uniswap-v3"]
    assert [hop.pool.name for hop in large.route.hops] == ["uniswap-v2"]


async def test_a_pool_that_would_run_dry_has_no_price(chain: Chain) -> None:
    routes = await priced_routes(chain, WETH.address, USDC.address, 10**22, max_hops=1)
    assert [one.route.hops[0].pool.name for one in routes] == ["uniswap-v2"]
    assert await best_route(chain, WETH.address, STRANGER, 10**18) is None
