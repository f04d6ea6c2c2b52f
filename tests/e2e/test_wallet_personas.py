"""What wallets do with an RPC URL: each habit that docs/wallets.md names, against the sandbox.

The wallets were read in their sources and are played here; none of them runs.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Town
from tests.e2e.wallets import GWEI, Refused, RpcWallet, approval, deposit, faster, quoted
from tests.spec.api_client import ETHER, SOLD, ApiClient


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found
    leaks = town.control.get("/mempool-leaks").json()["leaks"]
    assert leaks == []


def test_a_wallet_that_keeps_the_fields_of_the_dapp(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    desk.approve(wallet.account, quote)
    tx_hash = wallet.send(quoted(quote))
    assert wallet.mined(tx_hash)["status"] == "0x1"
    assert wallet.decided(tx_hash) == "confirmed"
    assert desk.held(wallet.account, "WETH") == 1000 * ETHER - SOLD


def test_a_wallet_that_replaces_gas_fees_and_nonce(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    approve = wallet.send(wallet.filled(approval(quote)))
    assert wallet.mined(approve)["status"] == "0x1"
    quote = wallet.quote()
    own = wallet.filled({name: quoted(quote)[name] for name in ("to", "data", "value")})
    assert own["maxPriorityFeePerGas"] > 0
    assert own["gas"] != quoted(quote)["gas"]
    tx_hash = wallet.send(own)
    assert wallet.mined(tx_hash)["status"] == "0x1"
    assert wallet.decided(tx_hash) == "confirmed"
    assert wallet.decided(approve, "approval") == "confirmed"
    [approved] = wallet.orders("approval")
    assert approved["summary"]["sellAmount"] == quote["sellAmount"]


def test_a_wallet_that_broadcasts_again_and_again(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    raw = wallet.sign(deposit(ETHER, 0))
    with desk.no_blocks():
        hashes = {wallet.call("eth_sendRawTransaction", raw) for _ in range(20)}
        assert len(hashes) == 1
        assert len(wallet.orders("wrap")) == 1
    [tx_hash] = hashes
    assert wallet.mined(tx_hash)["status"] == "0x1"
    assert wallet.call("eth_sendRawTransaction", raw) == tx_hash
    assert wallet.decided(tx_hash, "wrap") == "confirmed"
    assert wallet.call("eth_sendRawTransaction", raw) == tx_hash
    assert len(wallet.orders("wrap")) == 1


def test_a_wallet_that_polls_and_gives_up_on_null(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    with desk.no_blocks():
        tx_hash = wallet.send(deposit(ETHER, 0))
        shown = wallet.call("eth_getTransactionByHash", tx_hash)
        assert (shown["hash"], shown["blockNumber"], shown["blockHash"]) == (tx_hash, None, None)
        assert (shown["from"], shown["nonce"]) == (wallet.account.address.lower(), "0x0")
        assert wallet.call("eth_getTransactionReceipt", tx_hash) is None
        assert (wallet.nonce("latest"), wallet.nonce("pending")) == (0, 1)
    wallet.mined(tx_hash)
    shown = wallet.call("eth_getTransactionByHash", tx_hash)
    assert int(shown["blockNumber"], 16) > 0
    assert wallet.nonce("latest") == 1


def test_another_url_does_not_see_the_pending_transaction(desk: ApiClient) -> None:
    wallet, stranger = RpcWallet.of(desk), RpcWallet.of(desk)
    with desk.no_blocks():
        tx_hash = wallet.send(deposit(ETHER, 0))
        assert stranger.call("eth_getTransactionByHash", tx_hash) is None
        count = stranger.call("eth_getTransactionCount", wallet.account.address, "pending")
        assert count == "0x0"
        with pytest.raises(Refused, match=r"not sent anywhere: .*, not a wallet of this RPC URL"):
            stranger.call("eth_sendRawTransaction", wallet.sign(deposit(ETHER, 1)))


def test_a_wallet_that_sends_approval_and_swap_at_once_waits_for_the_first(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    with desk.no_blocks():
        approve = wallet.send(wallet.filled(approval(quote)))
        with pytest.raises(Refused) as early:
            wallet.send(quoted(quote) | {"nonce": 1})
        assert (early.value.code, early.value.data["code"]) == (-32003, "INSUFFICIENT_ALLOWANCE")
        desk.mine()
        swap = wallet.send(quoted(quote) | {"nonce": 1})
    assert wallet.mined(approve)["status"] == wallet.mined(swap)["status"] == "0x1"
    assert wallet.decided(swap) == "confirmed"


def test_a_wallet_that_speeds_up(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    desk.approve(wallet.account, quote)
    slow = quoted(quote) | {"maxPriorityFeePerGas": GWEI, "maxFeePerGas": 50 * GWEI}
    with desk.no_blocks():
        first, second = wallet.send(slow), wallet.send(faster(slow))
    assert wallet.mined(second)["status"] == "0x1"
    assert wallet.decided(second) == "confirmed"
    assert wallet.decided(first) == "cancelled"
    assert wallet.call("eth_getTransactionByHash", first) is None
    assert desk.held(wallet.account, "WETH") == 1000 * ETHER - SOLD


@pytest.mark.parametrize("kind", ["swap", "wrap", "approval"])
def test_a_wallet_that_cancels(desk: ApiClient, kind: str) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    desk.approve(wallet.account, quote)
    plain = {"gas": 80_000, "maxFeePerGas": 50 * GWEI, "maxPriorityFeePerGas": GWEI, "nonce": 0}
    fields = {
        "swap": quoted(quote) | {"maxFeePerGas": 50 * GWEI, "maxPriorityFeePerGas": GWEI},
        "wrap": deposit(ETHER) | plain,
        "approval": approval(quote) | plain,
    }[kind]
    before = desk.held(wallet.account, "WETH")
    with desk.no_blocks():
        first = wallet.send(fields)
        empty = {"to": wallet.account.address, "gas": 21_000}
        fees = {name: fields[name] for name in ("maxFeePerGas", "maxPriorityFeePerGas", "nonce")}
        cancel = wallet.send(faster(empty | fees))
    assert wallet.mined(cancel)["status"] == "0x1"
    assert wallet.decided(first, kind) == "cancelled"
    assert wallet.decided(cancel, "cancel") == "confirmed"
    assert desk.held(wallet.account, "WETH") == before


def test_a_private_url_takes_everything_and_leaks_nothing(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk, "private")
    gift = {"to": desk.wallet(tokens=0).address, "value": 10**15}
    tx_hash = wallet.send(wallet.filled(gift))
    assert wallet.mined(tx_hash)["status"] == "0x1"
    assert wallet.decided(tx_hash, "transaction") == "confirmed"
    [order] = wallet.orders("transaction")
    assert order["summary"]["sellAmount"] == str(10**15)


def test_what_the_service_did_not_offer_is_not_sent_anywhere(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    quote = wallet.quote()
    thief = desk.wallet(tokens=0).address
    own = {"gas": 100_000, "maxFeePerGas": 50 * GWEI, "maxPriorityFeePerGas": 0, "nonce": 0}
    for fields in (
        approval(quote, spender=thief),
        approval(quote, amount=int(quote["sellAmount"]) + 1),
        approval(quote, amount=2**256 - 1),
        {"to": thief, "value": ETHER},
        {
            "to": quote["sellToken"],
            "data": "0xa9059cbb" + thief[2:].rjust(64, "0") + f"{ETHER:064x}",
        },
    ):
        with pytest.raises(Refused) as refusal:
            wallet.send(fields | own)
        assert refusal.value.code == -32003
        assert refusal.value.message.startswith("not sent anywhere: ")
        assert refusal.value.data["details"]["reason"] == "NO_MATCH"
    assert wallet.nonce() == 0
    assert all(not wallet.orders(kind) for kind in ("swap", "wrap", "approval", "transaction"))
