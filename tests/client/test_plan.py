"""client.plan(): what a swap would sign, and whether it may be signed; nothing is signed."""

from dataclasses import replace
from decimal import Decimal

import pytest

from quietswap.client import WETH, QuietswapClient, SwapPlan
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.rules.tokens.token import WrapOperation
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Do
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import (
    ETHER,
    MINIMUM,
    FakeService,
    Reply,
    calldata,
    ok,
    swap_quote,
    wrap_answer,
)
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
def test_ether_is_quoted_and_priced_as_its_weth(
    do_with_node: Do, service: FakeService, approved: FakeChain, pair: tuple[str, str]
) -> None:
    request = replace(REQUEST, sell_token=pair[0], buy_token=pair[1])
    do_with_node("quote", request)
    do_with_node("price", *pair, ETHER)
    asked = [(each.query["sellToken"], each.query["buyToken"]) for each in service.asked]
    weth = tuple(WETH if token == "ETH" else token for token in pair)
    assert asked == [weth, weth]
    assert nothing_is_signed(service, approved)


@pytest.fixture
def only_ether(node: FakeChain) -> FakeChain:
    """The wallet holds ETH alone."""
    node.balance = 0
    return node


@pytest.mark.parametrize(
    ("allowance", "steps"),
    [(0, ("wrap", "approve", "swap")), (ETHER, ("wrap", "swap"))],
)
def test_the_plan_from_ether_is_the_wrap_and_the_swap_of_its_weth(
    do_with_node: Do,
    service: FakeService,
    only_ether: FakeChain,
    allowance: int,
    steps: tuple[str, ...],
) -> None:
    only_ether.allowances[ROUTER.lower()] = allowance
    plan = planned(do_with_node, sell_token="ETH")
    assert (plan.refusal, plan.conversion, plan.steps) == (None, "wrap", steps)
    assert plan.signatures == len(steps)
    assert plan.request == REQUEST, "the swap that follows the wrap"
    wrap = do_with_node("wrap_quote", "wrap", "1", REQUEST.wallet)
    wrap_cost = int(wrap.mev_protection.transaction_params.max_gas_cost)
    assert plan.conversion_gas_wei == wrap_cost
    swap_cost = int(plan.params.max_gas_cost) + plan.approval_gas_wei
    assert plan.max_gas_cost == swap_cost + wrap_cost
    assert only_ether.trials == [], "there is no WETH to try it with"
    assert nothing_is_signed(service, only_ether)


@pytest.mark.parametrize("allowance", [0, ETHER])
def test_a_plan_from_ether_needs_the_gas_of_all_steps(
    do_with_node: Do, only_ether: FakeChain, allowance: int
) -> None:
    only_ether.allowances[ROUTER.lower()] = allowance
    only_ether.ether = needs = ETHER + planned(do_with_node, sell_token="ETH").max_gas_cost
    assert planned(do_with_node, sell_token="ETH").refusal is None
    only_ether.ether -= 1
    refusal = planned(do_with_node, sell_token="ETH").refusal
    assert f"holds {needs - 1} wei of ETH, and wrap, " in str(refusal)
    assert f"swap may cost {needs} wei" in str(refusal)


def hostile(**changes: object) -> Reply:
    """Return the quote of a wrap of 1 ETH with another transaction."""
    answer = wrap_answer(WrapOperation.WRAP, ETHER)
    answer["mevProtection"]["transactionParams"] |= changes
    return ok({"quote": answer})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"to": ROUTER}, "another contract than WETH"),
        ({"value": str(2 * ETHER)}, "another value"),
        ({"data": "0x2e1a7d4d"}, "another call"),
        ({"maxFeePerGas": str(10**12)}, "the quote's fee cap"),
    ],
)
def test_no_plan_has_another_wrap_than_that_of_its_amount(
    do_with_node: Do,
    service: FakeService,
    only_ether: FakeChain,
    changes: dict[str, object],
    says: str,
) -> None:
    service.next("wrap quote", hostile(**changes))
    with pytest.raises(UnsafeQuote, match=says):
        planned(do_with_node, sell_token="ETH")
    assert nothing_is_signed(service, only_ether)


def test_the_limit_of_gas_holds_for_the_wrap(
    do_with_node: Do, service: FakeService, only_ether: FakeChain
) -> None:
    most = planned(do_with_node, sell_token="ETH").conversion_gas_wei
    service.next("wrap quote", hostile(gasLimit="262501"))
    plan = planned(do_with_node, sell_token="ETH", max_fee_wei=most)
    assert "the gas of the wrap may cost" in str(plan.refusal)


def test_the_plan_to_ether_ends_with_the_unwrap_of_the_minimum(
    do_with_node: Do, service: FakeService, approved: FakeChain
) -> None:
    minimum = 3 * 10**14
    data = calldata(sell=USDC, buy=WETH, amount=10**6, minimum=minimum)
    quote = quotes.swap_quote_response(swap_quote(data=data))
    quote |= {"sellToken": USDC, "buyToken": WETH, "sellAmount": str(10**6)}
    quote |= {"buyAmount": str(minimum + 1), "minBuyAmount": str(minimum)}
    service.quote = lambda: quote
    plan = planned(
        do_with_node, sell_token=USDC, buy_token="ETH", sell_amount=10**6, max_loss_percent=100
    )
    assert (plan.conversion, plan.steps) == ("unwrap", ("swap", "unwrap"))
    assert plan.request.buy_token == WETH
    (asked,) = service.bodies("wrap quote")
    assert (asked["operation"], asked["amount"]) == ("unwrap", "0.0003")


@pytest.mark.parametrize(
    "changes",
    [{"nonce": 7}, {"any_nonce": True}, {"buy_token": WETH}, {"batch": True, "buy_token": WETH}],
)
def test_what_is_no_swap_with_ether_in_several_transactions(
    do_with_node: Do, service: FakeService, changes: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=r"several transactions|a wrap"):
        planned(do_with_node, sell_token="ETH", **changes)
    assert service.bodies("wrap quote") == []


def test_a_plan_with_ether_needs_a_node(do: Do) -> None:
    with pytest.raises(QuoteDeclined, match="needs your own node"):
        planned(do, sell_token="ETH")
