"""Approve and swap in one transaction of a delegated wallet, on the whole service."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from eth_account.signers.local import LocalAccount

from quietswap.cli import command
from quietswap.client import QuietswapClient, SwapRequest
from quietswap.client.errors import QuoteDeclined
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts.addresses import CALIBUR
from quietswap.sandbox.contracts.pools import USDC, USDT, WETH, SandboxToken
from tests.batches import STRANGER, Batch, delegated, wrong_batches
from tests.e2e.conftest import Town
from tests.e2e.wallets import Refused, RpcWallet
from tests.spec import cancelling
from tests.spec.api_client import SOLD, ApiClient, Signed
from tests.spec.wire import data, order_body, refused, sign

pytestmark = pytest.mark.timeout(400)
TOPIC = "0x" + keccak256(b"Approval(address,address,uint256)").hex()
USDT_SOLD = {"sellToken": USDT.address, "buyToken": WETH.address, "sellAmount": str(100 * 10**6)}


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


def wallet_of(desk: ApiClient, delegate: str = CALIBUR) -> LocalAccount:
    wallet = desk.wallet()
    desk.rpc("anvil_setCode", wallet.address, delegated(delegate))
    return wallet


def signed_batch(wallet: LocalAccount, quote: dict[str, Any], **changes: Any) -> Signed:
    raw = sign(wallet, quote["batch"]["transactionParams"], **changes)
    return Signed(quote, raw, order_body(wallet, quote, raw, 50))


def allowance(desk: ApiClient, wallet: LocalAccount, token: SandboxToken, spender: str) -> int:
    words = wallet.address[2:].rjust(64, "0") + spender[2:].rjust(64, "0")
    call = {"to": token.address, "data": "0xdd62ed3e" + words}
    return int(desk.rpc("eth_call", call, "latest"), 16)


def count(desk: ApiClient, wallet: LocalAccount) -> int:
    return int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16)


def require_one_transaction(
    desk: ApiClient, wallet: LocalAccount, quote: dict[str, Any], tx_hash: str, token: SandboxToken
) -> None:
    """The approval is exact, nothing of it is left, and one nonce was used."""
    receipt = desk.rpc("eth_getTransactionReceipt", tx_hash)
    assert (receipt["status"], receipt["to"]) == ("0x1", wallet.address.lower())
    router = quote["dexRoute"]["target"]
    granted = [
        int(log["data"], 16)
        for log in receipt["logs"]
        if log["topics"][0] == TOPIC and log["address"] == token.address.lower()
    ]
    assert granted[0] == int(quote["sellAmount"])
    assert allowance(desk, wallet, token, router) == 0
    assert count(desk, wallet) == 1


@pytest.mark.parametrize(
    ("token", "bought", "changes"),
    [(WETH, USDC, {}), (USDT, WETH, USDT_SOLD)],
    ids=["WETH", "USDT"],
)
def test_one_transaction_approves_and_swaps(
    desk: ApiClient, token: SandboxToken, bought: SandboxToken, changes: dict[str, str]
) -> None:
    wallet = wallet_of(desk)
    quote = desk.quote(wallet, **changes)
    assert quote["issues"]["allowance"]["actual"] == "0"
    batch, held = quote["batch"], desk.held(wallet, token.symbol)
    assert (batch["delegate"], batch["reason"]) == (CALIBUR, None)
    assert batch["estimatedGas"] < int(batch["transactionParams"]["gasLimit"])
    order = data(desk.submit(signed_batch(wallet, quote)))["order"]
    end = desk.follow(order["orderId"])
    assert (end["status"], end["kind"]) == ("confirmed", "swap")
    assert end.get("executableUntil") == quote["executableUntil"]
    assert int(end["received"]["amount"]) >= int(quote["minBuyAmount"])
    assert desk.held(wallet, token.symbol) == held - int(quote["sellAmount"])
    assert desk.held(wallet, bought.symbol) == bought.units(1000) + int(end["received"]["amount"])
    require_one_transaction(desk, wallet, quote, order["txHash"], token)


def test_a_plain_wallet_is_told_nothing_of_it(desk: ApiClient) -> None:
    assert desk.quote(desk.wallet())["batch"] is None


@pytest.mark.parametrize(("amount", "changes"), [(1, USDT_SOLD), (1, {}), (2**255, {})])
def test_an_allowance_that_is_not_zero_is_refused(
    desk: ApiClient, amount: int, changes: dict[str, str]
) -> None:
    wallet = wallet_of(desk)
    before = desk.quote(wallet, **changes)
    desk.approve(wallet, before, amount)
    batch = desk.quote(wallet, **changes)["batch"]
    assert batch["transactionParams"] is None
    assert f"allowance is {amount}" in batch["reason"]
    body = refused(desk.submit(signed_batch(wallet, before)), 422, "VALIDATION_ERROR")
    assert body["details"]["reason"] == "BATCH_REFUSED"


def test_code_that_was_not_read_is_refused(desk: ApiClient) -> None:
    """It may even be the same code: what it is at its address is what was read."""
    wallet = wallet_of(desk)
    before = desk.quote(wallet)
    desk.rpc("anvil_setCode", STRANGER, desk.rpc("eth_getCode", CALIBUR, "latest"))
    desk.rpc("anvil_setCode", wallet.address, delegated(STRANGER))
    batch = desk.quote(wallet)["batch"]
    assert (batch["delegate"], batch["transactionParams"]) == (STRANGER, None)
    assert "was not read" in batch["reason"]
    body = refused(desk.submit(signed_batch(wallet, before)), 422, "VALIDATION_ERROR")
    assert body["details"]["reason"] == "BATCH_REFUSED"


def test_an_open_transaction_before_it_is_refused(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    with desk.no_blocks():
        first = desk.quote(wallet)
        data(desk.submit(signed_batch(wallet, first)))
        batch = desk.quote(wallet)["batch"]
        assert batch["transactionParams"] is None
        assert "not mined yet" in batch["reason"]


def test_one_form_of_a_quote_is_open_at_a_time(desk: ApiClient) -> None:
    """The plain form would need an approval, which nothing advises here."""
    wallet = wallet_of(desk)
    with desk.no_blocks():
        quote = desk.quote(wallet)
        first = data(desk.submit(signed_batch(wallet, quote)))["order"]
        raw = sign(wallet, quote["mevProtection"]["transactionParams"])
        plain = Signed(quote, raw, order_body(wallet, quote, raw, 50))
        body = refused(desk.submit(plain), 422, "VALIDATION_ERROR")
        assert body["details"]["reason"] == "QUOTE_USED"
        assert body["details"]["orderId"] == first["orderId"]
        assert [o["orderId"] for o in desk.history(wallet)["orders"]] == [first["orderId"]]
    assert desk.follow(first["orderId"])["status"] == "confirmed"


def test_wrong_batches_are_refused_by_the_running_service(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    quote = desk.quote(wallet)
    route = quote["dexRoute"]
    swap = bytes.fromhex(route["data"][2:])
    good = Batch(wallet.address, WETH.address, route["target"], SOLD, swap)
    assert quote["batch"]["transactionParams"]["data"] == "0x" + good.data.hex()
    for wrong in wrong_batches(good)[::12]:
        body = refused(
            desk.submit(signed_batch(wallet, quote, **wrong.fields)), 422, "VALIDATION_ERROR"
        )
        assert body["details"]["reason"] == "MISMATCH", wrong.name
    assert count(desk, wallet) == 0


def test_a_batch_is_cancelled(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    with desk.no_blocks():
        quote = desk.quote(wallet)
        order_id = data(desk.submit(signed_batch(wallet, quote)))["order"]["orderId"]
        desk.give(wallet, WETH, 0)  # so that no relay includes it
    taken = cancelling.cancel(desk, wallet, order_id)
    assert desk.follow(order_id)["error"]["code"] == "USER_CANCELLED"
    assert desk.follow(taken["cancel"]["orderId"])["status"] == "confirmed"
    assert allowance(desk, wallet, WETH, quote["dexRoute"]["target"]) == 0


def test_the_wallet_rpc_takes_the_batch_with_the_wallets_own_gas(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk, account=wallet_of(desk))
    quote = wallet.quote()
    params = quote["batch"]["transactionParams"]
    filled = wallet.filled({"to": params["to"], "data": params["data"]})
    route = quote["dexRoute"]
    swap = bytes.fromhex(route["data"][2:])
    good = Batch(wallet.account.address, WETH.address, route["target"], SOLD, swap)
    for wrong in wrong_batches(good)[::40]:
        with pytest.raises(Refused, match="not sent anywhere"):
            wallet.send(filled | wrong.fields)
    with pytest.raises(Refused) as gap:
        wallet.send(filled | {"nonce": 2})
    assert gap.value.data["details"]["reason"] == "NONCE_GAP"
    assert gap.value.data["details"]["fields"][0]["expected"] == "0"
    tx_hash = wallet.send(filled)
    assert wallet.decided(tx_hash) == "confirmed"
    require_one_transaction(desk, wallet.account, quote, tx_hash, WETH)


def test_the_python_client_signs_the_batch(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    with client_of(desk) as client:
        result = client.swap(
            SwapRequest(WETH.address, USDC.address, SOLD, wallet.address, batch=True), wallet
        )
    assert result.succeeded
    assert result.approvals == ()
    assert result.status.tx_hash is not None
    quote = {"sellAmount": SOLD, "dexRoute": {"target": result.quote.dex_route.target}}
    require_one_transaction(desk, wallet, quote, result.status.tx_hash, WETH)


def test_the_python_client_signs_nothing_for_a_plain_wallet(desk: ApiClient) -> None:
    wallet = desk.wallet()
    request = SwapRequest(WETH.address, USDC.address, SOLD, wallet.address, batch=True)
    with client_of(desk) as client, pytest.raises(QuoteDeclined, match="not delegated"):
        client.swap(request, wallet)
    assert count(desk, wallet) == 0


def test_the_command_line_shows_and_signs_the_batch(desk: ApiClient) -> None:
    wallet = wallet_of(desk)
    answer, shown = swapped_by_command(desk, wallet, "0.1", "WETH", "USDC")
    assert "in the same transaction: 0x" in shown
    assert "may move exactly 0.1 WETH" in shown
    assert f"{wallet.address} (the wallet itself: approval and swap in one)" in shown
    assert (answer["order"]["status"], answer["approvals"]) == ("confirmed", [])
    quote = {"sellAmount": SOLD, "dexRoute": answer["quote"]["dexRoute"]}
    require_one_transaction(desk, wallet, quote, answer["order"]["txHash"], WETH)


def swapped_by_command(
    desk: ApiClient, wallet: LocalAccount, *pair: str
) -> tuple[dict[str, Any], str]:
    """Return the JSON of `quietswap swap --approve batch`, and the text beside it in one line."""
    facts = desk.town.facts
    environment = {
        "QUIETSWAP_URL": facts["baseUrl"],
        "QUIETSWAP_API_KEY": desk.secret,
        "QUIETSWAP_RPC_URL": facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": "0x" + bytes(wallet.key).hex(),
    }
    words = ["swap", *pair, "--approve", "batch", "--yes", "--poll", "0.2", "--json"]
    done = CliRunner().invoke(command, words, env=environment)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), " ".join(done.stderr.split())


def client_of(desk: ApiClient) -> QuietswapClient:
    facts, polling = desk.town.facts, PollingPolicy(interval_s=0.2, node_interval_s=0.1)
    return QuietswapClient(facts["baseUrl"], desk.secret, rpc_url=facts["rpcUrl"], polling=polling)
