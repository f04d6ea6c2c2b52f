"""What a good history or wrap request gets, field for field."""

import re
from dataclasses import replace

import httpx
import pytest

from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.quotes.request import WrapBalances, WrapQuoteRequest
from quietswap.rules.tokens.token import WETH, WrapOperation
from tests.api import requests
from tests.api.scripted_use_cases import KEY, WALLET, ScriptedUseCases
from tests.stored_orders import NOW_MS, USDC, inclusion, listed, order

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOW = "2027-01-15T08:00:00.000Z"


async def test_history_tells_nulls_and_pages(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    done = order(order_id="ord_2", status=OrderStatus.CONFIRMED, inclusion=inclusion())
    inside.page = OrderPage((listed(inside.order), listed(done)), 7)
    answer = await requests.ask(client, requests.HISTORY, limit=2, offset=3, status="mining")
    data = answer.json()["data"]
    summary = {
        "sellToken": WETH,
        "buyToken": USDC,
        "sellAmount": "1000000000000000000",
        "buyAmount": "3000000000",
    }
    shared: dict[str, object] = {
        "txHash": "0x" + "aa" * 32,
        "createdAt": NOW,
        "kind": "swap",
        "summary": summary,
    }
    shared |= {"relayAnswer": None, "conversion": None}
    assert data["orders"] == [
        {"orderId": "ord_1", "status": "submitted", "blockNumber": None, "confirmedAt": None}
        | shared,
        {"orderId": "ord_2", "status": "confirmed", "blockNumber": 100, "confirmedAt": NOW}
        | shared,
    ]
    assert (data["total"], data["hasMore"]) == (7, True)
    assert data["pagination"] == {"limit": 2, "offset": 3, "nextOffset": 5}
    assert inside.asked == [(KEY, WALLET, OrderStatus.MINING, 2, 3, OrderKind.SWAP, None)]


@pytest.mark.parametrize(("offset", "total", "more"), [(0, 1, False), (0, 2, True), (9, 1, False)])
async def test_history_has_more_until_the_last_order_was_told(
    client: httpx.AsyncClient, inside: ScriptedUseCases, offset: int, total: int, more: bool
) -> None:
    inside.page = OrderPage((listed(inside.order),), total)
    data = (await requests.ask(client, requests.HISTORY, offset=offset)).json()["data"]
    assert data["hasMore"] is more


@pytest.mark.parametrize("status", list(OrderStatus))
async def test_history_filters_by_every_status(
    client: httpx.AsyncClient, inside: ScriptedUseCases, status: OrderStatus
) -> None:
    await requests.ask(client, requests.HISTORY, status=status.value)
    assert inside.asked == [(KEY, WALLET, status, 50, 0, OrderKind.SWAP, None)]


@pytest.mark.parametrize("kind", list(OrderKind))
async def test_history_lists_one_kind_of_orders(
    client: httpx.AsyncClient, inside: ScriptedUseCases, kind: OrderKind
) -> None:
    inside.order = order(kind=kind)
    inside.page = OrderPage((listed(inside.order),), 1)
    [line] = (await requests.ask(client, requests.HISTORY, kind=kind.value)).json()["data"][
        "orders"
    ]
    assert inside.asked == [(KEY, WALLET, None, 50, 0, kind, None)]
    assert line["kind"] == kind.value
    status = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert status["kind"] == kind.value


async def test_history_lists_orders_of_any_kind(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    await requests.ask(client, requests.HISTORY, kind="any", status="mining")
    assert inside.asked == [(KEY, WALLET, OrderStatus.MINING, 50, 0, None, None)]


async def test_wrap_info_tells_balances_and_operations(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.info = WrapBalances("Wrapped Ether", "WETH", 15 * 10**17, 1)
    data = (await requests.ask(client, requests.WRAP_INFO)).json()["data"]
    assert data["weth"] == {
        "address": WETH,
        "name": "Wrapped Ether",
        "symbol": "WETH",
        "decimals": 18,
        "chainId": 1,
    }
    assert data["balances"] == {
        "eth": {"wei": "1500000000000000000", "ether": "1.5"},
        "weth": {"wei": "1", "ether": "0.000000000000000001"},
    }
    assert data["operations"]["wrap"]["maxAmount"] == "1.5"
    assert data["operations"]["unwrap"]["maxAmount"] == "0.000000000000000001"


@pytest.mark.parametrize(
    ("operation", "given", "taken", "value"),
    [("wrap", "ETH", WETH, "1500000000000000000"), ("unwrap", WETH, "ETH", "0")],
)
async def test_a_wrap_quote_is_told_field_for_field(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    operation: str,
    given: str,
    taken: str,
    value: str,
) -> None:
    answer = await requests.ask(client, requests.WRAP_QUOTE, operation=operation, amount="1.50")
    quote = answer.json()["data"]["quote"]
    protection = quote.pop("mevProtection")
    assert quote == {
        "quoteId": f"weth_{operation}_{NOW_MS}_4f3a9c",
        "operation": operation,
        "amount": "1.5",
        "amountWei": "1500000000000000000",
        "inputToken": given,
        "outputToken": taken,
        "deadline": NOW_MS // 1000 + 300,
        "estimatedGas": "45041",
        "createdAt": NOW,
        "validUntil": "2027-01-15T08:05:00.000Z",
        "loss": {"level": "none", "bps": 0, "causes": []},
        "notes": [],
    }
    assert protection["transactionParams"]["nonce"] is None
    assert protection["transactionParams"]["value"] == value
    assert protection["transactionParams"]["to"] == WETH
    assert "expectedRebate" not in protection["providerMetadata"]["mevRelayMetadata"]
    assert inside.asked == [(KEY, WrapQuoteRequest(WrapOperation(operation), 15 * 10**17, WALLET))]


async def test_a_wrap_order_is_taken(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await requests.ask(client, requests.WRAP_ORDER, quoteId="weth_wrap_1_a", amount="1.5")
    assert answer.json()["data"] == {
        "order": {
            "operation": "wrap",
            "txHash": "0x" + "aa" * 32,
            "from": WALLET,
            "amount": "1.5",
            "status": "submitted",
            "provider": "Test Relay",
            "trackingUrl": "https://relay.test/tx/0x" + "aa" * 32,
            "explorerUrl": "https://etherscan.io/tx/0x" + "aa" * 32,
            "submittedAt": "2027-01-15T08:00:00.400Z",
        }
    }
    (_, submission), = inside.asked  # fmt: skip
    assert (submission.quote_id, submission.amount) == ("weth_wrap_1_a", 15 * 10**17)
    assert submission.operation is WrapOperation.WRAP


async def test_a_wrap_order_needs_neither_quote_id_nor_amount(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    await requests.ask(client, requests.WRAP_ORDER, quoteId=None)
    (_, submission), = inside.asked  # fmt: skip
    assert (submission.quote_id, submission.amount) == (None, None)


async def test_times_are_iso_8601_with_milliseconds_and_z(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.order = replace(inside.order, created_at_ms=NOW_MS + 7, submitted_at_ms=0)
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert data["createdAt"] == "2027-01-15T08:00:00.007Z"
    assert data["submittedAt"] == "1970-01-01T00:00:00.000Z"
    assert ISO.fullmatch(data["createdAt"])


@pytest.mark.parametrize(
    ("status", "attempts", "told"),
    [
        (OrderStatus.PENDING, 1, "pending"),
        (OrderStatus.SUBMITTED, 1, "submitted"),
        (OrderStatus.MINING, 1, "submitted"),
        (OrderStatus.CONFIRMED, 1, "submitted"),
        (OrderStatus.CONFIRMED, 0, "confirmed"),
    ],
)
async def test_a_repeated_wrap_order_hears_the_first_answer_again(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    status: OrderStatus,
    attempts: int,
    told: str,
) -> None:
    """An adopted one, which was never sent from here, has the state of the chain."""
    inside.order = replace(inside.order, status=status, attempts=attempts)
    answer = await requests.ask(client, requests.WRAP_ORDER)
    assert answer.json()["data"]["order"]["status"] == told


@pytest.mark.parametrize(("amount", "level"), [("0.00045", "confirm"), ("0.00045041", "none")])
async def test_gas_above_a_tenth_of_a_wrap(
    client: httpx.AsyncClient, amount: str, level: str
) -> None:
    """45,041 gas at 1 gwei."""
    quote = (await requests.ask(client, requests.WRAP_QUOTE, amount=amount)).json()["data"]["quote"]
    gas = [{"cause": "gas", "bps": 1001}] if level == "confirm" else []
    assert quote["loss"] == {"level": level, "bps": 1001 if gas else 0, "causes": gas}
