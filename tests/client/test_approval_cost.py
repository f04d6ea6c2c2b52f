"""The cost of an approval, before it is signed."""

from typing import Any

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import NodeRpcError
from quietswap.client.flows.approvals import approval_cost
from tests.api.scripted_use_cases import ROUTER
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import ETHER, WALLET
from tests.stored_orders import USDC

WORST_FEE = 2 * 3 * 10**9 + 10**9
"""Twice the base fee of the node, and its tip, in wei."""
ONE = 48_000 * 5 // 4
"""The node's estimate with a margin of a quarter."""


def cost(client: QuietswapClient, approval: Any = "exact") -> int:
    return client.run(
        approval_cost(token=USDC, router=ROUTER, amount=ETHER, wallet=WALLET, approval=approval)
    )


@pytest.mark.parametrize("approval", ["exact", "max"])
def test_an_approval_costs_its_gas_at_the_highest_fee(
    client: QuietswapClient, node: FakeChain, approval: str
) -> None:
    assert cost(client, approval) == ONE * WORST_FEE


def test_a_reset_before_it_is_paid_too(client: QuietswapClient, node: FakeChain) -> None:
    """An approval from zero writes an empty slot, which costs 105,100 gas more after the fork."""
    node.resets_first, node.allowances[ROUTER.lower()] = True, 1
    assert cost(client) == (ONE + (ONE + 17_100 + 88_000) * 5 // 4) * WORST_FEE


def test_an_approval_that_reverts_in_any_case_has_no_cost(
    client: QuietswapClient, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reverts(*_: object) -> str:
        raise NodeSays("execution reverted")

    monkeypatch.setattr(node, "eth_estimateGas", reverts)
    with pytest.raises(NodeRpcError, match="execution reverted"):
        cost(client)
