"""A client of the whole running service, written from the interface document alone.

Every answer it gets is held against the OpenAPI document. Each test has a desk with a key of its
own, and as many fresh wallets as it asks for.
"""

import itertools
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.pools import ALL_TOKENS, TOKENS, USDC, WETH, SandboxToken
from tests import loopback
from tests.contract import check
from tests.e2e.conftest import Town
from tests.keys import issue_key
from tests.spec.wire import data, order_body, sign, wrap_body
from tests.waiting import WITHIN_S, wait_until

ETHER = 10**18
SOLD = ETHER // 10
"""The usual amount, in wei. Several such swaps in one block stay within the usual slippage."""
TERMINAL = ("confirmed", "failed", "cancelled")
_numbers = itertools.count(1)


@dataclass
class Signed:
    """A quote and what a wallet made of it."""

    quote: dict[str, Any]
    raw: str
    body: dict[str, Any]


class ApiClient:
    """`api` speaks with the desk's key, `rpc` with the node."""

    def __init__(self, town: Town, database_url: str | None = None) -> None:
        self.town = town
        settings = tomllib.loads(Path(town.facts["settingsFile"]).read_text("utf-8"))
        self.database_url: str = database_url or settings["storage"]["url"]
        self._node = loopback.Client(timeout=WITHIN_S)
        self._clients: list[httpx.Client] = [self._node]
        self.secret = self.new_secret()
        self.api = self.client(self.secret)

    def __enter__(self) -> "ApiClient":
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def client(self, secret: str | None) -> httpx.Client:
        """Return a client of the API with this key, or with none."""

        def documented(answer: httpx.Response) -> None:
            answer.read()
            check(answer)

        headers = {"X-API-Key": secret} if secret else {}
        client = loopback.Client(
            base_url=self.town.facts["baseUrl"],
            headers=headers,
            timeout=WITHIN_S,
            event_hooks={"response": [documented]},
        )
        self._clients.append(client)
        return client

    def new_secret(self) -> str:
        """Return another fresh key."""
        return issue_key(self.database_url, f"spec {next(_numbers)}")

    def another(self) -> httpx.Client:
        """Return a client with another fresh key."""
        return self.client(self.new_secret())

    # The chain, as an ordinary node shows it (and as anvil lets it be set).

    def rpc(self, method: str, *params: Any) -> Any:
        """Call the node."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._node.post(self.town.facts["rpcUrl"], json=call).json()
        assert "error" not in answer, answer
        return answer["result"]

    def wallet(self, *, ether: float = 100, tokens: int = 1000) -> LocalAccount:
        """Return a new wallet with ETH and some of every token."""
        account: LocalAccount = Account.create()
        calls = [("anvil_setBalance", (account.address, hex(int(ether * ETHER))))]
        calls += [_held(account, token, token.units(tokens)) for token in TOKENS.values()]
        batch = [{"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                 for number, (method, params) in enumerate(calls)]  # fmt: skip
        answers = self._node.post(self.town.facts["rpcUrl"], json=batch).json()
        assert not [answer for answer in answers if "error" in answer], answers
        return account

    def give(self, account: LocalAccount, token: SandboxToken, amount: int) -> None:
        """Set a token balance."""
        method, params = _held(account, token, amount)
        self.rpc(method, *params)

    def approve(self, account: LocalAccount, quote: dict[str, Any], amount: int = 2**255) -> None:
        """Let the quote's router move the sell token."""
        token = next(t for t in ALL_TOKENS.values() if t.address == quote["sellToken"])
        key = token.allowance_key(account.address, quote["dexRoute"]["target"])
        self.rpc("anvil_setStorageAt", token.address, key, f"0x{amount:064x}")

    def held(self, account: LocalAccount, symbol: str) -> int:
        """Return a token balance, in smallest units."""
        call = {
            "to": ALL_TOKENS[symbol].address,
            "data": "0x70a08231" + account.address[2:].rjust(64, "0"),
        }
        return int(self.rpc("eth_call", call, "latest"), 16)

    def use_nonce(self, account: LocalAccount, nonce: int, **changes: Any) -> str:
        """Send a public transaction with a nonce (by default an empty one to itself)."""
        plain = {
            "type": 2, "chainId": 1, "nonce": nonce, "to": account.address, "value": 0,
            "gas": 50_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
        }  # fmt: skip
        raw = account.sign_transaction(plain | changes).raw_transaction
        sent: str = self.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        self.until(lambda: self.rpc("eth_getTransactionReceipt", sent))
        return sent

    # What a client does.

    def ask_quote(self, account: LocalAccount, **changes: str) -> httpx.Response:
        """GET /api/v1/quote for 0.1 WETH into USDC."""
        plain = {
            "sellToken": WETH.address,
            "buyToken": USDC.address,
            "sellAmount": str(SOLD),
            "userAddress": account.address,
        }
        return self.api.get("/api/v1/quote", params=plain | changes)

    def quote(self, account: LocalAccount, **changes: str) -> dict[str, Any]:
        """Return `data` of a good quote."""
        return data(self.ask_quote(account, **changes))

    def swap(self, account: LocalAccount, **changes: str) -> Signed:
        """Quote, approve and sign a swap."""
        quote = self.quote(account, **changes)
        self.approve(account, quote)
        raw = sign(account, quote["mevProtection"]["transactionParams"])
        slippage = int(changes.get("slippageBps", "50"))
        return Signed(quote, raw, order_body(account, quote, raw, slippage))

    def submit(self, signed: Signed, **changes: Any) -> httpx.Response:
        """POST /api/v1/mev/orders."""
        return self.api.post("/api/v1/mev/orders", json=signed.body | changes)

    def order(self, account: LocalAccount, **changes: str) -> dict[str, Any]:
        """Return `data.order` of a swap that was taken."""
        taken: dict[str, Any] = data(self.submit(self.swap(account, **changes)))["order"]
        return taken

    def status(self, order_id: str) -> dict[str, Any]:
        """Return `data` of the status record."""
        return data(self.api.get(f"/api/v1/mev/orders/{order_id}"))

    def follow(self, order_id: str, *until: str) -> dict[str, Any]:
        """Poll until the order is in one of these states, by default a terminal one."""
        wanted = until or TERMINAL
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [self.status(order_id)]
            return found[0]["status"] in wanted

        self.until(there)
        return found[0]

    def history(self, account: LocalAccount, **query: Any) -> dict[str, Any]:
        """Return `data` of the history."""
        return data(self.api.get(f"/api/v1/mev/orders/user/{account.address}", params=query))

    def given_to_relays(self) -> list[dict[str, Any]]:
        """Return what the relays were given: the backup, too, while the first is left alone."""
        shown = self.town.control.get("/relay").json()
        return [row for name in ("relay", "backup_relay") for row in shown[name]["transactions"]]

    def wrap_quote(self, account: LocalAccount, **changes: Any) -> dict[str, Any]:
        """Return `data.quote` of a wrap quote for 1.5 ETH."""
        ask = {"operation": "wrap", "amount": "1.5", "userAddress": account.address} | changes
        quoted: dict[str, Any] = data(self.api.post("/api/v1/mev/wrap/quote", json=ask))["quote"]
        return quoted

    def wrap(self, account: LocalAccount, **changes: Any) -> Signed:
        """Quote and sign a wrap."""
        quote = self.wrap_quote(account, **changes)
        nonce = int(self.rpc("eth_getTransactionCount", account.address, "latest"), 16)
        raw = sign(account, quote["mevProtection"]["transactionParams"], nonce=nonce)
        return Signed(quote, raw, wrap_body(quote, raw))

    def submit_wrap(self, signed: Signed, **changes: Any) -> httpx.Response:
        """POST /api/v1/mev/wrap/order."""
        return self.api.post("/api/v1/mev/wrap/order", json=signed.body | changes)

    # Faults and time.

    @contextmanager
    def fault(self, fault: str, *parts: str) -> Iterator[None]:
        """Switch a fault on for the length of a `with` block, and wait for the recovery."""
        for part in parts:
            self.town.fault(part, fault)
        try:
            yield
        finally:
            self.town.heal(*parts)
            self.until(self.is_well)

    def is_well(self) -> bool:
        """Return whether the service finds nothing wrong with what it depends on.

        A probe of the relays lasts for two seconds, and the backup alone makes their check `ok`.
        """
        answer = self.api.get("/readyz").json()
        if any("does not answer" in said for said in answer.get("warnings", {}).values()):
            return False
        return all(said == "ok" for said in answer["checks"].values())

    @contextmanager
    def no_blocks(self) -> Iterator[None]:
        """Let no block come by itself for the length of a `with` block."""
        self.town.control.post("/pause_mining").raise_for_status()
        try:
            yield
        finally:
            self.town.control.post("/resume_mining").raise_for_status()

    def mine(self, blocks: int = 1) -> None:
        """Build blocks at once."""
        self.town.control.post("/mine", json={"blocks": blocks}).raise_for_status()

    def until(self, holds: Callable[[], Any]) -> None:
        """Return once something holds that another process brings about."""
        wait_until(holds, "it did not come", every_s=0.05)


def _held(account: LocalAccount, token: SandboxToken, amount: int) -> tuple[str, tuple[str, ...]]:
    """Return the call that sets a token balance: method and parameters."""
    key = token.balance_key(account.address)
    return "anvil_setStorageAt", (token.address, key, f"0x{amount:064x}")


def give_to_backup(settings_file: str, raw: str) -> None:
    """Give a signed transaction to the sandbox's second relay, past the service."""
    settings = tomllib.loads(Path(settings_file).read_text("utf-8"))
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
    answer = loopback.post(settings["relay"]["backup"]["url"], json=call).json()
    assert "result" in answer, answer
