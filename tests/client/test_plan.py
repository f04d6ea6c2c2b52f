"""client.plan(): what a swap would sign, and whether it may be signed; nothing is signed."""

from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.client import WETH, QuietswapClient, SwapPlan
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, MINIMUM, FakeService, swap_quote
from tests.client.test_swap_flow import REQUEST, approved
from tests.response_json import quotes
from tests.stored_orders import USDC

__all__ = ["approved"]


def planned(do: Do, **changes: object) -> SwapPlan:
    plan = do("plan", replace(REQUEST, **changes))  # type: ignore[arg-type]
    assert isinstance(plan, SwapPlan)
    return plan


def nothing_is_signed(service: FakeService, node: FakeChain) -> bool:
    return (node.sent, service.bodies("order")) == ([], [])


def test_a_plan_is_what_the_swap_then_signs(
    do_with_node: Do, client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    approved.delivers = MINIMUM + 5
    plan = planned(do_with_node)
    assert (plan.refusal, plan.approvals, plan.signatures, plan.needs_consent) == (
        None, (), 1, False,
    )  # fmt: skip
    assert plan.trial is not None
    assert plan.trial.delivers == MINIMUM + 5
    assert plan.wallet is not None
    assert plan.wallet.next_nonce == plan.params.nonce == 7
    assert nothing_is_signed(service, approved)
    result = client.swap(REQUEST, ACCOUNT)
    assert result.quote.mev_protection.transaction_params == plan.params


@pytest.mark.parametrize(
    ("allowance", "resets", "amounts"),
    [(0, False, [ETHER]), (5, False, [ETHER]), (0, True, [ETHER]), (5, True, [0, ETHER])],
)
def test_the_approvals_of_a_plan_are_those_that_are_signed(
    do_with_node: Do,
    client: QuietswapClient,
    service: FakeService,
    node: FakeChain,
    allowance: int,
    resets: bool,
    amounts: list[int],
) -> None:
    """USDT resets an allowance first: then the swap takes three signatures."""
    node.allowances[ROUTER.lower()], node.resets_first = allowance, resets
    plan = planned(do_with_node)
    assert [each.amount for each in plan.approvals] == amounts
    assert plan.signatures == len(amounts) + 1
    assert plan.max_gas_cost == plan.params.max_gas_cost + plan.approval_gas_wei
    assert plan.approval_gas_wei > 0
    assert (plan.trial, nothing_is_signed(service, node)) == (None, True)
    result = client.swap(REQUEST, ACCOUNT)
    assert [each.amount for each in result.approvals] == amounts


def test_what_would_be_declined_is_the_plans_refusal(
    do_with_node: Do, service: FakeService, node: FakeChain
) -> None:
    dear = swap_quote(impact_percent=Decimal("19.5"))
    service.quote = lambda: quotes.swap_quote_response(dear)
    plan = planned(do_with_node)
    assert plan.needs_consent
    assert "19.50 % price impact" in str(plan.loss)
    with pytest.raises(QuoteDeclined, match=r"19\.50 % price impact"):
        plan.require()
    asked = planned(do_with_node, confirm=lambda *_: False)
    assert (asked.refusal, asked.needs_consent) == (None, True)
    assert nothing_is_signed(service, node)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"at_least": 10**12}, "is below"),
        ({"approval": "never"}, "approval (--approve) is never"),
        ({"nonce": 7}, "only nonce 7 may be signed"),
    ],
)
def test_a_condition_of_the_request_refuses_the_plan(
    do_with_node: Do, node: FakeChain, change: dict[str, object], words: str
) -> None:
    assert words in str(planned(do_with_node, **change).refusal)
    assert node.sent == []


def test_what_the_wallet_lacks_refuses_the_plan(do_with_node: Do, node: FakeChain) -> None:
    node.balance = ETHER - 1
    assert "smallest units of the sell token" in str(planned(do_with_node).refusal)
    node.balance, node.ether = ETHER, 10**9
    assert "wei of ETH" in str(planned(do_with_node).refusal)


def test_a_trial_that_fails_refuses_the_plan(do_with_node: Do, approved: FakeChain) -> None:
    approved.delivers = MINIMUM - 1
    assert isinstance(planned(do_with_node).refusal, UnsafeQuote)


def test_without_a_node_a_plan_has_no_facts_of_the_wallet(do: Do, node: FakeChain) -> None:
    plan = planned(do, approval="never")
    assert (plan.wallet, plan.trial, plan.reference, plan.refusal) == (None, None, None, None)


@pytest.mark.parametrize("pair", [("ETH", USDC), (USDC, "ETH")])
def test_ether_is_quoted_and_priced_as_its_weth_and_not_signed(
    do_with_node: Do, service: FakeService, approved: FakeChain, pair: tuple[str, str]
) -> None:
    request = replace(REQUEST, sell_token=pair[0], buy_token=pair[1])
    do_with_node("quote", request)
    do_with_node("price", *pair, ETHER)
    asked = [(each.query["sellToken"], each.query["buyToken"]) for each in service.asked]
    weth = [WETH if token == "ETH" else token for token in pair]
    assert asked == 2 * [tuple(weth)]
    for method, *more in (("plan",), ("swap", ACCOUNT)):
        with pytest.raises(QuoteDeclined, match="ETH is swapped as WETH"):
            do_with_node(method, request, *more)
    assert nothing_is_signed(service, approved)
