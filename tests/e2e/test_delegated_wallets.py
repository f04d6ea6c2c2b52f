"""Wallets with delegated code (EIP-7702) on the whole service: cancels, wraps, unwraps, swaps."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.client import QuietswapClient, SwapRequest
from quietswap.client.errors import ClientError
from quietswap.client.flows.cancel import CancelRequest
from quietswap.client.flows.polling import PollingPolicy
from tests import forked
from tests.e2e.conftest import USDC, WETH, Town
from tests.e2e.test_typescript_client import Page, typescript
from tests.e2e.wallets import Refused, RpcWallet, approval, deposit, quoted
from tests.example_counts import LONG
from tests.spec import cancelling
from tests.spec.api_client import ETHER, SOLD, ApiClient
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


TRIED = "would fail on the latest state"
"""Words of every refusal."""
EXPECTED = {
    "swap": dict.fromkeys(("cheap", "heavy", "reverting"), ""),
    "wrap": dict.fromkeys(("cheap", "heavy", "reverting"), ""),
    "unwrap": {"cheap": "", "heavy": TRIED, "reverting": TRIED},
    "cancel": {"cheap": "", "heavy": "", "reverting": TRIED},
}
"""Which delegate lets an action be done. No call reaches a wallet that swaps or wraps; WETH sends
ETH with 2,300 gas, so that code which needs more cannot receive it.
"""
CODES = {"cheap": CHEAP, "heavy": HEAVY, "reverting": REVERTING}
HALF = "0.5"
CHANGE = {"swap": -SOLD, "wrap": ETHER // 2, "unwrap": -ETHER // 2, "cancel": 0}
"""WETH that an action gives the wallet."""


@dataclass
class Person:
    """A wallet with delegated code before one door, `open_swap` is the order to cancel."""

    desk: ApiClient
    wallet: LocalAccount
    folder: Path
    typescript: TypeScript
    open_swap: tuple[str, int]


def by_api(person: Person, action: str) -> str:
    desk, wallet = person.desk, person.wallet
    if action == "swap":
        return told(desk.submit(desk.swap(wallet)))
    if action == "cancel":
        order_id, _ = person.open_swap
        if refusal := told(cancelling.ask(desk, order_id)):
            return refusal
        return told(cancelling.send(desk, order_id, cancelling.signed(desk, wallet, order_id)))
    ask = {"operation": action, "amount": HALF, "userAddress": wallet.address}
    if refusal := told(desk.api.post("/api/v1/mev/wrap/quote", json=ask)):
        return refusal
    return told(desk.submit_wrap(desk.wrap(wallet, operation=action, amount=HALF)))


def told(answer: httpx.Response) -> str:
    """Return the message of a refusal."""
    return "" if answer.is_success else str(answer.json()["message"])


def by_python(person: Person, action: str) -> str:
    desk, wallet = person.desk, person.wallet
    facts, polling = desk.town.facts, PollingPolicy(interval_s=0.2, node_interval_s=0.1)
    order_id, nonce = person.open_swap
    with QuietswapClient(
        facts["baseUrl"], desk.secret, rpc_url=facts["rpcUrl"], polling=polling
    ) as client:
        try:
            if action == "swap":
                request = SwapRequest(WETH, USDC, SOLD, wallet.address)
                assert client.swap(request, wallet).succeeded
            elif action == "cancel":
                end = client.cancel(CancelRequest(order_id, wallet.address, nonce=nonce), wallet)
                assert (end.cancelled, end.checked) == (True, True)
            else:
                {"wrap": client.wrap, "unwrap": client.unwrap}[action](HALF, wallet)
        except ClientError as error:
            return str(error)
    return ""


def by_typescript(person: Person, action: str) -> str:
    page = Page(person.desk, person.typescript, person.wallet)
    order_id, nonce = person.open_swap
    argument = {"swap": page.request, "cancel": {"orderId": order_id, "nonce": nonce}}
    try:
        result = page.ask(action, argument.get(action, HALF))
    except Thrown as error:
        return str(error)
    if action == "cancel":
        assert (result["cancelled"], result["checked"]) == (True, True)
    else:
        assert result.get("receipt", result)["succeeded"]
    return ""


def by_command(person: Person, action: str) -> str:
    facts, (order_id, nonce) = person.desk.town.facts, person.open_swap
    variables = forked.without_settings() | {
        "QUIETSWAP_URL": facts["baseUrl"],
        "QUIETSWAP_API_KEY": person.desk.secret,
        "QUIETSWAP_RPC_URL": facts["rpcUrl"],
        "QUIETSWAP_PRIVATE_KEY": person.wallet.key.to_0x_hex(),
    }
    words = {
        "swap": ["0.1", "WETH", "USDC", "--poll", "0.2"],
        "cancel": [order_id, "--nonce", str(nonce), "--poll", "0.2"],
    }.get(action, [HALF])
    done = forked.run([action, *words, "--yes", "--json"], variables, folder=person.folder)
    if done.returncode:
        return done.stderr
    if action == "cancel":
        assert json.loads(done.stdout)["cancelled"] is True
    return ""


def by_rpc(person: Person, action: str) -> str:
    """A wallet takes its own estimate, or 90,000 gas where there is none."""
    wallet, (_, nonce) = RpcWallet.of(person.desk, account=person.wallet), person.open_swap
    own: dict[str, Any] = {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 0}
    try:
        if action == "swap":
            wallet.mined(wallet.send(wallet.filled(approval(wallet.quote()))))
            own = quoted(wallet.quote())
        elif action == "cancel":
            own |= {"to": person.wallet.address, "nonce": nonce}
        elif action == "wrap":
            own |= deposit(ETHER // 2)
        else:
            own |= {"to": WETH, "data": f"0x2e1a7d4d{ETHER // 2:064x}"}
        try:
            filled = wallet.filled(own)
        except Refused:
            filled = {"gas": 90_000, "nonce": wallet.nonce()}
        wallet.send(filled | own)
    except Refused as error:
        return str(error)
    return ""


Door = Callable[[Person, str], str]
"""Does an action as its user does. Returns the refusal."""


DOORS: list[Door] = [by_api, by_python, by_typescript, by_command, by_rpc]
CASES = [
    pytest.param(door, code, action, id=f"{door.__name__}-{code}-{action}")
    for number, door in enumerate(DOORS)
    for first, code in enumerate(CODES)
    for second, action in enumerate(EXPECTED)
    if LONG or door is by_api or (number + first + second) % len(CODES) == 0
]
"""The service decides: its API has every case, and each other door does an action with one of the
codes, another one for each action.
"""


@needs_packages
@pytest.mark.parametrize(("door", "code", "action"), CASES)
def test_every_door(
    desk: ApiClient, tmp_path: Path, typescript: TypeScript, door: Door, code: str, action: str
) -> None:
    wallet = desk.wallet()
    delegate(desk, wallet, CODES[code])
    open_swap = stuck(desk, wallet) if action == "cancel" else ("", 0)
    person = Person(desk, wallet, tmp_path, typescript, open_swap)
    weth, usdc, nonce = desk.held(wallet, "WETH"), desk.held(wallet, "USDC"), count(person)
    refusal, expected = door(person, action), EXPECTED[action][code]
    assert expected in refusal
    assert bool(refusal) == bool(expected), refusal
    if refusal:
        assert (desk.held(wallet, "WETH"), count(person)) == (weth, nonce)
        return
    desk.until(lambda: desk.held(wallet, "WETH") == weth + CHANGE[action])
    desk.until(lambda: count(person) > nonce)
    assert (desk.held(wallet, "USDC") > usdc) == (action == "swap")
    if action == "cancel":
        assert desk.follow(open_swap[0])["error"]["code"] == "USER_CANCELLED"


def count(person: Person) -> int:
    """Return the number of nonces that the wallet has used."""
    return int(person.desk.rpc("eth_getTransactionCount", person.wallet.address, "latest"), 16)


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
