"""One method per endpoint: what goes out, and what the answer becomes."""

import inspect
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest

from quietswap.client import AsyncQuietswapClient, QuietswapClient
from quietswap.client.errors import ServiceUnreachable, UnexpectedResponse
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.tokens.token import WETH
from tests.client.conftest import Do
from tests.client.conftest import either_manner as manner
from tests.client.fake_servers import ETHER, WALLET, FakeService, Reply
from tests.stored_orders import NOW_MS, USDC

__all__ = ["manner"]

REQUEST = SwapRequest(WETH, USDC, ETHER, WALLET, slippage_bps=70)
NOON = datetime.fromtimestamp(NOW_MS / 1000, UTC)


def test_quote(do: Do, service: FakeService) -> None:
    quote = do("quote", REQUEST)
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("GET", "/api/v1/quote")
    assert asked.headers["x-api-key"] == "qs_right"
    assert asked.query == {
        "sellToken": WETH,
        "buyToken": USDC,
        "sellAmount": "1000000000000000000",
        "userAddress": WALLET,
        "chainId": "1",
        "slippageBps": "70",
    }
    assert (quote.buy_amount, quote.min_buy_amount) == (3_000_000_000, 2_985_000_000)
    assert quote.scoring.net_value_usd == Decimal("2999.123457")
    assert quote.mev_protection.transaction_params.nonce == 7
    assert quote.mev_protection.metadata.mev_relay_metadata.expected_rebate == Decimal("0.04")
    assert quote.is_verified
    assert [(row.source, row.outcome, row.simulated) for row in quote.sources] == [
        ("kyberswap", "won", 3_000_000_000),
        ("sushi", "timed_out", None),
    ]
    assert quote.timestamp == NOW_MS


def test_submit_order(do: Do, service: FakeService) -> None:
    quote = do("quote", REQUEST)
    answer = do("submit_order", quote, REQUEST, "0x02ab")
    (body,) = service.bodies("order")
    params = body["orderParams"]
    assert body["signedTransaction"] == "0x02ab"
    assert body["providerMetadata"] == quote.mev_protection.provider_metadata
    assert (params["fromToken"], params["toToken"]) == (WETH, USDC)
    assert (params["amount"], params["minReturnAmount"]) == (str(ETHER), "2985000000")
    assert (params["userAddress"], params["chainId"], params["slippageBps"]) == (WALLET, 1, 70)
    assert params["selectedTier"] == 2
    assert params["transactionValueUsd"] == pytest.approx(2999.123457)
    assert params["dexRoute"]["target"] == quote.dex_route.target
    assert params["dexRoute"]["data"] == quote.dex_route.data
    threat = params["threatAnalysis"]
    assert threat["threatLevel"] == "MEDIUM"
    assert threat["estimatedSavings"] == {"estimatedProtection": {"amount": 15, "currency": "USD"}}
    assert params["deadline"] == threat["timestamp"] // 1000 + 1800
    assert (answer.order.order_id, answer.order.status) == ("ord_1", "submitted")
    assert answer.tracking.polling_interval == 10


def test_price(do: Do, service: FakeService) -> None:
    price = do("price", WETH, USDC, ETHER)
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("GET", "/api/v1/price")
    assert asked.query == {
        "sellToken": WETH,
        "buyToken": USDC,
        "sellAmount": "1000000000000000000",
        "chainId": "1",
    }
    assert (price.indicative, price.verification) == (True, "none")
    assert (price.source, price.buy_amount) == ("kyberswap", 3_000_000_000)
    assert [(row.source, row.buy_amount) for row in price.sources] == [
        ("kyberswap", 3_000_000_000),
        ("sushi", None),
    ]


def test_tokens(do: Do, service: FakeService) -> None:
    page = do("tokens", "we", limit=2)
    assert service.asked[0].path == "/api/v1/tokens"
    assert service.asked[0].query == {"search": "we", "limit": "2", "offset": "0"}
    weth, usdc = page.tokens
    assert (weth.symbol, weth.decimals, weth.transfer_fee_bps) == ("WETH", 18, 0)
    assert weth.logo_uri == "https://tokens.test/weth.png"
    assert (usdc.transfer_fee_bps, usdc.warnings) == (None, ("unlisted",))
    assert (page.total, page.has_more, page.pagination.next_offset) == (3, True, 2)


def test_balances(do: Do, service: FakeService) -> None:
    found = do("balances", WALLET, [WETH, USDC])
    assert service.asked[0].path == f"/api/v1/mev/balances/{WALLET}"
    assert service.asked[0].query == {"tokens": f"{WETH},{USDC}"}
    assert (found.block_number, found.eth.wei) == (21_000_000, 15 * 10**17)
    weth, usdc = found.tokens
    assert (weth.balance, weth.allowances[0].allowance) == (ETHER, 5)
    assert (usdc.decimals, usdc.balance, usdc.allowances[0].allowance) == (None, None, None)
    do("balances", WALLET)
    assert service.asked[1].query == {}


def test_order_status(do: Do, service: FakeService) -> None:
    record = do("order_status", "ord/1?x")
    assert service.asked[0].path == "/api/v1/mev/orders/ord%2F1%3Fx"
    assert record.is_terminal
    assert (record.status, record.block_number, record.gas_used) == (
        "confirmed",
        19_000_000,
        180_000,
    )
    assert record.confirmed_at == NOON
    assert record.order_params.min_return_amount == 2_900_000_000


def test_order_history(do: Do, service: FakeService) -> None:
    page = do("order_history", WALLET, limit=2, offset=0, status="failed")
    (asked,) = service.asked
    assert asked.path == f"/api/v1/mev/orders/user/{WALLET}"
    assert asked.query == {"limit": "2", "offset": "0", "status": "failed"}
    assert (page.total, page.has_more, page.pagination.next_offset) == (7, True, 2)
    assert [item.status for item in page.orders] == ["confirmed", "failed"]
    assert page.orders[0].summary.buy_amount == 3_000_000_000


def test_order_history_of_another_kind(do: Do, service: FakeService) -> None:
    do("order_history", WALLET, limit=2, offset=0, kind="approval")
    assert service.asked[0].query == {"limit": "2", "offset": "0", "kind": "approval"}


def test_wrap_info(do: Do, service: FakeService) -> None:
    info = do("wrap_info", WALLET)
    assert service.asked[0].query == {"userAddress": WALLET}
    assert (info.balances.eth.wei, info.balances.weth.ether) == (5 * ETHER, "0.5")
    assert info.operations.unwrap.max_amount == "0.5"


def test_wrap_quote(do: Do, service: FakeService) -> None:
    quote = do("wrap_quote", "wrap", "2", WALLET)
    assert service.asked[0].body == {
        "operation": "wrap",
        "amount": "2",
        "userAddress": WALLET,
        "chainId": 1,
    }
    assert (quote.operation, quote.amount_wei) == ("wrap", 2 * ETHER)
    assert quote.mev_protection.transaction_params.nonce is None
    assert quote.mev_protection.metadata.mev_relay_metadata.expected_rebate is None


def test_submit_wrap_order(do: Do, service: FakeService) -> None:
    quote = do("wrap_quote", "wrap", "2", WALLET)
    order = do("submit_wrap_order", quote, "0x02cd")
    assert service.bodies("wrap order") == [
        {
            "operation": "wrap",
            "signedTransaction": "0x02cd",
            "providerMetadata": quote.mev_protection.provider_metadata,
            "quoteId": quote.quote_id,
            "amount": "2",
        }
    ]
    assert (order.tx_hash, order.sender, order.status) == (service.tx_hash, WALLET, "submitted")


@pytest.mark.parametrize("body", [b"<html>", b'{"ok":true,"data":{}}', b'{"ok":true}', b"[]"])
def test_an_answer_of_something_else(do: Do, service: FakeService, body: bytes) -> None:
    service.next("wrap info", Reply(body))
    with pytest.raises(UnexpectedResponse):
        do("wrap_info", WALLET)


@pytest.mark.parametrize(
    ("status", "error"), [(404, UnexpectedResponse), (502, ServiceUnreachable)]
)
def test_an_error_without_an_envelope(
    do: Do, service: FakeService, status: int, error: type[Exception]
) -> None:
    service.next("wrap info", Reply(b"<html>", status))
    with pytest.raises(error):
        do("wrap_info", WALLET)


def test_an_amount_must_be_a_decimal_string(do: Do, service: FakeService) -> None:
    page = {"balances": {"eth": {"wei": 5, "ether": "5"}}}
    service.next("wrap info", Reply({"ok": True, "data": page}))
    with pytest.raises(UnexpectedResponse):
        do("wrap_info", WALLET)


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> dict[str, tuple[list[str], str | None]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: (list(inspect.signature(method).parameters), method.__doc__)
            for name, method in methods
            if not name.startswith("_")
        }

    assert public(QuietswapClient) == public(AsyncQuietswapClient)


def test_nothing_answers() -> None:
    client = QuietswapClient("http://127.0.0.1:1", "qs_right", rpc_url="http://127.0.0.1:1/key")
    with (
        client,
        pytest.raises(ServiceUnreachable, match=r"^the service at http://127.0.0.1:1 does not"),
    ):
        client.wrap_info(WALLET)


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:80", "ftp://x", "http://", "http://[", "http://h:x", "http://a b", "http://h/?q=1"],
)
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="url must be"):
        QuietswapClient(url, "qs_right")


def test_resources_are_written_as_they_came(do: Do, service: FakeService) -> None:
    from quietswap.client.wire import encode

    quote = do("quote", REQUEST)
    sent = service.quote()
    written = msgspec.json.decode(encode(quote))
    assert written.pop("timestamp") == NOW_MS
    assert written == msgspec.json.decode(msgspec.json.encode(sent))
