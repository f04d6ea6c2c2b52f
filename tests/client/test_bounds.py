"""Every number the service or the node names has a bound: time, memory, amounts, figures."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from quietswap.client import QuietswapClient, node_answers, node_calls
from quietswap.client.errors import ApiError, MayBeMined, UnexpectedResponse
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.number_limits import MAX_BODY
from quietswap.rules.orders.order import OrderStatus
from tests.client.conftest import Do, Time
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_servers import WALLET, FakeService, Reply, ok, placed, swap_quote
from tests.client.test_polling import at
from tests.client.test_swap_flow import REQUEST
from tests.response_json import orders, quotes
from tests.stored_orders import recorded

ALONE = replace(REQUEST, approval="never")


@pytest.mark.parametrize(
    ("suggested", "waited"),
    [(-5, 1), (0, 1), (1e-9, 1), (2.5, 2.5), (60, 60), (61, 60), (1e9, 60), (1e300, 60)],
)
def test_the_polling_interval(
    service: FakeService, client: QuietswapClient, time: Time, suggested: float, waited: float
) -> None:
    usual = service._usual

    def hostile(name: str, asked: Any) -> Reply:
        reply = usual(name, asked)
        if name == "order":
            reply.body["data"]["tracking"]["pollingInterval"] = suggested
        return reply

    service._usual = hostile  # type: ignore[method-assign]
    service.next("status", at(OrderStatus.PENDING))
    client.swap(REQUEST, ACCOUNT)
    assert time.pauses == [waited]


@pytest.mark.parametrize(
    ("asked", "waited"), [(-1e9, 1), (0, 1), (45, 45), (300, 300), (301, 300), (1e9, 300)]
)
def test_retry_after(
    client: QuietswapClient, service: FakeService, time: Time, asked: float, waited: float
) -> None:
    client.polling = PollingPolicy(patience_s=1000)
    body = {"ok": False, "error": "RATE_LIMIT_EXCEEDED", "message": "", "retryAfter": asked}
    service.next("status", Reply(body, 429))
    client.follow("ord_1")
    assert time.pauses == [waited]


def test_a_refusal_of_the_quote_names_no_longer_wait(do: Do, service: FakeService) -> None:
    body = {"ok": False, "error": "SERVICE_UNAVAILABLE", "message": "", "retryAfter": 1e300}
    service.next("quote", Reply(body, 503))
    with pytest.raises(ApiError) as caught:
        do("quote", REQUEST)
    assert caught.value.retry_after == 300


def padded(size: int) -> bytes:
    info = {
        "ok": True,
        "data": orders.order_status_response(recorded(placed(OrderStatus.CONFIRMED))),
    }
    return json.dumps(info).encode().ljust(size)


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_largest_body(do: Do, service: FakeService, is_packed: bool) -> None:
    """What counts is the size after decompression: 4 MB of blanks travel as 4 kB."""
    headers = {"Content-Encoding": "gzip"} if is_packed else {}
    for size in (MAX_BODY, MAX_BODY + 1):
        body = gzip.compress(padded(size)) if is_packed else padded(size)
        service.next("status", Reply(body, headers=headers))
    assert do("order_status", "ord_1").status == "confirmed"
    with pytest.raises(UnexpectedResponse, match=r"answers more than 4194304 bytes: not read"):
        do("order_status", "ord_1")


def test_a_node_has_the_same_bound(do_with_node: Do, node: Any, monkeypatch: Any) -> None:
    from quietswap.client import node_calls

    monkeypatch.setattr(node, "eth_chainId", lambda: "0x" + "1" * MAX_BODY)
    with pytest.raises(UnexpectedResponse, match="answers more than"):
        do_with_node("node", node_calls.CHAIN_ID)


ABSURD = [
    ("sellAmount", "-1"),
    ("buyAmount", str(2**256)),
    ("minBuyAmount", "9" * 5000),
    ("minBuyAmount", "1e3"),
    ("estimatedGas", -1),
    ("estimatedGas", 2**53),
    ("priceImpact", 1e30),
    ("priceImpact", "NaN"),
    ("priceImpact", "Infinity"),
    ("scoring.netValueUsd", -1e19),
    ("scoring.gasCostUsd", "1E-999999"),
    ("mevAnalysis.estimatedProtectionUsd", "1E+999999"),
    ("mevProtection.transactionParams.nonce", -1),
    ("mevProtection.transactionParams.nonce", 2**64),
    ("mevProtection.transactionParams.gasLimit", "-21000"),
    ("mevProtection.transactionParams.maxFeePerGas", str(2**256)),
    ("mevProtection.transactionParams.chainId", -1),
]


@pytest.mark.parametrize(("path", "value"), ABSURD)
def test_absurd_numbers_in_a_quote(do: Do, service: FakeService, path: str, value: Any) -> None:
    quote = quotes.swap_quote_response(swap_quote())
    *parents, last = path.split(".")
    inner = quote
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    service.next("quote", ok(quote))
    with pytest.raises(UnexpectedResponse, match="unreadable answer"):
        do("swap", ALONE, ACCOUNT)
    assert service.bodies("order") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("blockNumber", -1),
        ("blockNumber", 10**400),
        ("gasUsed", "-1"),
        ("effectiveGasPrice", str(2**256)),
        ("createdAt", "10000-01-01T00:00:00Z"),
        ("createdAt", 1e400),
    ],
)
def test_absurd_numbers_in_a_status(do: Do, service: FakeService, name: str, value: Any) -> None:
    record = at(OrderStatus.CONFIRMED)
    body = json.dumps(record.body | {"data": record.body["data"] | {name: value}})
    service.next("status", Reply(body.encode()))
    with pytest.raises(UnexpectedResponse):
        do("order_status", "ord_1")


BAD_UTF8 = [
    Reply(b'{"ok":false,"error":"INVALID_SIGNATURE","message":"\xff"}', 400),
    Reply(b'{"ok":false,"error":"\xff"}', 503),
    Reply(b'{"ok":true,"data":{"order":"\xff"}}'),
    Reply(b'{"ok":true,"data":{},"\xff":1}'),
]


@pytest.mark.parametrize("reply", BAD_UTF8)
def test_bytes_that_are_not_utf8_after_submission(
    do: Do, service: FakeService, reply: Reply
) -> None:
    service.next("order", *[reply] * 3)
    with pytest.raises(MayBeMined) as caught:
        do("swap", ALONE, ACCOUNT)
    assert (caught.value.tx_hash, caught.value.nonce) == (service.tx_hash, 7)


@pytest.mark.parametrize("text", [b'{"result":"0x1","x":"\xff"}', b'{"error":{"message":"\xff"}}'])
def test_a_node_that_speaks_no_utf8(text: bytes) -> None:
    with pytest.raises(UnexpectedResponse):
        node_answers.read_result(node_calls.CHAIN_ID, 200, text)


def test_absurd_depth(do: Do, service: FakeService) -> None:
    service.next("wrap info", Reply(b'{"ok":true,"data":' + b"[" * 10**5 + b"]" * 10**5 + b"}"))
    with pytest.raises(UnexpectedResponse):
        do("wrap_info", WALLET)
