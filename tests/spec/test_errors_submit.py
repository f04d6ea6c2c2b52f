"""The error table's rows of the two order submits, provoked in the running service."""

from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from quietswap.sandbox.contracts.pools import WETH
from tests import loopback
from tests.spec.api_client import ETHER, SOLD, ApiClient
from tests.spec.coverage import shows
from tests.spec.wire import data, refused, sign


@shows("error: 400 INVALID_SIGNATURE", "details: INVALID_SIGNATURE", "rule: signer is the wallet")
def test_400_invalid_signature(desk: ApiClient) -> None:
    wallet, other = desk.wallet(), desk.wallet()
    swap, wrap = desk.swap(wallet), desk.wrap(wallet)
    params = swap.quote["mevProtection"]["transactionParams"]
    broken = swap.raw[:-2] + ("00" if swap.raw[-2:] != "00" else "01")
    for raw in ("0x", "0x1234", "hello", swap.raw + "00", broken, sign(other, params)):
        answer = desk.submit(swap, signedTransaction=raw)
        assert refused(answer, 400, "INVALID_SIGNATURE")["details"]["reason"]
    foreign = sign(other, wrap.quote["mevProtection"]["transactionParams"], nonce=0)
    for raw in ("0x", wrap.raw + "00", foreign):
        answer = desk.submit_wrap(wrap, signedTransaction=raw)
        assert refused(answer, 400, "INVALID_SIGNATURE")["details"]["reason"]


def test_every_door_names_the_wallet_that_altered_bytes_recover(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap, wrap = desk.swap(wallet), desk.wrap(wallet)
    other = desk.swap(wallet, sellAmount=str(2 * SOLD)).quote["mevProtection"]["transactionParams"]
    with desk.no_blocks():
        order = desk.order(desk.wallet())["orderId"]
        altered = _altered(swap.raw, other)
        signer = Account.recover_transaction(altered)
        unnamed = {name: value for name, value in wrap.body.items() if name != "quoteId"}
        cancel = {"signedTransaction": altered, "providerMetadata": {}}
        answers = [
            desk.submit(swap, signedTransaction=altered),
            desk.submit_wrap(wrap, signedTransaction=altered),
            desk.api.post("/api/v1/mev/wrap/order", json=unnamed | {"signedTransaction": altered}),
            desk.api.post(f"/api/v1/mev/orders/{order}/cancel", json=cancel),
        ]
    said = [answer.json()["message"] for answer in answers]
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [altered]}
    url = desk.town.facts["walletRpcUrl"]
    said.append(loopback.post(url, json=rpc).json()["error"]["message"])
    for message in said:
        assert f"the signature recovers {signer} (altered bytes recover an address" in message
    wanted = ["userAddress", "the wallet of the quote", "", "the order's wallet", "a wallet of"]
    assert all(word in message for word, message in zip(wanted, said, strict=True))


def _altered(raw: str, params: dict[str, Any]) -> str:
    """Return signed bytes with the calldata of another quote, and the old signature."""
    fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    fields = {**fields, "data": params["data"], "accessList": []}
    return "0x" + TypedTransaction.from_dict(fields).encode().hex()


@shows("error: 400 INSUFFICIENT_ALLOWANCE", "details: INSUFFICIENT_ALLOWANCE")
def test_400_insufficient_allowance(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    desk.approve(wallet, swap.quote, SOLD - 1)
    assert refused(desk.submit(swap), 400, "INSUFFICIENT_ALLOWANCE")["details"] == {
        "token": WETH.address,
        "router": swap.quote["dexRoute"]["target"],
        "required": str(SOLD),
        "current": str(SOLD - 1),
    }


@shows("error: 400 INSUFFICIENT_BALANCE", "details: INSUFFICIENT_BALANCE")
def test_400_insufficient_balance_of_a_token(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    desk.give(wallet, WETH, SOLD - 1)
    details = refused(desk.submit(swap), 400, "INSUFFICIENT_BALANCE")["details"]
    assert (details["required"], details["available"]) == (str(SOLD), str(SOLD - 1))


@shows("error: 400 INSUFFICIENT_BALANCE", "details: INSUFFICIENT_BALANCE")
def test_400_insufficient_balance_of_eth(desk: ApiClient) -> None:
    wallet = desk.wallet(ether=1)
    wrap = desk.wrap(wallet)
    details = refused(desk.submit_wrap(wrap), 400, "INSUFFICIENT_BALANCE")["details"]
    params = wrap.quote["mevProtection"]["transactionParams"]
    most = 3 * ETHER // 2 + int(params["gasLimit"]) * int(params["maxFeePerGas"])
    assert (details["required"], details["available"]) == (str(most), str(ETHER))


@shows("error: 400 DEADLINE_EXPIRED")
def test_400_deadline_expired(desk: ApiClient) -> None:
    swap = desk.swap(desk.wallet())
    params = swap.body["orderParams"] | {"deadline": 1_700_000_000}
    refused(desk.submit(swap, orderParams=params), 400, "DEADLINE_EXPIRED")


@shows("error: 400 NONCE_TOO_LOW", "details: NONCE_TOO_LOW")
def test_400_nonce_too_low_on_the_wrap_order(desk: ApiClient) -> None:
    wallet = desk.wallet()
    wrap = desk.wrap(wallet)
    desk.use_nonce(wallet, 0)
    details = refused(desk.submit_wrap(wrap), 400, "NONCE_TOO_LOW")["details"]
    assert details == {"provided": 0, "expected": 1}


@shows("error: 409 NONCE_TOO_LOW", "details: NONCE_TOO_LOW")
def test_409_nonce_too_low_on_the_swap_order(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap = desk.swap(wallet)
    desk.use_nonce(wallet, 0)
    details = refused(desk.submit(swap), 409, "NONCE_TOO_LOW")["details"]
    assert details == {"provided": 0, "expected": 1}


@shows("error: 400 INVALID_TRANSACTION")
@pytest.mark.parametrize("change", [{"chainId": 5}, {"gas": 2**25}, {"type": 0}])
def test_400_invalid_transaction(desk: ApiClient, change: dict[str, int]) -> None:
    wallet = desk.wallet()
    wrap = desk.wrap(wallet)
    params = wrap.quote["mevProtection"]["transactionParams"]
    is_old = change == {"type": 0}
    raw = legacy(wallet, params) if is_old else sign(wallet, params, nonce=0, **change)
    answer = desk.submit_wrap(wrap, signedTransaction=raw)
    assert refused(answer, 400, "INVALID_TRANSACTION")["details"]["reason"]


def test_a_wrap_leaves_no_nonce_gap(desk: ApiClient) -> None:
    wallet = desk.wallet()
    wrap = desk.wrap(wallet)
    params = wrap.quote["mevProtection"]["transactionParams"]

    def post(nonce: int) -> httpx.Response:
        return desk.submit_wrap(wrap, signedTransaction=sign(wallet, params, nonce=nonce))

    def details(nonce: int) -> tuple[str, str]:
        told = refused(post(nonce), 400, "INVALID_TRANSACTION")["details"]
        return told["field"], told["reason"]

    for nonce in (1, 5, 10**9, 2**63):
        text = f"nonce {nonce} leaves a gap: the wallet's next free nonce is 0"
        assert details(nonce) == ("nonce", text)
    with desk.no_blocks():
        data(post(0))
        text = "nonce 2 leaves a gap: the wallet's next free nonce is 1"
        assert details(2) == ("nonce", text)
        data(post(1))


def legacy(wallet: object, params: dict[str, str]) -> str:
    """Return the same transaction in the form from before EIP-2718."""
    fields = {
        "nonce": 0,
        "to": params["to"],
        "data": params["data"],
        "value": int(params["value"]),
        "gas": int(params["gasLimit"]),
        "gasPrice": int(params["maxFeePerGas"]),
        "chainId": 1,
    }
    signed = wallet.sign_transaction(fields)  # type: ignore[attr-defined]
    return "0x" + bytes(signed.raw_transaction).hex()


@shows("error: 409 SIGNATURE_REPLAY")
def test_409_signature_replay(desk: ApiClient) -> None:
    swap = desk.swap(desk.wallet())
    first = desk.submit(swap)
    told = refused(desk.submit(swap), 409, "SIGNATURE_REPLAY")
    assert told["details"]["orderId"] == first.json()["data"]["order"]["orderId"]


@shows("error: 422 VALIDATION_ERROR", "rule: metadata unchanged")
def test_422_validation_error(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap, wrap = desk.swap(wallet), desk.wrap(wallet)
    params = swap.body["orderParams"] | {"minReturnAmount": "1"}
    details = refused(desk.submit(swap, orderParams=params), 422, "VALIDATION_ERROR")["details"]
    assert [fault["field"] for fault in details["fields"]] == ["orderParams.minReturnAmount"]
    metadata = wrap.body["providerMetadata"] | {"tier": 4}
    answer = desk.submit_wrap(wrap, providerMetadata=metadata)
    details = refused(answer, 422, "VALIDATION_ERROR")["details"]
    assert details["fields"] == [{"field": "providerMetadata.tier", "expected": 2, "provided": 4}]


@shows("error: 503 PROVIDER_UNAVAILABLE")
def test_503_provider_unavailable(desk: ApiClient) -> None:
    wallet = desk.wallet()
    swap, wrap = desk.swap(wallet), desk.wrap(wallet)
    with desk.fault("down", "relay"):
        refused(desk.submit(swap), 503, "PROVIDER_UNAVAILABLE")
        refused(desk.submit_wrap(wrap), 503, "PROVIDER_UNAVAILABLE")
