"""Rejected routes steal when they are executed."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.quotes.route_policy import check_route
from quietswap.rules.safety import calldata
from quietswap.rules.safety.calldata import UnboundCalldata
from quietswap.rules.safety.methods import METHODS
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx import address as addresses
from quietswap.rules.vendors import zeroex
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.pools import ALL_TOKENS, BY_ADDRESS, DAI, USDC, V3_WETH_USDC, WETH
from quietswap.sandbox.vendors import oneinch as oneinch_stand_in
from quietswap.sandbox.vendors import zeroex as zeroex_stand_in
from quietswap.sandbox.vendors.market import best, priced_routes, routes_between
from quietswap.sandbox.vendors.router_calldata import RouterSwap, made_up_pool_word
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.hostile.trial import WALLET, Trade, approved_chain, breach, tried
from tests.routers.router_calldata import WRITTEN
from tests.sandbox.accounts import send

pytestmark = pytest.mark.asyncio(loop_scope="module")
THIEF = contract_addresses.THIEF
AMOUNT = 1000 * 10**6


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


def any_swap() -> RouterSwap:
    (route, *_) = routes_between(USDC.address, WETH.address, 1)
    return RouterSwap(route, AMOUNT, 1, WALLET)


def two_pools(method: str, *dexes: int) -> bytes:
    words = ",".join(["uint256"] * (3 + len(dexes)))
    return abi.call(f"{method}({words})", int(DAI.address, 16), 3 * 10**18, 10**6, *dexes)


GENUINE = int(V3_WETH_USDC.address, 16) | 1 << 253
MADE_UP_V3 = made_up_pool_word(1 << 253 | 1 << 247)
THEFTS: dict[str, tuple[str, bytes]] = {
    "unoswap2 of another token": ("oneinch", two_pools("unoswap2", GENUINE, MADE_UP_V3)),
    "unoswap2 over made-up pools": (
        "oneinch",
        two_pools("unoswap2", made_up_pool_word(), MADE_UP_V3),
    ),
    "unoswap3 over made-up pools": (
        "oneinch",
        two_pools("unoswap3", made_up_pool_word(), MADE_UP_V3, made_up_pool_word()),
    ),
    "unoswapTo to another": (
        "oneinch",
        abi.call(
            "unoswapTo(uint256,uint256,uint256,uint256,uint256)",
            *(int(THIEF, 16), int(USDC.address, 16), AMOUNT, 1, made_up_pool_word()),
        ),
    ),
    "permitAndCall of a Clipper swap": (
        "oneinch",
        abi.call("permitAndCall(bytes,bytes)", bytes(20 + 224), oneinch_stand_in.drain(any_swap())),
    ),
}


@pytest.mark.parametrize("name", THEFTS)
async def test_a_refused_method_steals_when_it_is_run(chain: LocalChain, name: str) -> None:
    vendor, data = THEFTS[name]
    (outcome,) = await tried(chain, [Trade(contract_addresses.ROUTERS[vendor], data)])
    assert outcome.succeeded
    assert outcome.lost
    assert breach(outcome, USDC.address, AMOUNT, WETH.address, 1)
    with pytest.raises(UnboundCalldata):
        calldata.decode(contract_addresses.ROUTERS[vendor], data, buy_token=USDC.address)
    assert METHODS[contract_addresses.ROUTERS[vendor], data[:4].hex()].layout is None


HARMLESS_HERE = {
    "lying_executor": "the router's own check stops it",
    "permit_inside": "no wallet signs a permit in the sandbox",
    "shy_settler": "it pays where it is simulated, and takes where it is not",
}


@pytest.mark.parametrize(
    ("fault", "vendor"), [(f, v) for v, made in stand_ins().items() for f in made.attacks]
)
async def test_an_attack_steals_when_it_is_run_and_is_refused(
    chain: LocalChain, fault: str, vendor: str
) -> None:
    swap = await small_swap(chain, "DAI" if fault == "other_token" else "USDC")
    data = stand_ins()[vendor].attacks[fault](swap)
    await chain.rpc.batch(stand_ins()[vendor].under(fault))
    (outcome,) = await tried(chain, [Trade(contract_addresses.ROUTERS[vendor], data)])
    await chain.rpc.batch(stand_ins()[vendor].under(None))
    stolen = breach(outcome, swap.sell, swap.amount, swap.buy, swap.min_out)
    assert (stolen is None) is (fault in HARMLESS_HERE)
    if fault != "lying_executor":
        assert refusal(vendor, swap, data)
    else:
        assert not outcome.succeeded


async def test_a_shy_settler_takes_all_in_a_block(chain: LocalChain) -> None:
    swap = await small_swap(chain, "USDC")
    data = stand_ins()["zeroex"].attacks["shy_settler"](swap)
    (simulated,) = await tried(chain, [Trade(zeroex.ROUTER, data)])
    assert simulated.gained[swap.buy] == swap.min_out
    snapshot = await chain.rpc.call("evm_snapshot")
    before = [await chain.token_balance(token, WALLET) for token in (swap.sell, swap.buy)]
    await send(chain, WALLET, zeroex.ROUTER, data, gas=900_000, priority_fee=1)
    await chain.mine()
    after = [await chain.token_balance(token, WALLET) for token in (swap.sell, swap.buy)]
    await chain.rpc.call("evm_revert", snapshot)
    assert [new - old for old, new in zip(before, after, strict=True)] == [-swap.amount, 0]


@pytest.mark.parametrize("vendor", stand_ins())
async def test_an_honest_answer_is_bound_as_it_was_asked(chain: LocalChain, vendor: str) -> None:
    swap = await small_swap(chain, "USDC")
    router = contract_addresses.ROUTERS[vendor]
    data = stand_ins()[vendor].encode(swap)
    terms = calldata.decode(router, data)
    dust = WRITTEN[vendor].dust
    assert (terms.sell_token, terms.sell_amount) == (swap.sell, swap.amount)
    assert (terms.buy_token, terms.min_buy_amount) == (swap.buy, swap.min_out - dust)
    assert terms.recipient == WALLET
    assert terms.settler == (contract_addresses.SETTLER if router == zeroex.ROUTER else None)
    (outcome,) = await tried(chain, [Trade(router, data)])
    assert outcome.succeeded
    assert breach(outcome, swap.sell, swap.amount, swap.buy, terms.min_buy_amount) is None


async def small_swap(chain: LocalChain, sell: str) -> RouterSwap:
    token = ALL_TOKENS[sell]
    buy = WETH if sell == "USDC" else USDC
    amount = AMOUNT if sell == "USDC" else token.units(3)
    priced = best(await priced_routes(chain, token.address, buy.address, amount))
    assert priced is not None
    least = priced.amount_out * 99 // 100
    return RouterSwap(priced.route, amount, least, WALLET, priced.amount_out)


def _token(address: str) -> Token:
    token = BY_ADDRESS[addresses.from_any_case(address)]
    return Token(token.address, token.decimals, token.symbol)


def refusal(vendor: str, swap: RouterSwap, data: bytes) -> str | None:
    """Return the service's reason to reject the answer, for any other fields of it."""
    router = contract_addresses.ROUTERS[vendor]
    words = (swap.route.path, swap.quote, swap.min_out, None, None)
    route = Route(vendor, "", router, router, 0, data, *words)
    sell, buy = _token(swap.sell), _token(swap.buy)
    request = RouteRequest(sell, buy, swap.amount, WALLET, 100, 0, 2**40)
    return check_route(route, request, [router], settlers=zeroex_stand_in.GENUINE)
