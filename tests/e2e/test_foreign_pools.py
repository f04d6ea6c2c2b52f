"""Pools that a stranger opens for his own or for another's token, on the sandbox's chain."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from quietswap.rules.quotes.quote import FEE_MAY_RISE
from quietswap.sandbox.contracts.pools import USDC, V3_TICK_SPACINGS, WETH, SandboxToken
from tests import forked
from tests.e2e import foreign_tokens
from tests.e2e.conftest import VENUES, Town
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data

PUSHED = foreign_tokens.token("0x70ce000000000000000000000000000000000002", 300)
DEEP_USD = 3_000_000
"""1 000 WETH on its side of the genuine pool."""
LOOKS_USD = 1_500_000


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    """A client while no connection reaches any vendor."""
    with ApiClient(town) as desk, desk.fault("down", *VENUES):
        yield desk


@pytest.fixture
def pushed(desk: ApiClient) -> SandboxToken:
    """A token with one genuine pool, of V2, among eight narrow ones at ten times its price."""
    foreign_tokens.deploy(desk, PUSHED)
    foreign_tokens.open_pool(desk, PUSHED, WETH, DEEP_USD)
    dear = replace(PUSHED, usd=10 * PUSHED.usd)
    for other in (WETH, USDC):
        for fee, spacing in V3_TICK_SPACINGS.items():
            foreign_tokens.open_pool(desk, dear, other, LOOKS_USD, fee, ticks=spacing)
    return PUSHED


def v2_gives(amount: int, sold: int, bought: int) -> int:
    """Return what a V2 pool with these reserves pays (UniswapV2Library.getAmountOut)."""
    kept = amount * 997
    return kept * bought // (sold * 1000 + kept)


def test_narrow_pools_do_not_push_the_genuine_pool_out(
    desk: ApiClient,
    pushed: SandboxToken,
) -> None:
    reserves = DEEP_USD // 300 * ETHER, DEEP_USD // 3000 * ETHER
    for whole in (100, 1000):
        amount = whole * ETHER
        ask = {
            "sellToken": pushed.address, "buyToken": WETH.address, "sellAmount": str(amount),
        }  # fmt: skip
        found = data(desk.api.get("/api/v1/price", params=ask))
        assert found["source"] == "uniswap"
        assert int(found["buyAmount"]) >= v2_gives(amount, *reserves)
        wallet = desk.wallet()
        desk.give(wallet, pushed, 2 * amount)
        quoted = desk.quote(wallet, **ask)
        assert int(quoted["buyAmount"]) >= v2_gives(amount, *reserves)
        assert quoted["verification"]["status"] == "verified"
    ask["buyToken"] = USDC.address  # over the hub
    assert int(data(desk.api.get("/api/v1/price", params=ask))["buyAmount"]) > 200_000 * 10**6


def test_a_fee_that_may_rise_is_noted_by_quote_and_command(desk: ApiClient) -> None:
    """A V3 pool pays the wallet itself: no router sees what the token keeps on that transfer."""
    new = foreign_tokens.token("0x70ce000000000000000000000000000000000004", 300)
    foreign_tokens.deploy(desk, new)
    foreign_tokens.open_pool(desk, new, WETH, DEEP_USD, 3000)
    wallet = desk.wallet()
    quoted = desk.quote(wallet, buyToken=new.address)
    assert (quoted["verification"]["status"], quoted["verification"]["bound"]) == ("verified", True)
    assert FEE_MAY_RISE in quoted["verification"]["notes"]
    assert FEE_MAY_RISE not in desk.quote(wallet)["verification"].get("notes", [])
    environment = forked.without_settings() | {
        "QUIETSWAP_URL": desk.town.facts["baseUrl"],
        "QUIETSWAP_API_KEY": desk.secret,
        "QUIETSWAP_RPC_URL": desk.town.facts["rpcUrl"],
    }
    words = ["quote", "0.1", "WETH", new.address, "--wallet", wallet.address]
    shown = forked.run(words, environment)
    assert FEE_MAY_RISE in " ".join(shown.stdout.split()), shown
