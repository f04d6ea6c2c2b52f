"""A swap of an empty wallet can be simulated with state overrides, as a verifier does."""

from typing import Any

import pytest

from quietswap.rules.tx import address as addresses
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.pools import ALL_TOKENS, USDC, WETH, SandboxToken
from quietswap.sandbox.vendors.market import best, priced_routes, routes_between
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.sandbox.restored_chain import chain, module_chain
from tests.vendors.case import cases

__all__ = ["chain", "module_chain"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAUPER = addresses.from_any_case("0x" + "ab" * 20)


def simulation(router: str, swap: RouterSwap, token: SandboxToken) -> dict[str, Any]:
    """One block: the balance before, the swap, the balance after."""
    spender = contract_addresses.ROUTERS[router]
    held = {
        token.balance_key(PAUPER): f"0x{swap.amount:064x}",
        token.allowance_key(PAUPER, spender): f"0x{swap.amount:064x}",
    }
    balance = {
        "from": PAUPER,
        "to": swap.buy,
        "data": "0x" + abi.call("balanceOf(address)", PAUPER).hex(),
    }
    trade = {"from": PAUPER, "to": spender, "data": "0x" + stand_ins()[router].encode(swap).hex()}
    block = {
        "stateOverrides": {
            token.address: {"stateDiff": held},
            PAUPER: {"balance": "0xde0b6b3a7640000"},
        },
        "calls": [balance, trade, balance],
    }
    return {"blockStateCalls": [block], "validation": False, "traceTransfers": False}


async def simulated(
    chain: LocalChain, router: str, sell: str, buy: str, above: int = 0
) -> tuple[int, list[dict[str, Any]]]:
    """Return the quoted output and the calls' results; `above` is added to the minimum."""
    token = ALL_TOKENS[sell]
    amount = token.units(3000 / token.usd)
    priced = best(await priced_routes(chain, token.address, ALL_TOKENS[buy].address, amount))
    assert priced is not None
    swap = RouterSwap(priced.route, amount, priced.amount_out + above, PAUPER)
    asked = simulation(router, swap, token)
    (block,) = await chain.rpc.call("eth_simulateV1", asked, "latest")
    return priced.amount_out, block["calls"]


@pytest.mark.parametrize("router", stand_ins())
@pytest.mark.parametrize("sell", [symbol for symbol in ALL_TOKENS if symbol not in ("WETH", "FEE")])
async def test_it_delivers_the_promise(chain: LocalChain, router: str, sell: str) -> None:
    promised, (before, swap, after) = await simulated(chain, router, sell, "WETH")
    assert [call["status"] for call in (before, swap, after)] == ["0x1"] * 3
    assert int(after["returnData"], 16) - int(before["returnData"], 16) == promised
    assert 100_000 < int(swap["gasUsed"], 16) < 300_000


@pytest.mark.parametrize("router", stand_ins())
async def test_a_broken_minimum_fails_with_the_routers_own_error(
    chain: LocalChain, router: str
) -> None:
    quoted, (_, swap, after) = await simulated(chain, router, "USDC", "WETH", above=2)
    assert swap["status"] == "0x0"
    asked = RouterSwap(routes_between(USDC.address, WETH.address)[0], 1, quoted + 2, PAUPER)
    error = cases()[router].calls.short(asked, quoted)
    assert swap["returnData"] == "0x" + error.hex()
    assert int(after["returnData"], 16) == 0


async def test_the_simulation_leaves_the_chain_as_it_was(chain: LocalChain) -> None:
    first, _ = await simulated(chain, "kyberswap", "USDC", "WETH")
    second, calls = await simulated(chain, "kyberswap", "USDC", "WETH")
    assert first == second
    assert int(calls[2]["returnData"], 16) == first
