"""From ETH to USDC and back on geth: three signatures each way, or one of a delegated wallet."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.client import SwapRequest
from quietswap.rules.amounts import format_units
from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.pools import USDC, WETH
from tests import forked
from tests.e2e.test_batched import client_of, count, signed_batch
from tests.e2e.test_batched_eth import UNWRAP, WRAP, ether
from tests.e2e.test_typescript_client import Page
from tests.nodes.town import GethDesk
from tests.spec.api_client import ETHER, SOLD
from tests.spec.wire import data
from tests.typescript.package import TypeScript, big, needs_packages

pytestmark = pytest.mark.today_in_short
Swap = Callable[[str, str, int], int]
"""Swaps an amount of a token, or of ETH, into another as its user does; returns what arrived."""
Door = Callable[[GethDesk, LocalAccount, TypeScript], Swap]


def by_command(desk: GethDesk, wallet: LocalAccount, _: TypeScript) -> Swap:
    facts = desk.town.facts
    variables = forked.without_settings() | {
        "QUIETSWAP_URL": facts["baseUrl"],
        "QUIETSWAP_API_KEY": desk.secret,
        "QUIETSWAP_RPC_URL": facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": wallet.key.to_0x_hex(),
    }

    def swap(sell: str, buy: str, amount: int) -> int:
        shown = format_units(amount, 18 if sell == "ETH" else USDC.decimals)
        words = ["swap", shown, sell, buy, "--yes", "--json", "--poll", "0.2"]
        done = forked.run(words, variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return int(json.loads(done.stdout)["received"])

    return swap


def by_python(desk: GethDesk, wallet: LocalAccount, _: TypeScript) -> Swap:
    def swap(sell: str, buy: str, amount: int) -> int:
        with client_of(desk) as client:
            result = client.swap(SwapRequest(sell, buy, amount, wallet.address), wallet)
        assert result.succeeded
        return result.received or 0

    return swap


def by_typescript(desk: GethDesk, wallet: LocalAccount, typescript: TypeScript) -> Swap:
    page = Page(desk, typescript, wallet)

    def swap(sell: str, buy: str, amount: int) -> int:
        pair = {"sellToken": sell, "buyToken": buy, "sellAmount": big(amount)}
        result = page.ask("swap", page.request | pair)
        assert result["succeeded"]
        received: int = result["received"]
        return received

    return swap


@needs_packages
@pytest.mark.capability("ETH to USDC and back: both clients, command")
@pytest.mark.parametrize("door", [by_command, by_python, by_typescript])
def test_a_wallet_with_ether_only_swaps_it_and_back(
    desk: GethDesk, typescript: TypeScript, door: Door
) -> None:
    wallet = desk.ether_wallet()
    swap, usdc = door(desk, wallet, typescript), "USDC" if door is by_command else USDC.address
    before = ether(desk, wallet)
    bought = swap("ETH", usdc, SOLD)
    assert holdings(desk, wallet) == (0, bought)
    assert count(desk, wallet) == 3
    assert is_fee(before - SOLD - ether(desk, wallet))
    before = ether(desk, wallet)
    arrived = swap(usdc, "ETH", bought)
    assert holdings(desk, wallet) == (0, 0)
    assert count(desk, wallet) == 6
    assert is_fee(before + arrived - ether(desk, wallet))


@pytest.mark.capability("ETH to USDC and back in one each (delegated wallet)")
def test_a_delegated_wallet_signs_once_each_way(desk: GethDesk) -> None:
    """What is above the minimum stays WETH."""
    wallet = desk.ether_wallet()
    desk.delegate(wallet, CALIBUR)
    before, used = ether(desk, wallet), count(desk, wallet)
    there = in_one_transaction(desk, wallet, WRAP)
    bought = int(there["received"]["amount"])
    assert holdings(desk, wallet) == (0, bought)
    assert ether(desk, wallet) == before - SOLD - int(there["feePaidWei"])
    before = ether(desk, wallet)
    back = in_one_transaction(desk, wallet, UNWRAP | {"sellAmount": str(bought)})
    unwrapped = int(back["received"]["unwrapped"])
    assert holdings(desk, wallet) == (int(back["received"]["amount"]) - unwrapped, 0)
    assert ether(desk, wallet) == before + unwrapped - int(back["feePaidWei"])
    assert count(desk, wallet) == used + 2


def in_one_transaction(
    desk: GethDesk, wallet: LocalAccount, changes: dict[str, str]
) -> dict[str, Any]:
    """Return the end of an order whose batch converts, approves and swaps."""
    quote = desk.quote(wallet, **changes)
    order = data(desk.submit(signed_batch(wallet, quote)))["order"]
    end = desk.follow(order["orderId"])
    assert (end["status"], end["conversion"]) == ("confirmed", changes["conversion"])
    return end


def holdings(desk: GethDesk, wallet: LocalAccount) -> tuple[int, int]:
    return desk.held(wallet, WETH.symbol), desk.held(wallet, USDC.symbol)


def is_fee(wei: int) -> bool:
    """Whether so much is what three transactions may cost, and no part of what was swapped."""
    return 0 < wei < ETHER // 100
