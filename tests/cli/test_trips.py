"""How often a command waits for the caller's own node: each request is a trip there and back."""

import pytest

from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, MINIMUM, FakeServers
from tests.stored_orders import USDC

_PLAN, _TRIAL, _END = 1, 1, 1
_APPROVAL = 1 + 1 + 1
"""What its signature needs, after the plan was accepted; the transaction, and its block."""


@pytest.fixture(autouse=True)
def tries(node: FakeChain) -> None:
    node.delivers = MINIMUM


def trips(outside: FakeServers, quietswap: Quietswap, *words: str) -> list[list[str]]:
    done = quietswap(*words, "--yes")
    assert done.exit_code == 0, done.output
    return outside.trips


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("1", "WETH", "USDC"), 0),
        (("all", "WETH", "USDC"), 1),
        (("1", "WETH", USDC.lower()), 0),
    ],
)
def test_a_swap(
    quietswap: Quietswap,
    outside: FakeServers,
    node: FakeChain,
    words: tuple[str, ...],
    before: int,
) -> None:
    node.allowances[ROUTER.lower()] = node.balance = ETHER
    made = trips(outside, quietswap, "swap", *words, "--poll", "0.2")
    assert len(made) == before + _PLAN + _TRIAL + _END, made


def test_a_swap_with_an_approval(
    quietswap: Quietswap, outside: FakeServers, node: FakeChain
) -> None:
    made = trips(outside, quietswap, "swap", "1", "WETH", "USDC", "--poll", "0.2")
    assert len(node.sent) == 1
    assert len(made) == _PLAN + _APPROVAL + _PLAN + _TRIAL + _END, made


@pytest.mark.parametrize("words", [("wrap", "2"), ("unwrap", "0.5")])
def test_a_wrap(
    quietswap: Quietswap, outside: FakeServers, node: FakeChain, words: tuple[str, ...]
) -> None:
    made = trips(outside, quietswap, *words)
    assert len(made) == _PLAN + _TRIAL + _END, made
