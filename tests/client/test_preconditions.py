"""What is asked before signing, so that neither gas nor a signature is spent on a refusal."""

from dataclasses import replace

import pytest

from quietswap.client import QuietswapClient
from quietswap.client.errors import Forbidden, NonceMismatch, QuoteDeclined
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.wrap import WrapRequest
from quietswap.rules.clients import KeyScope
from quietswap.rules.tokens.token import WETH
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeService, ok
from tests.client.fake_usage import usage_answer
from tests.client.test_polling import AWAY
from tests.stored_orders import USDC

REQUEST = SwapRequest(WETH, USDC, ETHER, WALLET)


@pytest.mark.parametrize(
    ("amounts", "why"),
    [
        ({"sell_amount": None}, "without sell_amount at_least is required"),
        ({"sell_amount": None, "at_least": 5}, "without sell_amount max_sell is required"),
        ({"sell_amount": None, "at_least": 5, "max_sell": 0}, "max_sell must be an int of 1"),
        ({"sell_amount": 5, "max_sell": 5}, "max_sell bounds the amount that at_least needs"),
    ],
)
def test_a_minimum_is_asked_for_with_the_most_to_sell(
    amounts: dict[str, int | None], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        replace(REQUEST, **amounts)


def read_only(service: FakeService) -> None:
    service.next("usage", ok(usage_answer(scope=KeyScope.READ)))


def test_a_key_that_only_reads_approves_and_signs_nothing(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    read_only(service)
    with pytest.raises(Forbidden, match="scope read; the operation needs trade") as found:
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (found.value.status, found.value.raw_details) == (
        403,
        {"scope": "read", "required": "trade"},
    )
    assert node.sent == []
    assert [each.path[-6:] for each in service.asked] == ["/usage"]


def test_without_a_node_the_scope_is_asked_too(do: Do, service: FakeService) -> None:
    read_only(service)
    with pytest.raises(Forbidden):
        do("swap", replace(REQUEST, approval="never"), ACCOUNT)
    assert service.bodies("order") == []


def test_a_failure_to_tell_the_scope_is_retried(
    client: QuietswapClient, service: FakeService, time: Time
) -> None:
    service.next("usage", AWAY, AWAY)
    assert client.swap(REQUEST, ACCOUNT).succeeded
    assert len(service.bodies("usage")) == 3
    assert len(time.pauses) == 2


def test_a_swap_whose_gas_cannot_be_paid_is_not_approved(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    params = service.quote()["mevProtection"]["transactionParams"]
    cost = int(params["gasLimit"]) * int(params["maxFeePerGas"])
    node.ether = cost - 1
    with pytest.raises(QuoteDeclined, match=f"holds {cost - 1} wei of ETH.* may cost {cost} wei"):
        do_with_node("swap", REQUEST, ACCOUNT)
    assert (node.sent, service.bodies("order")) == ([], [])
    node.ether = cost
    assert do_with_node("swap", REQUEST, ACCOUNT).succeeded


def test_a_wrap_needs_its_amount_and_its_gas(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    node.ether = 2 * ETHER
    with pytest.raises(QuoteDeclined, match="holds 2000000000000000000 wei of ETH"):
        do_with_node("wrap", "2", ACCOUNT)
    assert service.bodies("wrap order") == []
    node.ether = 3 * ETHER
    assert do_with_node("wrap", "2", ACCOUNT).receipt.succeeded


@pytest.mark.parametrize(
    ("ether", "weth", "fault"),
    [
        (5 * ETHER, 2 * ETHER - 1, "of 2000000000000000000 wei of WETH"),
        (0, 2 * ETHER, "holds 0 wei of ETH"),
    ],
)
def test_an_unwrap_needs_its_weth_and_its_gas(
    do_with_node: Do, service: FakeService, node: FakeChain, ether: int, weth: int, fault: str
) -> None:
    node.ether, node.balance = ether, weth
    with pytest.raises(QuoteDeclined, match=fault):
        do_with_node("unwrap", "2", ACCOUNT)
    assert service.bodies("wrap order") == []


def test_the_exact_weth_can_be_unwrapped(client: QuietswapClient, node: FakeChain) -> None:
    node.balance = 2 * ETHER
    assert client.unwrap("2", ACCOUNT).receipt is not None


def test_a_used_nonce_is_not_signed_for_a_wrap(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    with pytest.raises(NonceMismatch, match="by your own node, nonce 6 is used already"):
        do_with_node("wrap", "2", ACCOUNT, nonce=node.nonce - 1)
    assert service.bodies("wrap order") == []
    assert do_with_node("wrap", "2", ACCOUNT, nonce=node.nonce).receipt.succeeded


def test_a_nonce_that_leaves_a_gap_is_not_signed_for_a_wrap(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    """It would wait for ever, and keep the wallet's other orders from being sent."""
    with pytest.raises(NonceMismatch, match="next nonce is 7: with 77 it would wait"):
        do_with_node("wrap", "2", ACCOUNT, nonce=77)
    assert service.bodies("wrap order") == []
    assert do_with_node("wrap", "2", ACCOUNT, nonce=8, replace=True).receipt.succeeded


@pytest.mark.parametrize("nonce", [float("nan"), 1.5, -1, True])
def test_a_nonce_that_is_none(nonce: object) -> None:
    with pytest.raises(ValueError, match="nonce must be an int of 0 or more"):
        WrapRequest("wrap", "2", WALLET, nonce)  # type: ignore[arg-type]
