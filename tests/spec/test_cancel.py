"""Cancelling an order: the race both ways, replays, and everything that is refused."""

from typing import Any

import pytest

from tests.e2e.conftest import running_town
from tests.spec import cancelling
from tests.spec.api_client import TERMINAL, ApiClient, give_to_backup
from tests.spec.cancelling import cancel, send, signed
from tests.spec.wire import refused


def balances(desk: ApiClient, wallet: Any) -> tuple[int, int]:
    """Return the wallet's WETH and USDC."""
    return tuple(desk.held(wallet, name) for name in ("WETH", "USDC"))  # type: ignore[return-value]


def test_a_cancel_that_is_mined_first_ends_the_order_as_user_cancelled(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        before = balances(desk, wallet)
        order = desk.order(wallet)
        taken = cancel(desk, wallet, order["orderId"])
        assert taken["order"] == {"orderId": order["orderId"], "status": "submitted"}
        assert taken["cancel"]["status"] == "submitted"
    seen = desk.follow(order["orderId"])
    assert (seen["status"], seen["error"]["code"]) == ("cancelled", "USER_CANCELLED")
    mined = desk.follow(taken["cancel"]["orderId"])
    assert (mined["status"], mined["txHash"]) == ("confirmed", taken["cancel"]["txHash"])
    assert mined["gasUsed"] == "21000"
    assert balances(desk, wallet) == before
    assert desk.rpc("eth_getTransactionReceipt", order["txHash"]) is None
    assert desk.town.control.get("/mempool-leaks").json() == {"leaks": []}


def test_a_swap_that_wins_the_race_is_confirmed_and_the_cancel_says_so() -> None:
    with (
        running_town("--block-time", "0.5") as town,
        ApiClient(town) as desk,
    ):  # it leaks on purpose
        wallet = desk.wallet()
        with desk.fault("withhold", "relay"):
            swap = desk.swap(wallet)
            order = desk.submit(swap).json()["data"]["order"]
            taken = cancel(desk, wallet, order["orderId"])
            give_to_backup(town.facts["settingsFile"], swap.raw)  # it lets it win
            seen = desk.follow(order["orderId"])
            lost = desk.follow(taken["cancel"]["orderId"])
    assert seen["status"] == "confirmed"
    assert (lost["status"], lost["error"]["code"]) == ("cancelled", "REPLACED")
    assert order["txHash"] in lost["error"]["message"]


def test_a_cancel_after_the_swap_was_mined_is_too_late(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        late = signed(desk, wallet, order["orderId"])
        desk.mine()
        desk.until(lambda: desk.rpc("eth_getTransactionReceipt", order["txHash"]))
        answer = send(desk, order["orderId"], late)
        details = refused(answer, 409, "NONCE_TOO_LOW")["details"]
        assert (details["provided"], details["expected"]) == (0, 1)
    assert desk.follow(order["orderId"])["status"] == "confirmed"
    for body in ({}, late.body):
        ended = desk.api.post(cancelling.path(order["orderId"]), json=body)
        details = refused(ended, 422, "VALIDATION_ERROR")["details"]
        assert details["reason"] == "ORDER_ENDED"
        assert details["fields"][0]["provided"] == "confirmed"


def test_the_same_bytes_are_one_cancel_before_and_after_the_end(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        one = signed(desk, wallet, order["orderId"])
        answers = [send(desk, order["orderId"], one).json()["data"] for _ in range(3)]
        assert len({answer["cancel"]["orderId"] for answer in answers}) == 1
    desk.follow(order["orderId"])
    again = send(desk, order["orderId"], one)
    assert again.status_code == 200
    assert again.json()["data"]["order"]["status"] == "cancelled"
    assert desk.history(wallet)["total"] == 1


def test_a_live_cancel_holds_its_nonce_once(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        cancel(desk, wallet, order["orderId"])
        quote = desk.quote(wallet)
        assert quote["mevProtection"]["transactionParams"]["nonce"] == 1
    desk.follow(order["orderId"])
    assert desk.quote(wallet)["mevProtection"]["transactionParams"]["nonce"] == 1


def test_the_issued_transaction_is_an_empty_self_transfer_with_more_fee(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        swap = desk.swap(wallet)
        order = desk.submit(swap).json()["data"]["order"]
        params = signed(desk, wallet, order["orderId"]).issued["transactionParams"]
        old = swap.quote["mevProtection"]["transactionParams"]
        assert params | {"maxFeePerGas": "", "nonce": 0} == {
            "to": wallet.address,
            "data": "0x",
            "value": "0",
            "gasLimit": "21000",
            "maxFeePerGas": "",
            "maxPriorityFeePerGas": "0",
            "nonce": 0,
            "chainId": 1,
            "type": 2,
        }
        assert params["nonce"] == old["nonce"]
        assert int(params["maxFeePerGas"]) * 8 >= int(old["maxFeePerGas"]) * 9


@pytest.mark.parametrize(
    ("change", "field"),
    [({"nonce": 1}, "nonce"), ({"value": 1}, "value"), ({"data": "0x00", "gas": 30_000}, "data")],
)
def test_another_transaction_is_refused_by_field(
    desk: ApiClient, change: dict[str, Any], field: str
) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        changed = signed(desk, wallet, order["orderId"], **change)
        details = refused(send(desk, order["orderId"], changed), 422, "VALIDATION_ERROR")["details"]
        assert f"transaction.{field}" in [fault["field"] for fault in details["fields"]]
    assert desk.follow(order["orderId"])["status"] == "confirmed"


def test_another_wallets_signature_is_refused(desk: ApiClient) -> None:
    wallet, thief = desk.wallet(), desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        stolen = signed(desk, thief, order["orderId"])
        refused(send(desk, order["orderId"], stolen), 400, "INVALID_SIGNATURE")
    assert desk.follow(order["orderId"])["status"] == "confirmed"


def test_another_keys_order_does_not_exist(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        one = signed(desk, wallet, order["orderId"])
        other = desk.another()
        for body in ({}, one.body):
            answer = other.post(cancelling.path(order["orderId"]), json=body)
            refused(answer, 404, "ORDER_NOT_FOUND")


def test_a_cancel_is_not_cancelled_but_may_be_outbid(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        first = cancel(desk, wallet, order["orderId"])
        answer = cancelling.ask(desk, first["cancel"]["orderId"])
        assert refused(answer, 422, "VALIDATION_ERROR")["details"]["reason"] == "NOT_CANCELLABLE"
        second = cancel(desk, wallet, order["orderId"])
        assert second["cancel"]["orderId"] != first["cancel"]["orderId"]
    assert desk.follow(order["orderId"])["error"]["code"] == "USER_CANCELLED"
    ends = [desk.follow(one["cancel"]["orderId"])["status"] for one in (first, second)]
    assert sorted(ends) == ["cancelled", "confirmed"]


def test_a_lost_answer_still_cancels(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        with desk.fault("answer_lost", "relay"):
            taken = cancel(desk, wallet, order["orderId"])
            assert taken["cancel"]["status"] == "pending"
    assert desk.follow(order["orderId"])["error"]["code"] == "USER_CANCELLED"


def test_a_relay_that_lost_the_cancel_gets_it_again(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        with desk.fault("lose", "relay"):
            cancel(desk, wallet, order["orderId"])
    assert desk.follow(order["orderId"])["error"]["code"] == "USER_CANCELLED"


def test_a_relay_that_refuses_the_cancel_leaves_the_order_alive(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        one = signed(desk, wallet, order["orderId"])
        with desk.fault("refuse:transaction type not supported", "relay"):
            details = refused(send(desk, order["orderId"], one), 422, "VALIDATION_ERROR")["details"]
        assert (details["reason"], details["mayBeMined"]) == ("REFUSED", True)
        assert desk.status(order["orderId"])["status"] not in TERMINAL
        assert send(desk, order["orderId"], one).status_code == 200  # the same bytes, once more
    assert desk.follow(order["orderId"])["error"]["code"] == "USER_CANCELLED"


def test_a_relay_that_is_away_cancels_nothing(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with desk.no_blocks():
        order = desk.order(wallet)
        one = signed(desk, wallet, order["orderId"])
        with desk.fault("down", "relay"):
            answer = send(desk, order["orderId"], one)
            assert refused(answer, 503, "PROVIDER_UNAVAILABLE")["details"]["reason"] == "NOT_SENT"
    assert desk.follow(order["orderId"])["status"] == "confirmed"
