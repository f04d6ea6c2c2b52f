"""Injected wallets that sign with keys of the sandbox, each with a habit of wallets that exist.

The wallets were read in their sources (docs/wallets.md) and are played here; none of them runs.
"""

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import httpx
from eth_account.signers.local import LocalAccount

from tests import loopback
from tests.browser.browser import WalletRefusal
from tests.e2e.conftest import Town
from tests.waiting import WITHIN_S

Fields = dict[str, Any]
MAINNET = "0x1"
REJECTED = 4001
_HEX_FIELDS = ("value", "gas", "maxFeePerGas", "maxPriorityFeePerGas", "nonce")


class HonestWallet:
    """Keeps the fields of the page. At first it uses the public node, as wallets do."""

    def __init__(self, town: Town, account: LocalAccount) -> None:
        self.account = account
        self.public_url: str = town.facts["rpcUrl"]
        self.url = self.public_url
        self.chain = MAINNET
        self.sent: list[str] = []
        """Hashes that were sent to the service."""
        self.asked: list[str] = []
        self._ids = itertools.count(1)

    def request(self, method: str, params: list[Any]) -> Any:
        """Return the result of a request of the page. Raises WalletRefusal."""
        self.asked.append(method)
        match method:
            case "eth_requestAccounts" | "eth_accounts":
                return self.accounts()
            case "eth_chainId":
                return self.chain
            case "wallet_addEthereumChain":
                return self.add_chain(params[0])
            case "wallet_switchEthereumChain":
                self.chain = params[0]["chainId"]
                return None
            case "eth_sendTransaction":
                return self.send(params[0])
        return self.call(method, *params)

    def accounts(self) -> list[str]:
        """Return the accounts that the page may see."""
        return [self.account.address.lower()]

    def add_chain(self, chain: Mapping[str, Any]) -> None:
        """Use the RPC URL of the page from now on."""
        self.url = chain["rpcUrls"][0]

    def send(self, wanted: Mapping[str, str]) -> str:
        """Sign a transaction of the page, send it, and return its hash."""
        return self.broadcast(self.sign(self.filled(numbers(wanted))))

    def filled(self, fields: Fields) -> Fields:
        """Return the transaction with what the page left open."""
        if "gas" not in fields:
            call = {name: wire(value) for name, value in fields.items() if name != "nonce"}
            fields["gas"] = int(self.call("eth_estimateGas", call), 16) * 3 // 2
        if "maxFeePerGas" not in fields:
            tip = int(self.call("eth_maxPriorityFeePerGas"), 16)
            base = int(self.call("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
            fields |= {"maxFeePerGas": 2 * base + tip, "maxPriorityFeePerGas": tip}
        if "nonce" not in fields:
            count = self.call("eth_getTransactionCount", fields["from"], "pending")
            fields["nonce"] = int(count, 16)
        return {"maxPriorityFeePerGas": 0} | fields

    def sign(self, fields: Fields) -> str:
        """Return the signed transaction."""
        plain = {name: value for name, value in fields.items() if name != "from"}
        signed = self.account.sign_transaction({"type": 2, "chainId": 1, "value": 0} | plain)
        return "0x" + bytes(signed.raw_transaction).hex()

    def broadcast(self, raw: str) -> str:
        """Send signed bytes to the RPC URL in use."""
        tx_hash = str(self.call("eth_sendRawTransaction", raw))
        self.sent.append(tx_hash)
        return tx_hash

    def call(self, method: str, *params: Any) -> Any:
        """Call the RPC URL in use. Raises WalletRefusal."""
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        try:
            answer = loopback.post(self.url, json=body, timeout=WITHIN_S).json()
        except (httpx.TransportError, ValueError) as error:
            raise WalletRefusal(-32603, f"the RPC URL does not answer: {error!r}") from error
        if "error" in answer:
            error = answer["error"]
            raise WalletRefusal(error["code"], error["message"], error.get("data"))
        return answer["result"]


class FeeChoosingWallet(HonestWallet):
    """Replaces gas, fees and nonce by its own."""

    def filled(self, fields: Fields) -> Fields:
        wanted = {name: fields[name] for name in ("from", "to", "data", "value") if name in fields}
        return super().filled(wanted)


class WalletThatOnlySaysAdded(HonestWallet):
    """Answers success to wallet_addEthereumChain and keeps its own RPC URL."""

    def add_chain(self, chain: Mapping[str, Any]) -> None:
        """Change nothing."""


class RejectingWallet(HonestWallet):
    """Its person declines the methods in `declines`."""

    def __init__(self, town: Town, account: LocalAccount, *declines: str) -> None:
        super().__init__(town, account)
        self.declines = set(declines)

    def request(self, method: str, params: list[Any]) -> Any:
        if method in self.declines:
            self.asked.append(method)
            raise WalletRefusal(REJECTED, "User rejected the request.")
        return super().request(method, params)


class HoldingWallet(HonestWallet):
    """Answers `method` only when `decide` is set; its person signs or declines what is asked."""

    def __init__(
        self, town: Town, account: LocalAccount, method: str, *, signs: bool = False
    ) -> None:
        super().__init__(town, account)
        self.method = method
        self.signs = signs
        self.asks, self.decide = threading.Event(), threading.Event()
        self.holds = False

    def request(self, method: str, params: list[Any]) -> Any:
        if self.holds and method == self.method:
            self.asked.append(method)
            self.asks.set()
            assert self.decide.wait(WITHIN_S)
            if method == "eth_sendTransaction" and not self.signs:
                raise WalletRefusal(REJECTED, "User rejected the request.")
        return super().request(method, params)


class SilentWallet(HonestWallet):
    """Never answers the methods in `silent`; what it was asked meanwhile is never answered."""

    def __init__(self, town: Town, account: LocalAccount) -> None:
        super().__init__(town, account)
        self.silent: set[str] = set()
        self.over = threading.Event()

    def request(self, method: str, params: list[Any]) -> Any:
        if method in self.silent:
            self.asked.append(method)
            self.over.wait(WITHIN_S)
            raise WalletRefusal(None, "too late")
        return super().request(method, params)


class EarlierWallet(HonestWallet):
    """Names its first transaction again, and sends nothing more."""

    def send(self, wanted: Mapping[str, str]) -> str:
        return self.sent[0] if self.sent else super().send(wanted)


class WalletOfTwoAccounts(HonestWallet):
    """Its person changes to the second account, with or without telling the page."""

    def __init__(self, town: Town, account: LocalAccount, second: LocalAccount) -> None:
        super().__init__(town, account)
        self.second = second

    def change(self) -> list[str]:
        """Change the account and return the accounts for the event."""
        self.account, self.second = self.second, self.account
        return self.accounts()


class RepeatingWallet(HonestWallet):
    """Broadcasts everything three times."""

    def broadcast(self, raw: str) -> str:
        for _ in range(2):
            super().broadcast(raw)
        return super().broadcast(raw)


class LyingWallet(HonestWallet):
    """Names mainnet while it signs for another chain and sends nothing."""

    def send(self, wanted: Mapping[str, str]) -> str:
        return "0x" + "ab" * 32


def numbers(wanted: Mapping[str, str]) -> Fields:
    """Return a transaction of the page with its numbers read."""
    return {
        name: int(value, 16) if name in _HEX_FIELDS else value for name, value in wanted.items()
    }


def wire(value: object) -> object:
    """Return a field as JSON-RPC has it."""
    return hex(value) if isinstance(value, int) else value
