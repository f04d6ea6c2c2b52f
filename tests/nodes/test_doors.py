"""Swap, wrap, unwrap and cancel by every door of the product, on geth."""

from pathlib import Path

import pytest

from tests.e2e.test_delegated_wallets import CHANGE, DOORS, Door, Person, count
from tests.example_counts import LONG
from tests.nodes.town import GethDesk
from tests.typescript.package import TypeScript, needs_packages

ACTIONS = list(CHANGE)
CASES = [
    pytest.param(
        door,
        action,
        id=f"{door.__name__}-{action}",
        marks=pytest.mark.capability(f"{action}: API, both clients, command, wallet RPC"),
    )
    for number, door in enumerate(DOORS)
    for at, action in enumerate(ACTIONS)
    if LONG or (number + at) % 2 == 0
]


@needs_packages
@pytest.mark.parametrize(("door", "action"), CASES)
def test_every_door(
    desk: GethDesk, tmp_path: Path, typescript: TypeScript, door: Door, action: str
) -> None:
    wallet = desk.wallet()
    open_swap = desk.stuck(wallet) if action == "cancel" else ("", 0)
    person = Person(desk, wallet, tmp_path, typescript, open_swap)
    weth, usdc, nonce = desk.held(wallet, "WETH"), desk.held(wallet, "USDC"), count(person)
    assert door(person, action) == ""
    desk.until(lambda: desk.held(wallet, "WETH") == weth + CHANGE[action])
    desk.until(lambda: count(person) > nonce)
    assert (desk.held(wallet, "USDC") > usdc) == (action == "swap")
    if action == "cancel":
        assert desk.follow(open_swap[0])["error"]["code"] == "USER_CANCELLED"
