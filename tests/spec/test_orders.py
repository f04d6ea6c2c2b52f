"""The life of orders as a client sees it: flows, states, visibility, history."""

import time
from datetime import datetime
from typing import Any

import pytest

from tests.spec.api_client import ETHER, TERMINAL, ApiClient
from tests.spec.coverage import shows
from tests.spec.wire import data, refused, sign

LATER = ("blockNumber", "gasUsed", "effectiveGasPrice", "confirmedAt")


@shows(
    "rule: swap flow",
    "rule: known after confirmation",
    "state: confirmed",
    "transition: mining to confirmed, chain inclusion",
)
def test_a_swap_from_quote_to_confirmation(desk: ApiClient) -> None:
    wallet = desk.wallet()
    taken = data(desk.submit(desk.swap(wallet)))
    order_id = taken["order"]["orderId"]
    seen = desk.follow(order_id, "confirmed")
    receipt = desk.rpc("eth_getTransactionReceipt", taken["order"]["txHash"])
    assert seen["blockNumber"] == int(receipt["blockNumber"], 16)
    assert seen["gasUsed"] == str(int(receipt["gasUsed"], 16))
    assert seen["effectiveGasPrice"] == str(int(receipt["effectiveGasPrice"], 16))
    block = desk.rpc("eth_getBlockByNumber", receipt["blockNumber"], False)
    confirmed = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(block["timestamp"], 16)))
    assert seen["confirmedAt"] == confirmed + ".000Z"
    assert seen["orderParams"]["fromToken"] == taken_params(desk, order_id)["fromToken"]


def taken_params(desk: ApiClient, order_id: str) -> dict[str, Any]:
    params: dict[str, Any] = desk.status(order_id)["orderParams"]
    return params


@shows("rule: initial status", "rule: status endpoint", "limit: Recommended polling")
@shows("transition: (none) to submitted, POST /api/v1/mev/orders accepted", "state: submitted")
def test_an_accepted_order_is_submitted_and_says_where_to_look(desk: ApiClient) -> None:
    with desk.no_blocks():
        taken = data(desk.submit(desk.swap(desk.wallet())))
        order, tracking = taken["order"], taken["tracking"]
        assert order["status"] == "submitted"
        assert tracking["statusEndpoint"] == f"/api/v1/mev/orders/{order['orderId']}"
        assert 5 <= tracking["pollingInterval"] <= 10
        seen = data(desk.api.get(tracking["statusEndpoint"]))
    assert seen["status"] == "submitted"
    assert seen["txHash"] == order["txHash"]
    assert not [name for name in LATER if name in seen]


@shows("rule: open states", "state: mining")
def test_an_order_the_relay_holds_is_mining_once_a_block_came(desk: ApiClient) -> None:
    with desk.fault("withhold", "relay", "backup_relay"):
        taken = desk.order(desk.wallet())
        seen = desk.follow(taken["orderId"], "mining", *TERMINAL)
    assert seen["status"] == "mining"
    assert not [name for name in LATER if name in seen]
    assert desk.follow(taken["orderId"])["status"] == "confirmed"


@shows("rule: open states", "state: pending")
def test_an_order_nobody_knows_the_fate_of_is_pending(desk: ApiClient) -> None:
    swap = desk.swap(desk.wallet())
    with desk.fault("500", "relay"), desk.no_blocks():
        taken = data(desk.submit(swap))["order"]
        assert taken["status"] == "pending"
        assert desk.status(taken["orderId"])["status"] == "pending"
    assert desk.follow(taken["orderId"])["status"] == "confirmed"


@shows("state: failed")
def test_an_order_the_relay_refuses_is_failed(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    with desk.fault("refuse:transaction type not supported", "relay"):
        refused(desk.submit(swap), 422, "VALIDATION_ERROR")
    failed = desk.history(wallet)["orders"][0]
    assert failed["status"] == "failed"
    assert (failed["blockNumber"], failed["confirmedAt"]) == (None, None)
    seen = desk.status(failed["orderId"])
    assert seen["error"]["code"] == "REFUSED"
    assert seen["error"]["message"]


@pytest.mark.parametrize("words", ["not this week", "<b>not</b>\u202e this\nweek " + "9" * 400])
def test_the_last_words_of_the_relay_are_told(desk: ApiClient, words: str) -> None:
    """They decide nothing: the order is open, and its block withdraws them."""
    wallet = desk.wallet()
    with desk.fault(f"refuse:{words}", "relay"):
        taken = data(desk.submit(desk.swap(wallet)))["order"]
        seen, line = desk.status(taken["orderId"]), desk.history(wallet)["orders"][0]
    assert (taken["status"], seen["status"]) == ("pending", "pending")
    assert seen["relayAnswer"] == line["relayAnswer"]
    assert seen["relayAnswer"].startswith("HTTP 200, it says “")
    assert seen["relayAnswer"].isprintable()
    assert len(seen["relayAnswer"]) < 150
    assert ("not this week" in seen["relayAnswer"]) == (words == "not this week")
    assert not set("<>\u202e") & set(seen["relayAnswer"])
    assert "relayAnswer" not in desk.follow(taken["orderId"], "confirmed")
    assert desk.history(wallet)["orders"][0]["relayAnswer"] is None


def test_a_refused_order_keeps_the_words_of_the_relay(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    with desk.fault("refuse:fee too low", "relay"):
        refused(desk.submit(swap), 422, "VALIDATION_ERROR")
    line = desk.history(wallet)["orders"][0]
    seen = desk.status(line["orderId"])
    assert (seen["status"], seen["error"]["code"]) == ("failed", "REFUSED")
    assert seen["relayAnswer"] == line["relayAnswer"] == "HTTP 200, it says “fee too low”"


@shows("state: cancelled")
def test_an_order_whose_nonce_the_wallet_used_itself_is_cancelled(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.fault("withhold", "relay", "backup_relay"):
        taken = desk.order(wallet)
        desk.use_nonce(wallet, 0)
        seen = desk.follow(taken["orderId"])
    assert seen["status"] == "cancelled"
    assert seen["error"]["code"] == "USER_CANCELLED"


@shows("limit: Order expiry")
def test_an_order_expires_30_minutes_after_it_was_taken(desk: ApiClient) -> None:
    taken = desk.order(desk.wallet())
    assert minutes(taken["submittedAt"], taken["expiresAt"]) == pytest.approx(30, abs=0.1)


@shows("limit: Wrap/unwrap quote validity")
def test_a_wrap_quote_is_valid_for_five_minutes(desk: ApiClient) -> None:
    wallet, before = desk.wallet(), int(time.time())
    quote = desk.wrap_quote(wallet)
    assert minutes(quote["createdAt"], quote["validUntil"]) == pytest.approx(5)
    assert before <= quote["deadline"] - 300 <= time.time() + 1


def minutes(first: str, second: str) -> float:
    passed = datetime.fromisoformat(second) - datetime.fromisoformat(first)
    return passed.total_seconds() / 60


@shows("rule: private")
def test_a_submitted_transaction_is_never_public(desk: ApiClient) -> None:
    taken = desk.order(desk.wallet())
    desk.follow(taken["orderId"])
    assert taken["txHash"] in [one["hash"] for one in desk.given_to_relays()]
    assert desk.town.control.get("/mempool-leaks").json() == {"leaks": []}


@shows("rule: unchanged transaction")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gas": 1_234_567}, "gasLimit"),
        ({"maxFeePerGas": 10**11}, "maxFeePerGas"),
        ({"maxPriorityFeePerGas": 1}, "maxPriorityFeePerGas"),
        ({"nonce": 5}, "nonce"),
        ({"value": 1}, "value"),
        ({"data": "0x12345678"}, "data"),
        ({"to": "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"}, "to"),
    ],
)
def test_a_transaction_with_another_field_is_refused_by_name(
    desk: ApiClient, change: dict[str, Any], field: str
) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    raw = sign(wallet, swap.quote["mevProtection"]["transactionParams"], **change)
    details = refused(desk.submit(swap, signedTransaction=raw), 422, "VALIDATION_ERROR")["details"]
    assert [fault["field"] for fault in details["fields"]] == [f"transaction.{field}"]
    assert details["fields"][0]["expected"] != details["fields"][0]["provided"]


@shows("rule: metadata unchanged")
@pytest.mark.parametrize("submit", ["swap", "wrap"])
def test_the_metadata_must_come_back_and_come_back_unchanged(desk: ApiClient, submit: str) -> None:
    wallet = desk.wallet()
    signed = desk.swap(wallet) if submit == "swap" else desk.wrap(wallet)
    path = "/api/v1/mev/orders" if submit == "swap" else "/api/v1/mev/wrap/order"
    metadata = signed.body["providerMetadata"]
    settings = metadata["mevRelayMetadata"]
    for changed, field in (
        (metadata | {"extra": 1}, "extra"),
        (metadata | {"mevRelayMetadata": settings | {"endpoint": "https://evil.test"}}, "endpoint"),
        (metadata | {"mevRelayMetadata": settings | {"useBoost": True}}, "useBoost"),
    ):
        answer = desk.api.post(path, json=signed.body | {"providerMetadata": changed})
        details = refused(answer, 422, "VALIDATION_ERROR")["details"]
        assert [fault["field"].rpartition(".")[2] for fault in details["fields"]] == [field]
    missing = {name: value for name, value in signed.body.items() if name != "providerMetadata"}
    refused(desk.api.post(path, json=missing), 400, "MISSING_PARAMETER")


@shows("rule: history of a wallet", "rule: history pages", "limit: history offset")
def test_the_history_leads_through_all_orders_newest_first(desk: ApiClient) -> None:
    wallet = desk.wallet()
    small = str(ETHER // 1000)  # the earlier ones are mined meanwhile and move the price
    taken = [desk.order(wallet, sellAmount=small)["orderId"] for _ in range(5)]
    whole = desk.history(wallet)
    assert [one["orderId"] for one in whole["orders"]] == taken[::-1]
    assert (whole["total"], whole["hasMore"]) == (5, False)
    assert whole["pagination"] == {"limit": 50, "offset": 0, "nextOffset": 5}
    found, offset, more = [], 0, True
    while more:
        page = desk.history(wallet, limit=2, offset=offset)
        found += [one["orderId"] for one in page["orders"]]
        more, offset = page["hasMore"], page["pagination"]["nextOffset"]
    assert found == taken[::-1]
    assert desk.another().get(f"/api/v1/mev/orders/user/{wallet.address}").json()["data"] == {
        "orders": [],
        "total": 0,
        "hasMore": False,
        "pagination": {"limit": 50, "offset": 0, "nextOffset": 0},
    }


@shows("rule: history filter")
def test_the_history_is_filtered_by_status(desk: ApiClient) -> None:
    wallet = desk.wallet()
    taken = desk.order(wallet)
    desk.follow(taken["orderId"], "confirmed")
    for status in ("pending", "submitted", "mining", "confirmed", "failed", "cancelled"):
        page = desk.history(wallet, status=status)
        assert page["total"] == (1 if status == "confirmed" else 0)
        assert len(page["orders"]) == page["total"]
