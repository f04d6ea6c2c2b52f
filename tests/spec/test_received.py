"""What arrived, what it cost and what was refunded, as a client and an accountant see it."""

import csv
import io
from typing import Any

from eth_account.signers.local import LocalAccount

from quietswap.rules.amounts import difference_bps
from quietswap.rules.tokens.token import NATIVE
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data

MILLI = ETHER // 1000


def ether(desk: ApiClient, account: LocalAccount) -> int:
    return int(desk.rpc("eth_getBalance", account.address, "latest"), 16)


def export(desk: ApiClient, account: LocalAccount, **query: str) -> list[dict[str, Any]]:
    """Return the export of a wallet as JSON."""
    path = f"/api/v1/mev/orders/user/{account.address}/export"
    answer = desk.api.get(path, params={"format": "json"} | query)
    assert answer.status_code == 200
    rows: list[dict[str, Any]] = answer.json()
    return rows


def mined(desk: ApiClient, account: LocalAccount, count: int) -> list[dict[str, Any]]:
    """Return the export of a wallet once so many of its orders are confirmed."""
    desk.until(lambda: [row["status"] for row in export(desk, account)] == ["confirmed"] * count)
    return export(desk, account)


def test_a_swap_tells_exactly_what_the_wallet_received(desk: ApiClient) -> None:
    wallet = desk.wallet()
    held, wei = desk.held(wallet, "USDC"), ether(desk, wallet)
    signed = desk.swap(wallet)
    order = data(desk.submit(signed))["order"]
    assert {"received", "feePaidWei", "delivered", "refund"}.isdisjoint(order)
    found = desk.follow(order["orderId"], "confirmed")
    gained, paid = desk.held(wallet, "USDC") - held, wei - ether(desk, wallet)
    quote = signed.quote
    assert found["received"] == {"token": quote["buyToken"], "amount": str(gained)}
    assert found["feePaidWei"] == str(paid)
    assert found["delivered"] == {
        "toPromiseBps": difference_bps(gained, int(quote["buyAmount"])),
        "toMinimumBps": difference_bps(gained, int(quote["minBuyAmount"])),
    }
    assert found["delivered"]["toMinimumBps"] >= 0
    assert found["refund"] == {"status": "none", "amountWei": "0"}
    reference = found["reference"]
    assert reference["blockNumber"] == found["blockNumber"] - 1
    assert reference["receivedBps"] == difference_bps(gained, int(reference["amount"]))
    assert -200 < reference["receivedBps"] < 100
    assert reference["valueWei"] == found["orderParams"]["amount"], "WETH is worth its amount"

    [row] = export(desk, wallet)
    assert (row["receivedAmount"], row["feePaidWei"]) == (str(gained), str(paid))
    assert row["toReferenceBps"] == reference["receivedBps"]
    assert (row["buySymbol"], row["sellAmountWhole"]) == ("USDC", "0.1")
    assert (row["source"], row["txHash"]) == (quote["source"], order["txHash"])
    assert (row["createdAt"], row["minedAt"]) == (found["createdAt"], found["confirmedAt"])
    answer = desk.api.get(f"/api/v1/mev/orders/user/{wallet.address}/export")
    [line] = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert line == {name: "" if value is None else str(value) for name, value in row.items()}
    assert export(desk, wallet, to=row["createdAt"]) == []
    assert export(desk, wallet, **{"from": row["createdAt"]}) == [row]
    assert export(desk, desk.wallet()) == []
    foreign = desk.another().get(f"/api/v1/mev/orders/user/{wallet.address}/export?format=json")
    assert foreign.json() == []


def test_a_wrap_and_an_unwrap_are_in_the_export_with_what_arrived(desk: ApiClient) -> None:
    wallet = desk.wallet()
    data(desk.submit_wrap(desk.wrap(wallet)))
    [wrap] = mined(desk, wallet, 1)
    assert (wrap["kind"], wrap["sellToken"], wrap["buySymbol"]) == ("wrap", NATIVE, "WETH")
    assert wrap["receivedAmount"] == str(3 * ETHER // 2)
    wei = ether(desk, wallet)
    data(desk.submit_wrap(desk.wrap(wallet, operation="unwrap", amount="1.25")))
    unwrap = mined(desk, wallet, 2)[1]
    assert (unwrap["buyToken"], unwrap["buySymbol"]) == (NATIVE, "ETH")
    assert unwrap["receivedAmount"] == str(5 * ETHER // 4)
    assert unwrap["receivedWhole"] == "1.25"
    assert ether(desk, wallet) - wei == 5 * ETHER // 4 - int(unwrap["feePaidWei"])
    assert (unwrap["toPromiseBps"], unwrap["source"]) == (0, None)


def test_a_refund_is_paid_only_if_the_chain_shows_it(desk: ApiClient) -> None:
    seen = {}
    for fault in ("refund", "false_refund"):
        wallet = desk.wallet()
        wei = ether(desk, wallet)
        with desk.fault(f"{fault}:0.014", "relay"):
            order = desk.order(wallet)
            desk.until(
                lambda order=order: (  # type: ignore[misc]
                    desk.status(order["orderId"]).get("refund", {}).get("status", "none") != "none"
                )
            )
        found = desk.status(order["orderId"])
        seen[fault] = found["refund"]
        came = ether(desk, wallet) - wei + int(found["feePaidWei"])
        assert came == (14 * MILLI if fault == "refund" else 0)
    assert seen["false_refund"] == {"status": "reported", "amountWei": str(14 * MILLI)}
    paid = seen["refund"]
    assert (paid["status"], paid["amountWei"]) == ("paid", str(14 * MILLI))
    payment = desk.rpc("eth_getTransactionByHash", paid["txHash"])
    assert int(payment["value"], 16) == 14 * MILLI


def test_statistics_are_of_the_own_orders(desk: ApiClient) -> None:
    found = data(desk.api.get("/api/v1/mev/stats"))
    assert (found["orders"], found["sources"], found["relays"]) == (0, [], [])
    wallet = desk.wallet()
    order = desk.order(wallet)
    desk.follow(order["orderId"], "confirmed")
    # an answer is kept for ten seconds, per window
    found = data(desk.api.get("/api/v1/mev/stats", params={"days": 1}))
    assert (found["orders"], found["complete"]) == (1, True)
    [source], [relay] = found["sources"], found["relays"]
    assert relay["name"] == order["provider"]
    for group in (source, relay):
        assert (group["orders"], group["confirmed"], group["confirmedBps"]) == (1, 1, 10_000)
        assert group["inclusionBlocks"]["count"] == group["deliveredBps"]["count"] == 1
    metrics = desk.town.api.get("/metrics").text
    assert f'quietswap_order_delivered_bps_bucket{{le="+Inf",source="{source["name"]}"}}' in metrics
    assert "quietswap_order_inclusion_blocks_bucket" in metrics
