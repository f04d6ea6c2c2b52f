"""The recipes of docs/cookbook.md run on the sandbox as written, and refuse what they say."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quietswap.sandbox.contracts.pools import WETH
from quietswap.sandbox.ports import free_port
from tests.chain.small_chain import odd, odd_runtimes
from tests.deploy.files import ROOT
from tests.deploy.recipes import SECTIONS, client, example, lines
from tests.deploy.test_commands import bash
from tests.e2e.conftest import Town
from tests.e2e.wallets import Refused, RpcWallet
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import order_body, refused, sign

SAFE: Any = SimpleNamespace(address=str(odd("OwnedWallet").address))
"""A contract wallet that one owner commands (tests/chain/contracts/OwnedWallet.sol)."""
PART = ETHER // 20


def test_each_snippet_is_part_of_the_example_that_its_recipe_names() -> None:
    blocks = 0
    for text in SECTIONS.values():
        files = set(re.findall(r"examples/(\w+\.py)", text)) or {"trading_bot.py"}
        sources = [(ROOT / "examples" / name).read_text("utf-8") for name in files]
        for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
            blocks += 1
            assert any(block in source for source in sources), block
    assert blocks == len(SECTIONS) == 5


def test_the_wallet_signs_and_the_backend_hears_of_each_change(
    desk: ApiClient, town: Town, folder: Path
) -> None:
    account, port = desk.wallet(), str(free_port())
    written = [line.replace("127.0.0.1:9100", f"127.0.0.1:{port}")
               for line in lines("A wallet backend", folder)]  # fmt: skip
    here = {"BACKEND_PORT": port, "BACKEND_URL": f"http://127.0.0.1:{port}"}
    forged = (
        f"curl -s -o forged -w '%{{http_code}}' -d '{{}}' {here['BACKEND_URL']}/webhook > status"
    )
    sold = written.index("python examples/wallet_app.py")
    written[sold:sold] = [forged]
    ending = ["trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]  # also where a line fails
    done = bash(ending + written, town, folder, **client(desk, account) | here)
    assert (folder / "status").read_text() == "401"
    assert re.search(r"^swap confirmed 0x[0-9a-f]{64}$", done.stdout, re.M)
    heard = re.findall(r"^(order\.\w+) ord_\w+$", done.stdout, re.M)
    assert heard[0] == "order.created"
    assert heard[-1] == "order.confirmed"
    assert "is deleted" in done.stdout


_NOT_SIGNED = """
import sys
sys.path.insert(0, "examples")
import wallet_app
fair = {"to": min(wallet_app.ROUTERS), "value": "0", "gasLimit": "1", "maxFeePerGas": "1"}
fair["chainId"] = 1
wallet_app.check(fair)
for other in {"to": "0x" + 40 * "1"}, {"value": "1"}, {"chainId": 5}, {"maxFeePerGas": "9" * 18}:
    try:
        wallet_app.check(fair | other)
    except SystemExit as refusal:
        print(refusal)
"""


def test_the_wallet_does_not_sign_what_is_no_swap(desk: ApiClient) -> None:
    done = example(desk, desk.wallet(), f"python -c '{_NOT_SIGNED}'")
    assert done.stdout.count("not signed") == 4, done.stderr


def test_the_treasury_sells_with_its_keystore(desk: ApiClient, town: Town, folder: Path) -> None:
    account = desk.wallet()
    variables = client(desk, account)
    done = bash(lines("A treasury with a keystore", folder), town, folder, **variables)
    assert re.search(r"^swap confirmed 0x[0-9a-f]{64} received \d+$", done.stdout, re.M)
    secret = bytes(account.key).hex()
    password = (folder / "password.txt").read_text().strip()
    told = done.stdout + done.stderr + (folder / "treasury.json").read_text()
    assert secret not in told
    assert password not in told
    asked = f"python examples/treasury.py {folder}/treasury.json 0.05 --password-file"
    no_key = {"QUIETSWAP_PRIVATE_KEY": ""}
    unanswered = example(desk, account, f"{asked} {folder}/password.txt", **no_key)
    assert unanswered.returncode == 1
    assert "the quote was not accepted" in unanswered.stderr
    (folder / "other.txt").write_text("wrong")
    (folder / "other.txt").chmod(0o600)
    wrong = example(desk, account, f"{asked} {folder}/other.txt", **no_key)
    (folder / "other.txt").chmod(0o644)
    readable = example(desk, account, f"{asked} {folder}/other.txt", **no_key)
    assert "cannot be decrypted" in wrong.stderr
    assert "other users can read" in readable.stderr
    assert "Traceback" not in wrong.stderr + readable.stderr
    assert desk.history(account)["total"] == 1


class Safe:
    """A contract wallet with 1 WETH, and its owner, who sends through a private RPC URL."""

    def __init__(self, desk: ApiClient) -> None:
        self.desk = desk
        self.owner = RpcWallet.of(desk, "private", tokens=0)
        desk.rpc("anvil_setCode", SAFE.address, odd_runtimes()["OwnedWallet"])
        desk.rpc("anvil_setStorageAt", SAFE.address, "0x" + 64 * "0", "0x" + 64 * "0")
        desk.give(SAFE, WETH, ETHER)
        self.send("0xba0bba40")  # setup()

    def send(self, data: str) -> None:
        """Send a call of the contract as its owner, privately, and wait for its end."""
        sent = self.owner.send(self.owner.filled({"to": SAFE.address, "data": data}))
        assert self.owner.decided(sent, "transaction") == "confirmed"

    def execute(self, target: str, data: str) -> None:
        """Let the contract call `target`."""
        self.send(execution(target, data))


def execution(target: str, data: str) -> str:
    """Return the calldata of `execute(target, data)`."""
    size, body = len(data) // 2 - 1, data[2:]
    padded = body + "0" * (-len(body) % 64)
    return f"0x1cff79cd{target[2:].lower():0>64}{64:064x}{size:064x}{padded}"


def words(selector: str, address: str, amount: int) -> str:
    """Return the calldata of a call with an address and a number."""
    return f"{selector}{address[2:].lower():0>64}{amount:064x}"


def test_an_owner_swaps_for_a_safe(desk: ApiClient, town: Town, folder: Path) -> None:
    safe = Safe(desk)
    account, before = safe.owner.account, desk.held(SAFE, "USDC")
    variables = client(desk, account)
    written = lines("Owners of a Safe", folder)
    poor = example(desk, account, f"python examples/safe_owner.py {SAFE.address} 0.05")
    assert "has less than 0.05 WETH" in poor.stderr
    safe.execute(WETH.address, words("0xa9059cbb", account.address, PART))  # transfer
    done = bash(written, town, folder, **variables, SAFE=SAFE.address)
    [returned] = re.findall(r"^returned (\d+) USDC units", done.stdout, re.M)
    assert desk.held(SAFE, "USDC") - before == int(returned) > 2500 * 10**6 // 20
    assert desk.held(account, "USDC") == desk.held(account, "WETH") == 0
    stranger = example(desk, desk.wallet(), f"python examples/safe_owner.py {SAFE.address} 0.05")
    assert "is not an owner" in stranger.stderr
    plain = example(desk, account, f"python examples/safe_owner.py {account.address} 0.05")
    assert "it is no Safe" in plain.stderr


def test_a_quote_of_a_safe_cannot_be_submitted_and_can_be_executed(desk: ApiClient) -> None:
    safe = Safe(desk)
    account, before = safe.owner.account, desk.held(SAFE, "USDC")
    quote = desk.quote(SAFE, sellAmount=str(PART))
    assert quote["verification"]["status"] == "verified"
    raw = sign(account, quote["mevProtection"]["transactionParams"])
    refused(
        desk.api.post("/api/v1/mev/orders", json=order_body(SAFE, quote, raw, 50)),
        400, "INVALID_SIGNATURE",
    )  # fmt: skip
    router = quote["dexRoute"]["target"]
    safe.execute(WETH.address, words("0x095ea7b3", router, PART))  # approve
    safe.execute(router, quote["dexRoute"]["data"])
    assert desk.held(SAFE, "USDC") - before >= int(quote["minBuyAmount"])
    own = {"gas": 10**6, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 0}
    call = {"to": SAFE.address, "data": execution(router, quote["dexRoute"]["data"])}
    again = call | own | {"nonce": safe.owner.nonce()}
    with pytest.raises(Refused) as refusal:  # the allowance is used: the same call fails now
        safe.owner.send(again)
    assert refusal.value.data["details"]["reason"] == "WOULD_REVERT"


def test_the_export_is_what_the_receipts_say(desk: ApiClient, town: Town, folder: Path) -> None:
    account = desk.wallet()
    variables = client(desk, account)
    done = bash(lines("Accounting", folder), town, folder, **variables)
    assert done.stdout.count("orders that differ: 0") == 2
    file = folder / "orders.csv"
    orders = list(csv.DictReader(file.read_text("utf-8").splitlines()))
    [own] = [row for row in orders if row["wallet"] == account.address]
    assert f"total sold {WETH.address} {PART}\n" in done.stdout
    assert f"total fees in wei {own['feePaidWei']}\n" in done.stdout
    changed = {}
    for column in ("feePaidWei", "receivedAmount", "receivedWhole", "blockHash"):
        changed[column] = own[column][:-1] + ("1" if own[column][-1] != "1" else "2")
    with (folder / "changed.csv").open("w", encoding="utf-8") as written:
        table = csv.DictWriter(written, list(own))
        table.writeheader()
        table.writerow(own | changed)
    found = example(desk, account, f"python examples/reconcile.py {folder}/changed.csv")
    assert found.returncode == 1
    for column, value in changed.items():
        assert f"DIFFERS: {column} is {value}, by the receipt {own[column]}" in found.stdout
