"""The public mempool: its transactions, and the hashes of all that were ever in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.sandbox.chain.transactions import DecodedTransaction
from quietswap.sandbox.wire.rpc_client import SandboxRpcClient

_PARTS = ("pending", "queued")


@dataclass(frozen=True, slots=True)
class PendingTransaction:
    """A transaction that may go into the next block. `to` is None for a deployment."""

    hash: str
    sender: Address
    nonce: int
    to: Address | None
    data: bytes
    value: int
    gas: int
    max_fee: int
    tip: int

    @property
    def slot(self) -> tuple[Address, int]:
        """(sender, nonce), which only one mined transaction can have."""
        return (self.sender, self.nonce)

    @property
    def call(self) -> dict[str, Any]:
        """The transaction as a call object for `eth_simulateV1`."""
        called = {"from": self.sender, "value": hex(self.value), "gas": hex(self.gas)}
        called["input"] = "0x" + self.data.hex()
        return called | ({"to": self.to} if self.to else {})


def waiting(signed: DecodedTransaction) -> PendingTransaction:
    """Return a signed transaction, which may be private, as a pending one."""
    f = signed.fields
    return PendingTransaction(
        signed.hash, signed.sender, f.nonce, f.to, f.data, f.value, f.gas, f.max_fee, f.tip
    )


async def pending(rpc: SandboxRpcClient, record: "MempoolHistory") -> list[PendingTransaction]:
    """Return what could be mined now, by tip and then by sender and nonce. Record all hashes.

    Transactions with a nonce gap are recorded, but not returned.
    """
    content = await rpc.call("txpool_content")
    ready, ahead = ([tx for by in content[part].values() for tx in by.values()] for part in _PARTS)
    record.note(tx["hash"] for tx in (*ready, *ahead))
    return sorted(map(_waiting, ready), key=lambda tx: (-tx.tip, tx.sender, tx.nonce))


def _waiting(tx: dict[str, Any]) -> PendingTransaction:
    price = int(tx.get("gasPrice") or "0x0", 16)
    return PendingTransaction(
        hash=tx["hash"],
        sender=addresses.from_any_case(tx["from"]),
        nonce=int(tx["nonce"], 16),
        to=addresses.from_any_case(tx["to"]) if tx.get("to") else None,
        data=bytes.fromhex(tx["input"][2:]),
        value=int(tx["value"], 16),
        gas=int(tx["gas"], 16),
        max_fee=int(tx.get("maxFeePerGas") or hex(price), 16),
        tip=int(tx.get("maxPriorityFeePerGas") or hex(price), 16),
    )


async def raws(rpc: SandboxRpcClient, hashes: Iterable[str]) -> dict[str, bytes]:
    """Return the signed bytes of the transactions that the node has, pending or mined."""
    asked = list(hashes)
    found = await rpc.each("eth_getRawTransactionByHash", asked)
    return {one: bytes.fromhex(raw[2:]) for one, raw in zip(asked, found, strict=True) if raw}


class MempoolHistory:
    """Hashes of all transactions that were ever in the public mempool or sent to it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __contains__(self, tx_hash: str) -> bool:
        return tx_hash in self._seen

    def note(self, hashes: Iterable[str]) -> None:
        """Record these hashes as public."""
        self._seen.update(hashes)
