"""The guards of `quietswap mcp` are the person's: no argument of a tool loosens one."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from quietswap.cli.mcp.limits import SigningLimits
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.signing import LocalSigner
from quietswap.cli.output.tokens import ETHER as GAS
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.tokens.token import NATIVE, WETH
from tests.api.scripted_use_cases import ROUTER
from tests.cli.mcp_sessions import call, in_process, refusal
from tests.cli.test_hostile_text import TOKEN as STRANGER
from tests.cli.test_mcp_limits import SWAP, Local, clock, limits, local
from tests.cli.test_mcp_signing import Asked
from tests.cli.test_mcp_text import page
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import (
    ETHER,
    TX_HASH,
    WALLET,
    FakeServers,
    FakeService,
    calldata,
    ok,
    placed,
    quotes,
    swap_quote,
)
from tests.response_json import orders
from tests.stored_orders import USDC, listed

__all__ = ["clock", "limits", "local"]


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    return node


def dear(service: FakeService, percent: str) -> None:
    quote = swap_quote(impact_percent=Decimal(percent))
    service.quote = lambda: quotes.swap_quote_response(quote)


@pytest.mark.usefixtures("approved")
@pytest.mark.parametrize(
    "arguments",
    [{"max_loss_percent": 100}, {"max_loss_percent": 3.01}, {"slippage_bps": 5000},
     {"slippage_bps": 5000, "max_loss_percent": 3}],
)  # fmt: skip
async def test_no_argument_accepts_more_than_the_person_does(
    outside: FakeServers, service: FakeService, arguments: dict[str, Any]
) -> None:
    dear(service, "19.5")
    async with in_process(outside) as model:
        refused = await refusal(model, "prepare_swap", **SWAP | arguments)
    assert refused["error"] in ("BAD_INPUT", "Declined")
    assert "preparedId" not in refused


@pytest.mark.usefixtures("approved")
async def test_at_least_of_a_tool_replaces_no_price(
    outside: FakeServers, service: FakeService
) -> None:
    service.quote = lambda: quotes.swap_quote_response(
        swap_quote(net_value_usd=None, impact_percent=None)
    )
    async with in_process(outside, has_node=False) as model:
        refused = await refusal(model, "prepare_swap", **SWAP | {"at_least": "0.000001"})
    assert refused["error"] == "LOSS_UNKNOWN"


RECEIVE = {"sell": "WETH", "buy": "USDC", "receive": "2985", "wallet": WALLET}


@pytest.mark.usefixtures("approved")
@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({}, "BAD_INPUT", "max_sell"),
        ({"max_sell": "1", "amount": "1"}, "BAD_INPUT", "receive"),
        ({"max_sell": "1", "at_least": "1"}, "BAD_INPUT", "at_least"),
        ({"receive": None, "amount": "1", "max_sell": "1"}, "BAD_INPUT", "max_sell"),
        ({"receive": None}, "BAD_INPUT", "amount"),
        ({"max_sell": "0.99"}, "Declined", None),
        ({"max_sell": "1", "receive": "2985.01"}, "UnsafeQuote", None),
    ],
)
async def test_what_must_arrive_is_bounded_by_what_may_be_sold(
    outside: FakeServers, arguments: dict[str, Any], error: str, field: str | None
) -> None:
    async with in_process(outside) as model:
        refused = await refusal(model, "prepare_swap", **RECEIVE | arguments)
    assert (refused["error"], refused.get("field")) == (error, field), refused


async def test_a_listed_order_tells_what_its_transaction_did_with_ether(
    outside: FakeServers, service: FakeService
) -> None:
    line = listed(placed(OrderStatus.CONFIRMED, conversion="unwrap"))
    service.next("history", ok(orders.order_history_response(OrderPage((line,), 1), 20, 0)))
    async with in_process(outside) as model:
        [order] = (await call(model, "list_orders", wallet=WALLET))["orders"]
    assert order["conversion"] == "unwrap"


@pytest.mark.usefixtures("approved")
async def test_the_least_that_must_be_sold_is_prepared(
    outside: FakeServers, service: FakeService
) -> None:
    async with in_process(outside) as model:
        quoted = await call(model, "quote", **RECEIVE)
        prepared = await call(model, "prepare_swap", **RECEIVE, max_sell="1")
    for quote in (quoted, prepared["quote"]):
        assert quote["inWholeTokens"]["sellAmount"] == "1"
        assert quote["inWholeTokens"]["minBuyAmount"] == "2985"
    asked = [each.query for each in service.asked if each.path.endswith("/quote")]
    assert [each.get("minBuyAmount") for each in asked] == ["2985000000"] * 2


async def test_the_first_question_of_a_pair_names_its_loss(
    outside: FakeServers, service: FakeService, node: FakeChain, local: Local
) -> None:
    """It is the approval's: after it the person has paid for gas already."""

    def of(preparer: Preparer) -> LocalSigner:
        signer = local(preparer)
        node.allowances.clear()
        return signer

    dear(service, "19.5")
    person = Asked("no")
    async with in_process(outside, of, elicitation_callback=person) as model:
        prepared = await call(model, "prepare_swap", **SWAP, max_loss_percent=25)
        assert (prepared["kind"], prepared["approvalsToSign"]) == ("approval", 1)
        await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert "approve " in person.questions[0]
    assert "It may lose: 19.50 % price impact" in person.questions[0]
    assert "at least\n2,985 USDC" in person.questions[0]


async def test_an_approval_is_not_signed_if_the_gas_of_its_swap_is_above_the_limit(
    outside: FakeServers, node: FakeChain, local: Local, limits: SigningLimits
) -> None:
    most = {**limits.limits}

    def of(preparer: Preparer) -> LocalSigner:
        signer = replace(local(preparer), limits=replace(limits, limits=most))
        node.allowances.clear()
        return signer

    person = Asked("no")
    async with in_process(outside, of, elicitation_callback=person) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        told = prepared["maxGasCostOfAllEth"]
        assert Decimal(told) > Decimal(prepared["maxGasCostEth"])
        await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
        most[GAS] = int(Decimal(told) * ETHER) - 1
        refused = await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert refused["error"] == "LIMIT_EXCEEDED"
    assert f"gas, at most {told} ETH" in person.questions[0]


@pytest.mark.usefixtures("approved")
async def test_person_and_model_are_told_the_same_gas(outside: FakeServers, local: Local) -> None:
    person = Asked("no")
    async with in_process(outside, local, elicitation_callback=person) as model:
        prepared = await call(model, "prepare_swap", **SWAP)
        await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert f"gas, at most {prepared['maxGasCostEth']} ETH" in person.questions[0]
    assert "maxGasCostEth" not in prepared["quote"]["inWholeTokens"]


async def test_an_amount_in_decimals_of_the_service_is_not_shown(
    outside: FakeServers, service: FakeService, local: Local
) -> None:
    """It says 0 decimals of a token, so 2.98 of it would be shown as 2,985,000,000."""
    entry = {"address": STRANGER, "symbol": "ODD", "name": "Odd", "decimals": 0}
    data = calldata(buy=STRANGER, minimum=2_985_000_001)
    body = quotes.swap_quote_response(swap_quote(data=data))
    body["buyToken"] = STRANGER
    service.quote = lambda: body
    service.next("tokens", page([entry]))
    person = Asked("no")
    async with in_process(outside, local, has_node=False, elicitation_callback=person) as model:
        result = await model.call_tool("prepare_swap", SWAP | {"buy": STRANGER})
        prepared = result.structured_content
        if not result.is_error:
            whole = prepared["quote"]["inWholeTokens"]
            assert set(whole) == {"sellAmount"}
            await refusal(model, "sign_and_submit", prepared_id=prepared["preparedId"])
            assert f"2985000000 smallest units of {STRANGER}" in person.questions[0]
            assert "by the service's figures alone" in person.questions[0]
        else:  # the router measures its own balance, so only a trial could rule out a fee
            assert prepared["error"] == "UnsafeQuote"
        service.next("tokens", page([entry]))
        quoted = await call(model, "quote", **SWAP | {"buy": STRANGER})
    assert set(quoted["inWholeTokens"]) == {"sellAmount", "maxGasCostEth"}


async def test_a_wallet_with_ether_only_gets_to_a_swap(
    outside: FakeServers, service: FakeService, approved: FakeChain, local: Local
) -> None:
    approved.gas = 45_000
    person = Asked("yes")
    async with in_process(outside, local, elicitation_callback=person) as model:
        held = await call(model, "balances", wallet=WALLET)
        prepared = await call(model, "prepare_wrap", operation="wrap", amount="2", wallet=WALLET)
        done = await call(model, "sign_and_submit", prepared_id=prepared["preparedId"])
    assert held["eth"] == {"wei": str(5 * ETHER), "inWholeTokens": "5"}
    assert held["readAt"] == "own node"
    assert [row["symbol"] for row in held["tokens"]] == ["WETH", "USDC", "USDT", "DAI", "WBTC"]
    assert (prepared["kind"], prepared["transaction"]["value"]) == ("wrap", str(2 * ETHER))
    assert "wrap 2 ETH into WETH" in person.questions[0]
    assert done["blockNumber"] > 0
    assert len(service.bodies("wrap order")) == 1


async def test_a_wrap_without_a_node_is_not_prepared(outside: FakeServers) -> None:
    async with in_process(outside, has_node=False) as model:
        held = await call(model, "balances", wallet=WALLET, tokens=["WETH"])
        refused = await refusal(model, "prepare_wrap", operation="wrap", amount="2", wallet=WALLET)
    assert held["readAt"] == "service"
    assert refused["field"] == "wallet"


@pytest.mark.parametrize("name", ["query", "search"])
async def test_a_search_has_the_name_that_models_write(
    outside: FakeServers, service: FakeService, name: str
) -> None:
    own = {"address": USDC, "symbol": "USDC", "name": "USD Coin", "decimals": 6}
    imitation = {
        "address": STRANGER,
        "symbol": "USDC",
        "name": "\u201cUSD\u2019 Coin",
        "decimals": 6,
    }
    service.next("tokens", page([own, imitation]))
    async with in_process(outside) as model:
        found = await call(model, "search_tokens", **{name: "usdc"})
    assert service.asked[-1].query["search"] == "usdc"
    genuine, other = found["tokens"]
    assert genuine["symbol"] == "USDC"
    assert "symbol" not in genuine.get("untrustedText", {})
    assert "symbol" not in other
    assert other["untrustedText"] == {"symbol": "USDC", "name": "'USD' Coin"}


async def test_a_hash_has_one_place(outside: FakeServers) -> None:
    async with in_process(outside) as model:
        followed = await call(model, "follow_order", order_id="ord_1")
        listed = await call(model, "list_orders", wallet=WALLET)
    assert followed["reportedByService"]["txHash"] == TX_HASH
    assert {order["txHash"] for order in listed["orders"]} == {TX_HASH}


async def test_an_unwrap_is_told_from_a_wrap(outside: FakeServers, service: FakeService) -> None:
    kind = OrderKind.WRAP
    unwrap = placed(OrderStatus.CONFIRMED, kind=kind, sell_token=WETH, buy_token=NATIVE)
    page = OrderPage((listed(unwrap),), 1)
    service.next("history", ok(orders.order_history_response(page, 1, 0)))
    async with in_process(outside) as model:
        (order,) = (await call(model, "list_orders", wallet=WALLET))["orders"]
    assert (order["kind"], order["action"]) == ("wrap", "unwrap")


async def test_further_pages_of_a_history_are_of_its_first_total(
    outside: FakeServers, service: FakeService
) -> None:
    async with in_process(outside) as model:
        first = await call(model, "list_orders", wallet=WALLET, limit=2)
        await call(model, "list_orders", wallet=WALLET, limit=2, offset=2, as_of=first["total"])
    wanted = {"offset": "2", "asOf": str(first["total"]), "kind": "any"}
    assert service.asked[-1].query.items() >= wanted.items()
