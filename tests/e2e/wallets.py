"""Wallets that know one RPC URL of the service, and how each of them makes a transaction."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from eth_account.signers.local import LocalAccount

from quietswap.rules.tokens.token import WETH
from tests import loopback
from tests.spec.api_client import ApiClient
from tests.spec.wire import data

GWEI = 10**9
PATIENCE_S = 90
Fields = dict[str, Any]


class Refused(Exception):
    """The error object of a JSON-RPC call."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data") or {}


@dataclass
class RpcWallet:
    """A wallet with its own account; the dapp's fields are those of a quote."""

    desk: ApiClient
    account: LocalAccount
    url: str
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    @classmethod
    def of(
        cls,
        desk: ApiClient,
        unmatched: str = "refuse",
        account: LocalAccount | None = None,
        **holds: Any,
    ) -> "RpcWallet":
        """Return a wallet with an RPC URL of its own, by default with a fresh account."""
        account = account or desk.wallet(**holds)
        asked = {"wallets": [account.address], "name": "persona", "unmatched": unmatched}
        token = data(desk.api.post("/api/v1/mev/rpc", json=asked))["token"]
        return cls(desk, account, token["url"])

    def call(self, method: str, *params: Any) -> Any:
        """Call the RPC URL. Raises Refused."""
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        answer = loopback.post(self.url, json=body, timeout=60).json()
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def nonce(self, block: str = "pending") -> int:
        """Return the transaction count that the RPC URL tells."""
        return int(self.call("eth_getTransactionCount", self.account.address, block), 16)

    def sign(self, fields: Fields) -> str:
        """Return the signed transaction."""
        raw = self.account.sign_transaction({"type": 2, "chainId": 1, "value": 0} | fields)
        return "0x" + bytes(raw.raw_transaction).hex()

    def send(self, fields: Fields) -> str:
        """Sign and send; return the hash. Raises Refused."""
        return str(self.call("eth_sendRawTransaction", self.sign(fields)))

    def filled(self, wanted: Fields) -> Fields:
        """Return a transaction with gas, fees and nonce that the wallet reads from its RPC URL."""
        call = {"from": self.account.address, "to": wanted["to"], "data": wanted.get("data", "0x")}
        call["value"] = hex(wanted.get("value", 0))
        gas = int(self.call("eth_estimateGas", call), 16)
        tip = int(self.call("eth_maxPriorityFeePerGas"), 16)
        base = int(self.call("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
        own = {
            "gas": gas * 3 // 2,
            "maxFeePerGas": 2 * base + tip,
            "maxPriorityFeePerGas": tip,
            "nonce": self.nonce(),
        }
        return wanted | own

    def quote(self, **changes: str) -> dict[str, Any]:
        """Return a quote for this wallet."""
        return self.desk.quote(self.account, **changes)

    def mined(self, tx_hash: str) -> dict[str, Any]:
        """Poll for the receipt as libraries do, and return it."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            receipt = self.call("eth_getTransactionReceipt", tx_hash)
            found[:] = [receipt] if receipt else []
            return bool(found)

        self.desk.until(there)
        return found[0]

    def orders(self, kind: str = "swap") -> list[dict[str, Any]]:
        """Return the wallet's orders of a kind, newest first."""
        found: list[dict[str, Any]] = self.desk.history(self.account, kind=kind)["orders"]
        return found

    def decided(self, tx_hash: str, kind: str = "swap") -> str:
        """Return the final status of the order with this transaction."""
        [order_id] = [o["orderId"] for o in self.orders(kind) if o["txHash"] == tx_hash]
        found: list[str] = []

        def over() -> bool:
            found[:] = [self.desk.status(order_id)["status"]]
            return found[0] in ("confirmed", "failed", "cancelled")

        self.desk.until(over)
        return found[0]


def quoted(quote: dict[str, Any]) -> Fields:
    """Return the transaction of a quote as the dapp hands it to the wallet."""
    params = quote["mevProtection"]["transactionParams"]
    return {
        "to": params["to"],
        "data": params["data"],
        "value": int(params["value"]),
        "gas": int(params["gasLimit"]),
        "maxFeePerGas": int(params["maxFeePerGas"]),
        "maxPriorityFeePerGas": int(params["maxPriorityFeePerGas"]),
        "nonce": params["nonce"],
    }


def approval(quote: dict[str, Any], amount: int | None = None, spender: str = "") -> Fields:
    """Return the call that approves a quote's router, by default for exactly the amount sold."""
    router = spender or quote["dexRoute"]["target"]
    value = int(quote["sellAmount"]) if amount is None else amount
    word = router[2:].lower().rjust(64, "0")
    return {"to": quote["sellToken"], "data": f"0x095ea7b3{word}{value:064x}"}


def deposit(amount: int, nonce: int | None = None) -> Fields:
    """Return a wrap; with a nonce it is complete."""
    wanted: Fields = {"to": WETH, "data": "0xd0e30db0", "value": amount}
    if nonce is None:
        return wanted
    own = {"gas": 80_000, "maxFeePerGas": 100 * GWEI, "maxPriorityFeePerGas": GWEI}
    return wanted | own | {"nonce": nonce}


def faster(fields: Fields) -> Fields:
    """Return a transaction with fees that are an eighth higher."""
    names = ("maxFeePerGas", "maxPriorityFeePerGas")
    return fields | {name: -(-fields[name] * 9 // 8) for name in names}


def eventually(attempt: Callable[[], str]) -> str:
    """Return the result of an attempt that may be refused for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return attempt()
        except Refused:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.3)
