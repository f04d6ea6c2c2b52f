"""The public mempool: what everybody can see, and the record of everything that was ever in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.sandbox.rawtx import Signed
from quietswap.sandbox.rpc import Rpc

_PARTS = ("pending", "queued")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A transaction that may go into the next block. `to` is None when it deploys; wei, gas."""

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
        """What only one transaction can take."""
        return (self.sender, self.nonce)

    @property
    def call(self) -> dict[str, Any]:
        """The transaction as a call to simulate."""
        called = {
            "from": self.sender,
            "input": "0x" + self.data.hex(),
            "value": hex(self.value),
            "gas": hex(self.gas),
        }
        return called | ({"to": self.to} if self.to else {})


def waiting(signed: Signed) -> Waiting:
    """Return a signed transaction that is not in the node's mempool in the same form."""
    f = signed.fields
    return Waiting(
        signed.hash, signed.sender, f.nonce, f.to, f.data, f.value, f.gas, f.max_fee, f.tip
    )


async def pending(rpc: Rpc, record: "PublicRecord") -> list[Waiting]:
    """Return what could be mined now, by tip and then by sender and nonce, and record all hashes.

    Transactions whose nonce is ahead of the sender's are recorded, not returned.
    """
    content = await rpc.call("txpool_content")
    ready, ahead = ([tx for by in content[part].values() for tx in by.values()] for part in _PARTS)
    record.note(tx["hash"] for tx in (*ready, *ahead))
    return sorted(map(_waiting, ready), key=lambda tx: (-tx.tip, tx.sender, tx.nonce))


def _waiting(tx: dict[str, Any]) -> Waiting:
    price = int(tx.get("gasPrice") or "0x0", 16)
    return Waiting(
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


async def raws(rpc: Rpc, hashes: Iterable[str]) -> dict[str, bytes]:
    """Return the signed bytes of transactions the node knows, waiting or mined."""
    asked = list(hashes)
    found = await rpc.batch([("eth_getRawTransactionByHash", (one,)) for one in asked])
    return {
        tx_hash: bytes.fromhex(raw[2:]) for tx_hash, raw in zip(asked, found, strict=True) if raw
    }


class PublicRecord:
    """Every hash that was ever in the public mempool or sent there."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __contains__(self, tx_hash: str) -> bool:
        return tx_hash in self._seen

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, hashes: Iterable[str]) -> None:
        """Remember that these were public."""
        self._seen.update(hashes)
