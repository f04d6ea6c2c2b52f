"""`quietswap swap` without a node: what the quote says cannot be submitted is not signed."""

from typing import Any

import pytest

from tests.cli.conftest import Quietswap
from tests.client.fake_servers import WALLET, FakeService

SWAP = ("swap", "1", "WETH", "USDC", "--poll", "0.2")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (
            {"allowance": {"actual": "1", "needed": "2", "spender": WALLET}},
            f"approve {WALLET} first",
        ),
        (
            {"balance": {"actual": "1", "needed": "2", "token": WALLET}},
            "the wallet holds less than is sold",
        ),
        ({"gas": {"actual": "1", "needed": "2"}}, "the wallet holds too little ETH for the gas"),
    ],
)
def test_without_a_node_nothing_is_signed_that_cannot_be_submitted(
    quietswap: Quietswap,
    service: FakeService,
    environment: dict[str, str | None],
    missing: dict[str, Any],
    said: str,
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    quote = service.quote()
    quote["issues"].update(missing)
    service.quote = lambda: quote
    result = quietswap(*SWAP, "--yes", "--at-least", "2985")
    assert result.exit_code == 1
    assert f"nothing was signed: {said}" in " ".join(result.stdout.split())
    assert service.bodies("order") == []


@pytest.mark.parametrize(("amount", "code"), [("exact", 2), ("max", 2), ("never", 0)])
def test_an_approval_that_is_asked_for_needs_a_node(
    quietswap: Quietswap, environment: dict[str, str | None], amount: str, code: int
) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap(*SWAP, "--yes", "--at-least", "2985", "--approve", amount)
    assert result.exit_code == code, result.output
    assert (f"--approve {amount} needs --rpc-url" in result.output) is (code == 2)
