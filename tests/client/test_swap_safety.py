"""What swap() refuses to sign, whatever the service says."""

from dataclasses import replace
from typing import Any

import pytest

from quietswap.api import present
from quietswap.client import WETH, Declined, QuietswapClient, UnsafeQuote
from tests.api.inside import ROUTER, swap_quote
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_outside import ETHER, FakeService, ok
from tests.client.test_swap_flow import OTHER_ROUTER, REQUEST
from tests.orders import USDC


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    return node


def change(path: str, value: Any) -> dict[str, Any]:
    """Return the usual quote with one member changed."""
    quote = present.swap_quote(swap_quote())
    *parents, last = path.split(".")
    inner = quote
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    return quote


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sellToken", USDC),
        ("buyToken", WETH),
        ("sellAmount", str(ETHER + 1)),
        ("minBuyAmount", "0"),
        ("minBuyAmount", "2900000000"),
        ("mevProtection.transactionParams.to", OTHER_ROUTER),
        ("mevProtection.transactionParams.data", "0xdeadbeef"),
        ("mevProtection.transactionParams.value", "1"),
        ("mevProtection.transactionParams.maxPriorityFeePerGas", "1"),
        ("mevProtection.transactionParams.chainId", 137),
        ("mevProtection.transactionParams.type", 0),
        ("mevProtection.transactionParams.nonce", None),
    ],
)
def test_nothing_else_is_signed(
    client: QuietswapClient, service: FakeService, approved: FakeChain, path: str, value: Any
) -> None:
    service.next("quote", ok(change(path, value)))

    def never(_: object) -> str:
        raise AssertionError("asked to sign")

    with pytest.raises(UnsafeQuote):
        client.swap(REQUEST, never)


def test_the_callers_conditions(client: QuietswapClient, service: FakeService) -> None:
    with pytest.raises(Declined):
        client.swap(replace(REQUEST, at_least=2_985_000_001), ACCOUNT)
    with pytest.raises(Declined):
        client.swap(replace(REQUEST, accept=lambda quote: quote.source != "kyberswap"), ACCOUNT)
    assert service.bodies("order") == []


def test_nothing_is_approved_for_a_swap_the_wallet_cannot_pay(
    client: QuietswapClient, node: FakeChain
) -> None:
    node.balance = ETHER - 1
    with pytest.raises(Declined, match="too few"):
        client.swap(REQUEST, ACCOUNT)
    assert node.sent == []
