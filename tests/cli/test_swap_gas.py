"""`quietswap swap`: the gas beside the prices at the caller's own node."""

from dataclasses import replace

import pytest

from tests.api.scripted_use_cases import PARAMS
from tests.cli.conftest import Quietswap
from tests.cli.test_swap_command import SWAP
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeService, Reply, ok, swap_quote
from tests.response_json import quotes


def offered(node: FakeChain, amount: int) -> Reply:
    """Return a quote whose fee cap the node's base fee does not exceed."""
    params = replace(PARAMS, max_fee_per_gas=node.base_fee)
    least = amount * 995 // 1000
    return ok(
        quotes.swap_quote_response(
            swap_quote(buy_amount=amount, min_buy_amount=least, params=params)
        )
    )


def test_nothing_is_approved_for_a_swap_whose_gas_is_too_dear(
    quietswap: Quietswap, service: FakeService, node: FakeChain
) -> None:
    """Its public approval would be paid for nothing."""
    node.base_fee = 150 * 10**9
    service.next("quote", offered(node, 3_000_000_000))
    result = quietswap(*SWAP, "--yes", "--max-impact", "1")
    assert result.exit_code == 1, result.output
    assert "with its gas" in " ".join(result.output.split())
    assert node.sent == []


@pytest.mark.parametrize(("bought", "code"), [(2_934_000_000, 0), (2_928_000_000, 1)])
def test_gas_is_compared_beside_the_quote_that_is_signed(
    quietswap: Quietswap, service: FakeService, node: FakeChain, bought: int, code: int
) -> None:
    """The quote after the approval is worse than the accepted one, as the market may be."""
    node.base_fee = 35 * 10**9  # 200 000 gas are 0.7 % of 3,000 USD
    node.delivers = bought
    service.next("quote", offered(node, 2_940_000_000), offered(node, bought))
    result = quietswap(*SWAP, "--yes", "--max-impact", "3")
    assert result.exit_code == code, result.output
    text = " ".join(result.output.split())
    assert ("wait for a lower base fee" in text) is bool(code)
    assert len(service.bodies("order")) == 1 - code
