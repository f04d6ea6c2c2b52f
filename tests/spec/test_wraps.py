"""Wrapping and unwrapping as a client sees it."""

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import WETH
from tests.spec.api_client import ETHER, ApiClient, Signed
from tests.spec.coverage import shows
from tests.spec.wire import data, refused, sign, wrap_body


def balances(desk: ApiClient, wallet: str) -> tuple[int, int]:
    """Return (wei, WETH in wei) as wrap info tells them."""
    told = data(desk.api.get("/api/v1/mev/wrap/info", params={"userAddress": wallet}))["balances"]
    return int(told["eth"]["wei"]), int(told["weth"]["wei"])


@shows(
    "rule: wrap flow",
    "rule: wrap is one to one",
    "rule: wrap amount in ETH",
    "rule: wrap has no order id",
    "transition: (none) to submitted, POST /api/v1/mev/wrap/order accepted",
)
@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_a_wrap_and_an_unwrap_move_exactly_their_amount(desk: ApiClient, operation: str) -> None:
    wallet = desk.wallet()
    eth, weth = balances(desk, wallet.address)
    order = data(desk.submit_wrap(desk.wrap(wallet, operation=operation)))["order"]
    assert (order["status"], order["from"]) == ("submitted", wallet.address)
    assert (order["operation"], order["amount"]) == (operation, "1.5")
    assert "orderId" not in order
    desk.until(lambda: desk.rpc("eth_getTransactionReceipt", order["txHash"]))
    receipt = desk.rpc("eth_getTransactionReceipt", order["txHash"])
    assert receipt["status"] == "0x1"
    paid = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    moved = 3 * ETHER // 2 * (1 if operation == "wrap" else -1)
    assert balances(desk, wallet.address) == (eth - moved - paid, weth + moved)


@shows("rule: wrap quote id optional")
def test_a_wrap_order_needs_neither_quote_id_nor_amount(desk: ApiClient) -> None:
    wrap = desk.wrap(desk.wallet())
    body = {k: v for k, v in wrap.body.items() if k not in ("quoteId", "amount")}
    data(desk.api.post("/api/v1/mev/wrap/order", json=body))


@shows("rule: wrap quote id optional")
def test_a_quote_id_that_is_given_must_be_the_transactions(desk: ApiClient) -> None:
    wallet = desk.wallet()
    wrap, other = desk.wrap(wallet), desk.wrap_quote(wallet, amount="2")
    answer = desk.submit_wrap(wrap, quoteId=other["quoteId"])
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert "transaction.value" in [fault["field"] for fault in details["fields"]]
    unknown = desk.submit_wrap(wrap, quoteId="weth_wrap_1700000000000_abc")
    refused(unknown, 422, "VALIDATION_ERROR")


@shows("rule: wrap gas")
def test_the_estimates_are_typical(desk: ApiClient) -> None:
    wallet = desk.wallet()
    wrap = desk.wrap_quote(wallet)
    unwrap = desk.wrap_quote(wallet, operation="unwrap")
    assert 25_000 <= int(wrap["estimatedGas"]) <= 50_000
    assert 28_000 <= int(unwrap["estimatedGas"]) <= 40_000
    for quote in (wrap, unwrap):
        assert int(quote["mevProtection"]["transactionParams"]["gasLimit"]) >= 50_000


@shows("rule: max amounts")
def test_the_largest_amounts_are_the_balances(desk: ApiClient) -> None:
    wallet = desk.wallet(ether=12.5)
    desk.give(wallet, WETH, 1)
    ask = {"userAddress": wallet.address}
    told = data(desk.api.get("/api/v1/mev/wrap/info", params=ask))
    assert told["operations"]["wrap"]["maxAmount"] == told["balances"]["eth"]["ether"] == "12.5"
    assert told["operations"]["unwrap"]["maxAmount"] == "0.000000000000000001"
    assert told["weth"] == {
        "address": WETH.address,
        "name": "Wrapped Ether",
        "symbol": "WETH",
        "decimals": 18,
        "chainId": 1,
    }


@shows("rule: initial status")
def test_the_same_wrap_again_is_the_same_answer(desk: ApiClient) -> None:
    wrap = desk.wrap(desk.wallet())
    with desk.no_blocks():
        first, again = desk.submit_wrap(wrap), desk.submit_wrap(wrap)
    assert first.json() == again.json()
    assert data(first)["order"]["status"] == "submitted"


def _at(wallet: LocalAccount, wrap: Signed, nonce: int) -> Signed:
    """Return the same quote, signed with another nonce."""
    raw = sign(wallet, wrap.quote["mevProtection"]["transactionParams"], nonce=nonce)
    return Signed(wrap.quote, raw, wrap_body(wrap.quote, raw))


def test_what_holds_a_nonce_is_named(desk: ApiClient) -> None:
    """No block has used it: "too low, 0 instead of 0" would contradict itself."""
    wallet = desk.wallet()
    first = desk.wrap(wallet)
    other = _at(wallet, desk.wrap(wallet, amount="0.5"), 0)
    with desk.no_blocks():
        tx_hash = data(desk.submit_wrap(first))["order"]["txHash"]
        told = refused(desk.submit_wrap(other), 400, "NONCE_TOO_LOW")
    assert (told["details"]["provided"], told["details"]["expected"]) == (0, 1)
    assert f"your open wrap {tx_hash}" in told["message"], told
