"""A failover that loses the last commits: what was signed is executed once, and is said to be."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
from eth_utils import keccak, to_hex

from tests import forked, loopback
from tests.e2e.conftest import FailingOver
from tests.spec import cancelling
from tests.spec.api_client import ApiClient, Signed
from tests.spec.wire import data, refused, sign
from tests.waiting import WITHIN_S


def _mined(desk: ApiClient, tx_hash: str) -> int:
    """Return the block number of a transaction once it has a receipt."""
    desk.until(lambda: desk.rpc("eth_getTransactionReceipt", tx_hash))
    return int(desk.rpc("eth_getTransactionReceipt", tx_hash)["blockNumber"], 16)


def _taken(desk: ApiClient, signed: Signed, post: Callable[[Signed], httpx.Response]) -> str:
    """Post until it is known to be taken, and return its hash.

    On a busy machine the store may answer later than its limit, which `--patience` does not raise:
    503 then says to post the same bytes again.
    """

    def is_taken() -> bool:
        answer = post(signed)
        late = answer.json().get("details", {}).get("reason") == "STORE_UNAVAILABLE"
        assert late or answer.status_code in (200, 409), answer.text
        return not late

    desk.until(is_taken)
    return to_hex(keccak(hexstr=signed.raw))


def _send_raw(url: str, raw: str) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
    return loopback.post(url, json=call, timeout=WITHIN_S).json()


def test_the_same_bytes_become_the_order_that_was_lost(failing_over: FailingOver) -> None:
    """A refusal would make the caller sign again: both transactions would be executed."""
    with ApiClient(failing_over.town) as desk:
        swap, wrap, target = desk.swap(desk.wallet()), desk.wrap(desk.wallet()), desk.wallet()
        wallet = desk.wallet()
        made = desk.api.post("/api/v1/mev/rpc", json={"wallets": [wallet.address]})
        url = data(made)["token"]["url"]
        by_rpc = desk.wrap(wallet)
        with desk.no_blocks():
            replaced = desk.order(target)["orderId"]
            cancel = cancelling.signed(desk, target, replaced)
            failing_over.lose_what_follows()
            posted = data(desk.submit(swap))["order"]
            wrapped = data(desk.submit_wrap(wrap))["order"]
            data(cancelling.send(desk, replaced, cancel))
            sent = _send_raw(url, by_rpc.raw)["result"]
        for tx_hash in (posted["txHash"], wrapped["txHash"], sent):
            _mined(desk, tx_hash)
        given = len(desk.given_to_relays())
        failing_over.fail_over()
        desk.until(lambda: desk.api.get("/readyz").status_code == 200)
        refused(desk.api.get(f"/api/v1/mev/orders/{posted['orderId']}"), 404, "ORDER_NOT_FOUND")

        again = data(desk.submit(swap))["order"]
        assert (again["txHash"], again["status"]) == (posted["txHash"], "submitted")
        assert again["orderId"] != posted["orderId"]
        kept = data(desk.submit_wrap(wrap))["order"]
        assert (kept["txHash"], kept["status"]) == (wrapped["txHash"], "submitted")
        assert data(cancelling.send(desk, replaced, cancel))
        assert _send_raw(url, by_rpc.raw)["result"] == sent

        told = desk.follow(again["orderId"])
        assert told["status"] == "confirmed"
        assert told["blockNumber"] == _mined(desk, posted["txHash"])
        refused(desk.submit(swap), 409, "SIGNATURE_REPLAY")
        desk.until(lambda: data(desk.submit_wrap(wrap))["order"]["status"] == "confirmed")
        assert desk.follow(replaced)["error"]["code"] == "USER_CANCELLED"
        assert len(desk.given_to_relays()) == given, "nothing is sent again"


def test_without_its_quote_the_refusal_names_the_mined_transaction(
    failing_over: FailingOver,
) -> None:
    with ApiClient(failing_over.town) as desk:
        wallet, other = desk.wallet(), desk.wallet()
        failing_over.lose_what_follows()
        swap, wrap = desk.swap(wallet), desk.wrap(other)
        tx_hash = _taken(desk, swap, desk.submit)
        block = _mined(desk, tx_hash)
        wrapped = _taken(desk, wrap, desk.submit_wrap)
        _mined(desk, wrapped)
        failing_over.fail_over()
        desk.until(lambda: desk.api.get("/readyz").status_code == 200)
        told = refused(desk.submit(swap), 409, "NONCE_TOO_LOW")
        assert (told["details"]["txHash"], told["details"]["mayBeMined"]) == (tx_hash, True)
        assert f"in block {block}, where it succeeded" in told["message"]
        assert refused(desk.submit_wrap(wrap), 400, "NONCE_TOO_LOW")["details"]["txHash"] == wrapped
        _adopted(failing_over, desk, tx_hash)
        # Other bytes that no quote has, with a nonce that is free, are refused as before.
        params = swap.quote["mevProtection"]["transactionParams"]
        fresh = {**swap.body, "signedTransaction": sign(wallet, params, nonce=7)}
        told = refused(desk.api.post("/api/v1/mev/orders", json=fresh), 422, "VALIDATION_ERROR")
        assert "the service has lost it, as by a restore" in told["suggestion"]


def _adopted(failing_over: FailingOver, desk: ApiClient, tx_hash: str) -> None:
    """Let an operator adopt a transaction: its client finds it with its receipt."""
    variables = forked.without_settings() | {
        "QUIETSWAP_SETTINGS": failing_over.town.facts["settingsFile"]
    }
    owner = data(desk.api.get("/api/v1/mev/usage"))["clientId"]
    words = ["orders", "adopt", tx_hash, "--client", owner, "--json"]
    done = forked.run(words, variables)
    assert done.returncode == 0, done.stderr
    order_id = json.loads(done.stdout)["orderId"]
    assert desk.follow(order_id)["blockNumber"] == _mined(desk, tx_hash)
    again = forked.run(words, variables)
    assert (again.returncode, f"order {order_id} has this" in again.stderr) == (1, True)


def test_a_reader_of_lost_events_is_told_so(failing_over: FailingOver) -> None:
    """Their numbers are not given to other events, which a reader would skip in silence."""
    with ApiClient(failing_over.town) as desk:
        desk.order(desk.wallet())
        with desk.no_blocks():
            failing_over.lose_what_follows()
            lost = desk.order(desk.wallet())
            place = _newest(desk)
            failing_over.fail_over()
            desk.until(lambda: desk.api.get("/readyz").status_code == 200)
            before = _stream(desk, place)
            again = desk.order(desk.wallet())
            after = _stream(desk, place)
        oldest = refused(after, 410, "EVENTS_PRUNED")["details"]["oldest"]
        assert oldest > place
        assert refused(before, 410, "EVENTS_PRUNED")["details"]["oldest"] == oldest
        events = _events(desk, oldest - 1)
        first = next(events)
        # The first order may be told about here, too, if no event did before the failover.
        orders = [first["order"]["orderId"]]
        while orders[-1] != again["orderId"]:
            orders.append(next(events)["order"]["orderId"])
        assert first["sequence"] == oldest
        assert lost["orderId"] not in orders


def _stream(desk: ApiClient, place: int) -> httpx.Response:
    return desk.api.get("/api/v1/mev/events", headers={"Last-Event-ID": str(place)})


def _events(desk: ApiClient, place: int) -> Iterator[dict[str, Any]]:
    url = f"/api/v1/mev/events?after={place}"
    with desk.town.api.stream("GET", url, headers={"X-API-Key": desk.secret}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def _newest(desk: ApiClient) -> int:
    """Return the place of a stream that begins now."""
    url = "/api/v1/mev/events"
    with desk.town.api.stream("GET", url, headers={"X-API-Key": desk.secret}) as answer:
        found = (line for line in answer.iter_lines() if line.startswith("id: "))
        return int(next(found).removeprefix("id: "))
