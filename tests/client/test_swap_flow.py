"""swap(): the whole flow, over a service and a node that read what is really sent."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from quietswap.client import AsyncQuietswapClient, QuietswapClient
from quietswap.client.errors import (
    MayBeMined,
    NodeRpcError,
    ProviderUnavailable,
    ServiceUnreachable,
    SignatureReplay,
    TransactionFailed,
    WrongChain,
)
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.signing import to_sign
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER
from tests.client.conftest import Time
from tests.client.fake_chain import ACCOUNT, FakeChain, transfer
from tests.client.fake_servers import (
    ETHER,
    WALLET,
    FakeServers,
    FakeService,
    Reply,
    ok,
    placed,
    refused,
    swap_quote,
)
from tests.response_json import orders, quotes
from tests.stored_orders import USDC, recorded

REQUEST = SwapRequest(WETH, USDC, ETHER, WALLET)
OTHER_ROUTER = "0x6A000F20005980200259B80c5102003040001068"


@pytest.fixture
def approved(node: FakeChain) -> FakeChain:
    node.allowances[ROUTER.lower()] = ETHER
    return node


def signed_fields(service: FakeService) -> Any:
    raw = service.bodies("order")[-1]["signedTransaction"]
    assert Account.recover_transaction(raw) == WALLET
    return TypedTransaction.from_bytes(HexBytes(raw)).as_dict()


def test_signs_exactly_what_the_quote_says(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    approved.logs = [transfer(USDC, ROUTER, WALLET, 3_000_000_000)]
    result = client.swap(REQUEST, ACCOUNT)
    assert result.succeeded
    assert result.received == 3_000_000_000
    assert (result.approvals, approved.sent) == ((), [])
    signed, params = signed_fields(service), service.quote()["mevProtection"]["transactionParams"]
    assert signed["nonce"] == params["nonce"] == 7
    assert signed["maxPriorityFeePerGas"] == 0
    assert signed["maxFeePerGas"] == int(params["maxFeePerGas"])
    assert signed["gas"] == int(params["gasLimit"])
    assert (signed["value"], signed["data"].hex()) == (0, params["data"][2:])


def test_short_allowance_is_approved_exactly_and_quoted_again(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    result = client.swap(REQUEST, ACCOUNT)
    assert node.allowances == {ROUTER.lower(): ETHER}
    assert [each.amount for each in result.approvals] == [ETHER]
    paths = [each.path[-5:] for each in service.asked]
    assert paths[:6] == ["usage", "quote", *[WALLET[-5:]] * 3, "quote"]
    (fields,) = node.sent
    tip, cap, gas = (int.from_bytes(fields[i]) for i in (2, 3, 4))
    assert (tip, cap, gas) == (10**9, 7 * 10**9, 60_000)


def test_an_approval_whose_answer_was_lost_is_not_lost(
    client: QuietswapClient, node: FakeChain
) -> None:
    node.swallows = True
    result = client.swap(REQUEST, ACCOUNT)
    assert result.succeeded
    assert len(node.sent) == 1
    assert [each.amount for each in result.approvals] == [ETHER]


def test_approve_max(client: QuietswapClient, node: FakeChain) -> None:
    client.swap(replace(REQUEST, approval="max"), ACCOUNT)
    assert node.allowances == {ROUTER.lower(): 2**256 - 1}


def test_a_token_that_wants_a_reset_first(client: QuietswapClient, node: FakeChain) -> None:
    node.resets_first = True
    node.allowances[ROUTER.lower()] = 5
    result = client.swap(REQUEST, ACCOUNT)
    assert [each.amount for each in result.approvals] == [0, ETHER]
    assert node.allowances == {ROUTER.lower(): ETHER}


def test_an_ordinary_token_needs_no_reset(client: QuietswapClient, node: FakeChain) -> None:
    node.allowances[ROUTER.lower()] = 5
    assert [each.amount for each in client.swap(REQUEST, ACCOUNT).approvals] == [ETHER]


def test_a_fresh_quote_may_need_another_router(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    plain, other = swap_quote(), swap_quote(target=OTHER_ROUTER)
    service.next(
        "quote", ok(quotes.swap_quote_response(plain)), ok(quotes.swap_quote_response(other))
    )
    node.allowances[ROUTER.lower()] = 0
    client.swap(REQUEST, ACCOUNT)
    assert node.allowances == {ROUTER.lower(): ETHER, OTHER_ROUTER.lower(): ETHER}


def test_an_approval_that_reverts(
    client: QuietswapClient, service: FakeService, node: FakeChain
) -> None:
    node.reverts = True
    with pytest.raises(TransactionFailed, match="the approval was mined but reverted"):
        client.swap(REQUEST, ACCOUNT)
    assert service.bodies("order") == []


def test_a_node_of_another_chain(client: QuietswapClient, node: FakeChain) -> None:
    node.chain_id = 137
    with pytest.raises(WrongChain, match="your RPC URL"):
        client.swap(REQUEST, ACCOUNT)
    assert node.sent == []


def test_the_approval_waits_for_its_receipt(
    client: QuietswapClient, node: FakeChain, time: Time
) -> None:
    node.holds = 1
    client.swap(REQUEST, ACCOUNT)
    assert time.pauses == [2]


def test_a_signing_function(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    seen = []

    def elsewhere(transaction: dict[str, Any]) -> bytes:
        seen.append(transaction)
        return bytes(ACCOUNT.sign_transaction(transaction).raw_transaction)

    client.swap(REQUEST, elsewhere)
    assert seen == [to_sign(client.quote(REQUEST).mev_protection.transaction_params)]
    assert signed_fields(service)["nonce"] == 7


def test_no_answer_to_the_order_is_asked_again(
    client: QuietswapClient, service: FakeService, approved: FakeChain, time: Time
) -> None:
    replay = refused(errors.SignatureReplay(order_id="ord_9"))
    service.next("order", Reply(None), replay)
    client.swap(REQUEST, ACCOUNT)
    first, second = service.bodies("order")
    assert first == second
    assert service.asked[-1].path.endswith("/ord_9")
    assert time.pauses == [1]


def test_a_replay_that_is_not_ours_is_an_error(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    service.mines = lambda _: None
    service.next("order", refused(errors.SignatureReplay(order_id="ord_9")))
    with pytest.raises(MayBeMined) as caught:
        client.swap(REQUEST, ACCOUNT)
    assert isinstance(caught.value.cause, SignatureReplay)
    assert caught.value.order_id == "ord_9"


def test_a_relay_that_is_away_is_not_asked_again(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    service.mines = lambda _: None
    service.next("order", refused(errors.ProviderUnavailable("away")))
    with pytest.raises(MayBeMined) as caught:
        client.swap(REQUEST, ACCOUNT)
    assert isinstance(caught.value.cause, ProviderUnavailable)
    assert len(service.bodies("order")) == 1


def test_silence_three_times(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    service.mines = lambda _: None
    service.next("order", *[Reply(None)] * 3)
    with pytest.raises(MayBeMined) as caught:
        client.swap(REQUEST, ACCOUNT)
    assert isinstance(caught.value.cause, ServiceUnreachable)
    assert len(service.bodies("order")) == 3


def test_a_failed_order_is_a_result(
    client: QuietswapClient, service: FakeService, approved: FakeChain
) -> None:
    approved.reverts = True
    service.next("status", ok(orders.order_status_response(recorded(placed(OrderStatus.FAILED)))))
    result = client.swap(REQUEST, ACCOUNT)
    assert (result.succeeded, result.status.status, result.received) == (False, "failed", None)


def test_a_node_that_lags_is_asked_again(
    client: QuietswapClient, approved: FakeChain, time: Time
) -> None:
    approved.logs = [transfer(USDC, ROUTER, WALLET, 7)]
    approved.holds = 2
    assert client.swap(REQUEST, ACCOUNT).received == 7
    assert time.pauses == [2, 2]


def test_received_counts_both_directions(client: QuietswapClient, approved: FakeChain) -> None:
    approved.logs = [
        transfer(USDC, ROUTER, WALLET, 1_000),
        transfer(USDC, WALLET, ROUTER, 1),
        transfer(USDC, ROUTER, OTHER_ROUTER, 500),
        transfer(WETH, ROUTER, WALLET, 70),
        {"address": USDC, "topics": [], "data": "0x"},
    ]
    assert client.swap(REQUEST, ACCOUNT).received == 999


def test_a_node_that_refuses(client: QuietswapClient, approved: FakeChain) -> None:
    from quietswap.client import node_calls
    from quietswap.client.node_calls import NodeCall

    approved.resets_first = True
    data = node_calls.approval_data(ROUTER, 1)
    with pytest.raises(NodeRpcError, match="execution reverted"):
        client.node(node_calls.estimate_gas({"to": USDC, "data": data}))
    with pytest.raises(NodeRpcError):
        client.node(NodeCall("eth_estimateGas", ({"to": USDC, "data": data},)))


def test_without_a_node_nothing_is_approved(outside: FakeServers, service: FakeService) -> None:
    async def work() -> Any:
        async with AsyncQuietswapClient(outside.url, "qs_right") as client:
            return await client.swap(replace(REQUEST, approval="never"), ACCOUNT)

    result = asyncio.run(work())
    assert (result.succeeded, result.received) == (True, None)
    assert rlp.decode(bytes.fromhex(service.bodies("order")[0]["signedTransaction"][4:]))[5]


def test_the_flow_is_told_step_by_step(client: QuietswapClient, service: FakeService) -> None:
    seen: list[str] = []
    client.swap(REQUEST, ACCOUNT, lambda event: seen.append(type(event).__name__))
    assert seen == [
        "SwapQuoteResponse",
        "SwapPlan",
        "ApprovalSent",
        "Approved",
        "SwapQuoteResponse",
        "SwapPlan",
        "SwapSimulation",
        "SwapOrderResponse",
        "OrderStatusResponse",
    ]


def test_a_quote_that_grew_old_at_the_prompt_is_asked_again(
    client: QuietswapClient, service: FakeService, approved: FakeChain, time: Time
) -> None:
    answers = iter([25.0, 25.0, 3.0])

    def think(_: object) -> bool:
        time.sleep(next(answers))
        return True

    result = client.swap(replace(REQUEST, accept=think), ACCOUNT)
    assert result.succeeded
    assert [each.path[-5:] for each in service.asked][1:5] == ["quote", "quote", "quote", "rders"]
