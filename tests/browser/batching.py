"""Injected wallets that batch calls (EIP-5792) for a delegated account, honestly or not."""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eth_account.signers.local import LocalAccount

from quietswap.sandbox.contracts.addresses import CALIBUR
from tests.batches import Call, delegated, execute
from tests.browser.browser import WalletRefusal
from tests.browser.wallets import MAINNET, HonestWallet
from tests.e2e.conftest import Town
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

CAPABILITIES, SEND, STATUS = "wallet_getCapabilities", "wallet_sendCalls", "wallet_getCallsStatus"
UNKNOWN_ID = 5730
_MEMBERS = {"version", "id", "chainId", "from", "atomicRequired", "calls"}


def delegated_account(
    desk: ApiClient, delegate: str = CALIBUR, *, tokens: int = 1000
) -> LocalAccount:
    """Return a wallet with funds whose account has the code of a delegate (EIP-7702)."""
    account = desk.wallet(tokens=tokens)
    desk.rpc("anvil_setCode", account.address, delegated(delegate))
    return account


class BatchingWallet(HonestWallet):
    """Sends the calls as MetaMask does (core 42bb475): one transaction of the account to itself, by
    the RPC URL in use, before it answers; and names the batch itself.
    """

    atomic = "supported"

    def __init__(self, town: Town, account: LocalAccount) -> None:
        super().__init__(town, account)
        self.batches: dict[str, str] = {}
        """Transaction hashes by id."""

    def request(self, method: str, params: list[Any]) -> Any:
        handlers: dict[str, Callable[..., Any]] = {
            CAPABILITIES: self.capabilities, SEND: self.send_calls, STATUS: self.status,
        }  # fmt: skip
        if method not in handlers:
            return super().request(method, params)
        self.asked.append(method)
        return handlers[method](*params)

    def capabilities(self, address: str, chains: Sequence[str]) -> Any:
        """Return what the account can do."""
        assert (address, chains) == (self.account.address.lower(), [MAINNET])
        return {MAINNET: {"atomic": {"status": self.atomic}}}

    def send_calls(self, wanted: Mapping[str, Any]) -> Any:
        """Send a batch and return its id."""
        assert set(wanted) == _MEMBERS
        assert (wanted["version"], wanted["chainId"]) == ("2.0.0", MAINNET)
        assert wanted["atomicRequired"] is True
        name = "0x" + secrets.token_hex(16)
        self.batches[name] = self.send_batch(wanted)
        return {"id": name}

    def calls(self, wanted: Mapping[str, Any]) -> list[Call]:
        """Return the calls to sign."""
        return [
            (each["to"], int(each["value"], 16), bytes.fromhex(each["data"][2:]))
            for each in wanted["calls"]
        ]

    def send_batch(self, wanted: Mapping[str, Any]) -> str:
        """Sign and broadcast; return the hash."""
        owner = self.account.address
        data = "0x" + execute(self.calls(wanted)).hex()
        return self.broadcast(self.sign(self.filled({"from": owner, "to": owner, "data": data})))

    def status(self, name: str) -> Any:
        """Return what became of a batch."""
        if name not in self.batches:
            raise WalletRefusal(UNKNOWN_ID, "No matching bundle found")
        receipt = self.call("eth_getTransactionReceipt", self.batches[name])
        code = 100 if receipt is None else 200 if receipt["status"] == "0x1" else 500
        return self.told(name, code, [] if receipt is None else [receipt["transactionHash"]])

    def told(self, name: str, code: int, hashes: Sequence[str]) -> Any:
        """Return a status in the wire's form."""
        receipts = [{"transactionHash": each, "status": "0x1", "logs": []} for each in hashes]
        about = {"version": "2.0.0", "id": name, "chainId": MAINNET, "atomic": True}
        return about | {"status": code, "receipts": receipts}


class FailingBatches(BatchingWallet):
    """Says that it can batch, and answers with an error before (or after) it has sent the batch."""

    code: int | None = -32603
    sends = False

    def send_calls(self, wanted: Mapping[str, Any]) -> Any:
        if self.sends:
            self.send_batch(wanted)
        raise WalletRefusal(self.code, "the wallet failed")


class SilentBatches(FailingBatches):
    """Never says what became of a batch."""

    def __init__(self, town: Town, account: LocalAccount) -> None:
        super().__init__(town, account)
        self.over = threading.Event()

    def status(self, name: str) -> Any:
        self.over.wait(WITHIN_S)
        raise WalletRefusal(None, "too late")


class OtherDoorBatches(FailingBatches):
    """Answers with an error while the same quote is sold by another door: as a plain swap."""

    def send_calls(self, wanted: Mapping[str, Any]) -> Any:
        _, swap = wanted["calls"]
        self.send({"from": self.account.address, "to": swap["to"], "data": swap["data"]})
        return super().send_calls(wanted)


class NeverSentBatches(BatchingWallet):
    """Takes a batch, names it, sends nothing, and tells `code` with `hashes` of it."""

    code = 400
    hashes: Sequence[str] = ()

    def send_calls(self, wanted: Mapping[str, Any]) -> Any:
        return {"id": wanted["id"]}

    def status(self, name: str) -> Any:
        return self.told(name, self.code, self.hashes)


class MisreportingBatches(BatchingWallet):
    """Sends the batch and names another transaction afterwards."""

    other = "0x" + "cd" * 32

    def status(self, name: str) -> Any:
        return self.told(name, 200, [self.other])


class WrappingMore(BatchingWallet):
    """Wraps one wei more than it was asked to."""

    def calls(self, wanted: Mapping[str, Any]) -> list[Call]:
        (weth, value, deposit), *others = super().calls(wanted)
        return [(weth, value + 1, deposit), *others]


class HoldingBatches(BatchingWallet):
    """Keeps the batch until `decide` is set: its person thinks."""

    def __init__(self, town: Town, account: LocalAccount) -> None:
        super().__init__(town, account)
        self.asks, self.decide = threading.Event(), threading.Event()

    def send_calls(self, wanted: Mapping[str, Any]) -> Any:
        self.asks.set()
        assert self.decide.wait(WITHIN_S)
        return super().send_calls(wanted)
