"""The default service, and all of it with every vendor down: the pools answer alone."""

from collections.abc import Iterator

import pytest

from quietswap.sandbox.contracts.pools import USDC, WETH
from quietswap.vendors import uniswap
from tests import forked
from tests.e2e.conftest import VENUES, Town
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data

FOUR = {"kyberswap", "velora", "sushi", "uniswap"}


@pytest.fixture
def alone(town: Town) -> Iterator[ApiClient]:
    """A client while no connection reaches any vendor."""
    with ApiClient(town) as desk, desk.fault("down", *VENUES):
        yield desk


def held_by_router(desk: ApiClient) -> int:
    """Return what somebody left in SwapRouter02, in units of USDC."""
    call = {"to": USDC.address, "data": f"0x70a08231{uniswap.ROUTER[2:]:0>64}"}
    return int(desk.rpc("eth_call", call, "latest"), 16)


def test_without_settings_all_four_sources_can_win(town: Town) -> None:
    told = town.quote().json()["data"]
    assert {row["outcome"] for row in told["sources"]} == {"won", "answered"}
    assert {told["source"], *(row["source"] for row in told["alternatives"])} == FOUR
    assert len(told["alternatives"]) == 3


def test_a_swap_with_every_vendor_down_delivers_what_was_promised(alone: ApiClient) -> None:
    wallet = alone.wallet()
    held = alone.held(wallet, "USDC")
    left = held_by_router(alone)  # `sweepToken` pays it out as well
    signed = alone.swap(wallet, sellAmount=str(20 * ETHER))
    quote = signed.quote
    assert (quote["source"], quote["alternatives"]) == ("uniswap", [])
    assert quote["verification"] == {"status": "verified", "bound": True} | quote["verification"]
    order = data(alone.submit(signed))["order"]
    found = alone.follow(order["orderId"])
    assert found["status"] == "confirmed", found
    gained = alone.held(wallet, "USDC") - held
    assert str(gained) == found["received"]["amount"]
    assert gained == int(quote["buyAmount"]) + left


def test_a_wrap_with_every_vendor_down(alone: ApiClient) -> None:
    wallet = alone.wallet()
    held = alone.held(wallet, "WETH")
    data(alone.submit_wrap(alone.wrap(wallet)))
    alone.until(lambda: alone.held(wallet, "WETH") == held + 3 * ETHER // 2)


def test_a_price_with_every_vendor_down(alone: ApiClient) -> None:
    """Prices in USD stay as well: their sources are others."""
    ask = {"sellToken": WETH.address, "buyToken": USDC.address, "sellAmount": str(ETHER)}
    for _ in range(2):  # the first reads the pools, by which the next one chooses its paths
        quoted = alone.quote(alone.wallet(), sellAmount=str(ETHER))
    found = data(alone.api.get("/api/v1/price", params=ask))
    assert (found["source"], found["buyAmount"]) == ("uniswap", quoted["buyAmount"])
    outcomes = {row["source"]: row["outcome"] for row in found["sources"]}
    assert outcomes.pop("uniswap") == "won"
    assert "won" not in outcomes.values()
    assert found["priceImpactAvailable"]
    assert found["scoring"]["priceAvailable"]


def test_the_command_with_every_vendor_down(alone: ApiClient) -> None:
    account = alone.wallet()
    environment = forked.without_settings() | {
        "QUIETSWAP_URL": alone.town.facts["baseUrl"],
        "QUIETSWAP_API_KEY": alone.secret,
        "QUIETSWAP_RPC_URL": alone.town.facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": "0x" + bytes(account.key).hex(),
    }
    words = ["swap", "1", "WETH", "USDC", "--yes", "--poll", "0.5"]
    done = forked.run(words, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("uniswap", "received", "confirmed"):
        assert word in done.stdout
