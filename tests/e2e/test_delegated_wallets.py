"""Wallets with delegated code (EIP-7702) on the whole service: cancels, wraps, unwraps, swaps."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.client.errors.api import ValidationError
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.sync_client import QuietswapClient
from tests import forked
from tests.e2e.conftest import Town
from tests.e2e.test_typescript_client import Page, typescript
from tests.e2e.wallets import Refused, RpcWallet
from tests.spec import cancelling
from tests.spec.api_client import ApiClient
from tests.spec.wire import data, refused
from tests.typescript.package import Thrown, TypeScript, needs_packages

__all__ = ["typescript"]
pytestmark = pytest.mark.timeout(400)

CHEAP = "5b" * 11
"""Eleven gas."""
HEAVY = "4343554343195500"
"""Two new slots of storage in every block: 44,200 gas."""
HEAVIER = "".join(f"4360{slot:02x}430155" for slot in range(5)) + "00"
"""Five."""
REVERTING = "60006000fd"
ENDLESS = "5b600056"


@pytest.fixture
def desk(town: Town) -> Iterator[ApiClient]:
    with ApiClient(town) as found:
        yield found


def delegate(desk: ApiClient, wallet: LocalAccount, code: str) -> str:
    """Let the wallet's own signature set its code, as EIP-7702 does it; return the code's address.

    That uses a nonce of the wallet.
    """
    target = Account.create().address
    desk.rpc("anvil_setCode", target, "0x" + code)
    payer = desk.wallet()
    nonce = int(desk.rpc("eth_getTransactionCount", wallet.address, "latest"), 16)
    signed = wallet.sign_authorization({"chainId": 1, "address": target, "nonce": nonce})
    raw = payer.sign_transaction({
        "type": 4, "chainId": 1, "nonce": 0, "to": payer.address, "value": 0, "data": b"",
        "gas": 200_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
        "authorizationList": [signed],
    })  # fmt: skip
    desk.rpc("eth_sendRawTransaction", "0x" + bytes(raw.raw_transaction).hex())
    desk.mine()
    shown = desk.rpc("eth_getCode", wallet.address, "latest")
    assert shown == "0xef0100" + target[2:].lower()
    return str(target)


def stuck(desk: ApiClient, wallet: LocalAccount) -> tuple[str, int]:
    """Return id and nonce of an open swap that would revert, so that no relay includes it."""
    with desk.no_blocks():
        signed = desk.swap(wallet)
        order_id = data(desk.submit(signed))["order"]["orderId"]
        desk.approve(wallet, signed.quote, 0)
    return order_id, signed.quote["mevProtection"]["transactionParams"]["nonce"]


def opened(desk: ApiClient, code: str) -> tuple[LocalAccount, str, int]:
    wallet = desk.wallet()
    delegate(desk, wallet, code)
    return wallet, *stuck(desk, wallet)


@pytest.mark.parametrize(("code", "used"), [(CHEAP, 21_011), (HEAVY, 65_000)])
def test_the_api_cancels_with_the_gas_that_the_code_uses(
    desk: ApiClient, code: str, used: int
) -> None:
    wallet, order_id, _ = opened(desk, code)
    one = cancelling.signed(desk, wallet, order_id)
    assert used < int(one.issued["transactionParams"]["gasLimit"]) <= 100_000
    taken = data(cancelling.send(desk, order_id, one))
    assert desk.follow(order_id)["error"]["code"] == "USER_CANCELLED"
    mined = desk.follow(taken["cancel"]["orderId"])
    assert mined["status"] == "confirmed"
    assert used <= int(mined["gasUsed"]) < 1.02 * used


@pytest.mark.parametrize(
    ("code", "reason"),
    [(HEAVIER, "GAS_TOO_HIGH"), (REVERTING, "WOULD_REVERT"), (ENDLESS, "WOULD_REVERT")],
)
def test_the_api_refuses_a_cancel_that_no_relay_would_include(
    desk: ApiClient, code: str, reason: str
) -> None:
    _, order_id, _ = opened(desk, code)
    body = refused(cancelling.ask(desk, order_id), 422, "VALIDATION_ERROR")
    assert body["details"]["reason"] == reason
    assert "removes the delegation" in body["suggestion"]


def test_code_that_came_after_the_quote_is_found_when_the_cancel_is_posted(
    desk: ApiClient,
) -> None:
    wallet = desk.wallet()
    target = delegate(desk, wallet, CHEAP)
    order_id, _ = stuck(desk, wallet)
    one = cancelling.signed(desk, wallet, order_id)
    desk.rpc("anvil_setCode", target, "0x" + HEAVY)
    details = refused(cancelling.send(desk, order_id, one), 422, "VALIDATION_ERROR")["details"]
    assert details["reason"] == "WOULD_REVERT"


@pytest.mark.parametrize("code", [CHEAP, HEAVY])
def test_the_python_client_cancels(desk: ApiClient, code: str) -> None:
    wallet, order_id, nonce = opened(desk, code)
    facts, polling = desk.town.facts, PollingPolicy(node_interval_s=0.1)
    with QuietswapClient(
        facts["baseUrl"], desk.secret, rpc_url=facts["rpcUrl"], polling=polling
    ) as client:
        end = client.cancel(CancelRequest(order_id, wallet.address, nonce=nonce), wallet)
    assert (end.cancelled, end.checked) == (True, True)


def test_the_python_client_names_the_reason(desk: ApiClient) -> None:
    wallet, order_id, nonce = opened(desk, REVERTING)
    with (
        QuietswapClient(desk.town.facts["baseUrl"], desk.secret) as client,
        pytest.raises(ValidationError, match="the cancel would fail on the latest state"),
    ):
        client.cancel(CancelRequest(order_id, wallet.address, nonce=nonce), wallet)


@needs_packages
@pytest.mark.parametrize("code", [CHEAP, HEAVY, REVERTING])
def test_the_typescript_client_cancels(desk: ApiClient, typescript: TypeScript, code: str) -> None:
    page = Page(desk, typescript)
    delegate(desk, page.wallet, code)
    order_id, nonce = stuck(desk, page.wallet)
    if code == REVERTING:
        with pytest.raises(Thrown, match="the cancel would fail on the latest state"):
            page.ask("cancel", {"orderId": order_id, "nonce": nonce})
        return
    result = page.ask("cancel", {"orderId": order_id, "nonce": nonce})
    assert (result["cancelled"], result["checked"]) == (True, True)


@pytest.mark.parametrize(("code", "status"), [(CHEAP, 0), (HEAVY, 0), (REVERTING, 1)])
def test_the_command_cancels(desk: ApiClient, tmp_path: Path, code: str, status: int) -> None:
    wallet, order_id, nonce = opened(desk, code)
    facts = desk.town.facts
    variables = forked.without_settings() | {
        "QUIETSWAP_URL": facts["baseUrl"], "QUIETSWAP_API_KEY": desk.secret,
        "QUIETSWAP_RPC_URL": facts["rpcUrl"], "QUIETSWAP_PRIVATE_KEY": wallet.key.to_0x_hex(),
    }  # fmt: skip
    words = ["cancel", order_id, "--nonce", str(nonce), "--poll", "0.5", "--yes", "--json"]
    done = forked.run(words, variables, folder=tmp_path)
    assert done.returncode == status, done.stderr
    if status:
        assert "would fail on the latest state" in done.stderr
    else:
        assert json.loads(done.stdout)["cancelled"] is True


@pytest.mark.parametrize("code", [CHEAP, HEAVY])
def test_a_wallet_cancels_with_its_own_estimate(desk: ApiClient, code: str) -> None:
    wallet = RpcWallet.of(desk)
    delegate(desk, wallet.account, code)
    order_id, nonce = stuck(desk, wallet.account)
    own = {"to": wallet.account.address, "nonce": nonce, "maxFeePerGas": 10**12}
    own["maxPriorityFeePerGas"] = 0
    with pytest.raises(Refused, match="the transaction would fail on the latest state"):
        wallet.send(own | {"gas": 21_000})
    wallet.send(wallet.filled({"to": wallet.account.address}) | own)
    assert desk.follow(order_id)["error"]["code"] == "USER_CANCELLED"


def test_a_wallets_cancel_that_reverts_is_refused(desk: ApiClient) -> None:
    wallet = RpcWallet.of(desk)
    delegate(desk, wallet.account, REVERTING)
    _, nonce = stuck(desk, wallet.account)
    own: dict[str, Any] = {"to": wallet.account.address, "nonce": nonce, "gas": 90_000}
    with pytest.raises(Refused, match="would fail on the latest state") as error:
        wallet.send(own | {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 0})
    assert error.value.data["details"]["reason"] == "WOULD_REVERT"


@pytest.mark.parametrize("code", [CHEAP, HEAVY, REVERTING])
@pytest.mark.parametrize("operation", ["wrap", "unwrap"])
def test_wraps_are_tried(desk: ApiClient, operation: str, code: str) -> None:
    """WETH sends ETH with 2,300 gas: code that needs more cannot receive it."""
    wallet = desk.wallet()
    target = delegate(desk, wallet, CHEAP)
    before = desk.wrap(wallet, operation=operation, amount="0.5")
    desk.rpc("anvil_setCode", target, "0x" + code)
    if operation == "wrap" or code == CHEAP:
        order = data(desk.submit_wrap(desk.wrap(wallet, operation=operation, amount="0.5")))
        tx_hash = order["order"]["txHash"]
        desk.until(lambda: desk.rpc("eth_getTransactionReceipt", tx_hash))
        assert desk.rpc("eth_getTransactionReceipt", tx_hash)["status"] == "0x1"
        return
    ask = {"operation": operation, "amount": "0.5", "userAddress": wallet.address}
    for answer in (desk.api.post("/api/v1/mev/wrap/quote", json=ask), desk.submit_wrap(before)):
        body = refused(answer, 422, "VALIDATION_ERROR")
        assert body["details"]["reason"] == "WOULD_REVERT"
        assert body["details"]["revertReason"]


@pytest.mark.parametrize("code", [CHEAP, HEAVY, REVERTING])
def test_a_swap_needs_no_code_of_the_wallet(desk: ApiClient, code: str) -> None:
    """Tokens are taken and given by their contracts: no call reaches the wallet."""
    wallet = desk.wallet()
    delegate(desk, wallet, code)
    assert desk.follow(desk.order(wallet)["orderId"])["status"] == "confirmed"


def test_a_quote_says_that_a_contract_cannot_sign_it(desk: ApiClient) -> None:
    wallet, plain = desk.wallet(), desk.wallet()
    delegate(desk, plain, CHEAP)
    desk.rpc("anvil_setCode", wallet.address, "0x" + CHEAP)
    for account, is_told in ((wallet, True), (plain, False)):
        swap = desk.quote(account)["verification"]["notes"]
        wraps = [desk.wrap_quote(account, operation=each) for each in ("wrap", "unwrap")]
        for notes in (swap, *(quote["notes"] for quote in wraps)):
            assert (
                any("cannot sign this transaction (EIP-3607)" in note for note in notes) == is_told
            )
