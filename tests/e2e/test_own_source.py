"""The default service, and all of it with every vendor down: the pools answer alone."""

from collections.abc import Iterator
from itertools import product

import pytest

from quietswap.rules.routers.swap_router02 import Leg, read, v3_path
from quietswap.rules.vendors import uniswap
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import FEE, TOKENS, USDC, WETH, SandboxToken
from tests import forked, loopback
from tests.e2e.conftest import VENUES, Town
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data
from tests.waiting import WITHIN_S

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


def output(desk: ApiClient, leg: Leg) -> int:
    """Return what Uniswap's own contracts give for one path; 0 without the pools."""
    if leg.fees:
        data = abi.call("quoteExactInput(bytes,uint256)", v3_path(leg), leg.amount)
    else:
        data = abi.call("getAmountsOut(uint256,address[])", leg.amount, list(leg.tokens))
    to = addresses.QUOTER_V2 if leg.fees else addresses.V2_ROUTER
    call = {"to": to, "data": "0x" + data.hex()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, "latest"]}
    answer = loopback.post(desk.town.facts["rpcUrl"], json=body, timeout=WITHIN_S).json()
    words = bytes.fromhex(answer.get("result", "0x")[2:])
    return int.from_bytes(words[:32] if leg.fees else words[-32:])


def test_a_split_beats_the_best_single_path_by_more_than_its_gas(alone: ApiClient) -> None:
    amount = 20 * ETHER
    quote = alone.quote(alone.wallet(), sellAmount=str(amount))
    legs = read(bytes.fromhex(quote["dexRoute"]["data"][2:])).legs
    assert len(legs) > 1
    hubs = [(t.address,) for t in TOKENS.values() if t.address not in (WETH.address, USDC.address)]
    paths = [(WETH.address, *hub, USDC.address) for hub in ((), *hubs)]
    fees = [()] + [f for n in (1, 2) for f in product((100, 500, 3000, 10_000), repeat=n)]
    single = max(
        output(alone, Leg(amount, path, each))
        for path in paths
        for each in fees
        if len(each) in (0, len(path) - 1)
    )
    gain = (int(quote["buyAmount"]) - single) / 10**6
    print(f"{len(legs)} legs give {gain:.2f} USDC more than one path of {single / 10**6:.2f}")
    assert gain > quote["scoring"]["gasCostUsd"] > 0  # the gas of all of it


@pytest.mark.parametrize("pair", [(WETH, FEE), (FEE, WETH)], ids=["bought", "sold"])
def test_a_token_with_a_fee_is_quoted_rightly_or_not_at_all(
    alone: ApiClient, pair: tuple[SandboxToken, SandboxToken]
) -> None:
    """Its pool promises what it would pay without the fee."""
    sell, buy = pair
    wallet = alone.wallet()
    alone.give(wallet, sell, sell.units(2))
    ask = {
        "sellToken": sell.address, "buyToken": buy.address, "sellAmount": str(sell.units(1)),
        "slippageBps": "300",
    }  # fmt: skip
    answer = alone.ask_quote(wallet, **ask)
    if answer.status_code != 200:
        assert "fee" in str(answer.json()["details"]["sources"]), answer.text
        return
    held, signed = alone.held(wallet, buy.symbol), alone.swap(wallet, **ask)
    order = data(alone.submit(signed))["order"]
    assert alone.follow(order["orderId"])["status"] == "confirmed"
    assert alone.held(wallet, buy.symbol) - held == int(signed.quote["buyAmount"])


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
