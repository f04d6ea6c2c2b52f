"""The public mempool: its transactions, and the hashes of all that were ever in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.chain import address as addresses
from quietswap.chain.address import Address, keccak256
from quietswap.sandbox.chain.transactions import DecodedTransaction
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import POOLS, Pool
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient

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

    def call(self, base_fee: int) -> dict[str, Any]:
        """Return the call object for `eth_simulateV1`, with the gas price that a contract reads."""
        called = {"from": self.sender, "value": hex(self.value), "gas": hex(self.gas)}
        called["gasPrice"] = hex(min(self.max_fee, base_fee + self.tip))
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


# Simulation of a transaction sequence on the latest state, and decoding of its token events.


_TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
_V2_SWAP = "0x" + keccak256(b"Swap(address,uint256,uint256,uint256,uint256,address)").hex()
_V2_PAIRS = {pool.address: pool for pool in POOLS if not pool.v3}


@dataclass(frozen=True, slots=True)
class V2Swap:
    """A `Swap` event of a V2 pair, in smallest units."""

    pool: Pool
    token_in: Address
    amount_in: int
    amount_out: int


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of one transaction, simulated or mined."""

    succeeded: bool
    logs: Sequence[dict[str, Any]]

    def v2_swaps(self) -> list[V2Swap]:
        """Return the swaps on known V2 pairs, in order."""
        return [swap for log in self.logs if (swap := _v2_swap(log))]

    def gains(self, owner: Address) -> dict[Address, int]:
        """Return the change of each token balance of `owner`, in smallest units."""
        changes: dict[Address, int] = {}
        for log in self.logs:
            if log["topics"][0] != _TRANSFER or len(log["topics"]) != 3:
                continue
            amount = abi.word(bytes.fromhex(log["data"][2:]), 0)
            source, target = (_address(topic) for topic in log["topics"][1:])
            token = addresses.from_any_case(log["address"])
            change = amount * ((target == owner) - (source == owner))
            changes[token] = changes.get(token, 0) + change
        return {token: change for token, change in changes.items() if change}


def from_receipt(receipt: dict[str, Any]) -> ExecutionResult:
    """Return the result of a mined transaction."""
    return ExecutionResult(receipt["status"] == "0x1", receipt["logs"])


async def simulate(
    rpc: SandboxRpcClient, row: Sequence[PendingTransaction]
) -> list[ExecutionResult]:
    """Return the result of each transaction, executed in this order in the next block.

    An invalid one, such as without enough ETH for its gas, counts as failed and is left out.
    """
    if not row:
        return []
    try:
        return await _whole(rpc, row)
    except RpcError:  # the node rejects the whole sequence for one invalid transaction
        return await _one_by_one(rpc, row)


async def next_base_fee(rpc: SandboxRpcClient) -> int:
    """Return the base fee of the next block in wei per gas."""
    history = await rpc.call("eth_feeHistory", "0x1", "latest", [])
    return int(history["baseFeePerGas"][-1], 16)


async def _whole(rpc: SandboxRpcClient, row: Sequence[PendingTransaction]) -> list[ExecutionResult]:
    fee = await next_base_fee(rpc)
    block = {
        "blockOverrides": {"baseFeePerGas": hex(fee)},
        "calls": [tx.call(fee) for tx in row],
    }
    answer = await rpc.call("eth_simulateV1", {"blockStateCalls": [block]}, "latest")
    return [from_receipt(one) for one in answer[0]["calls"]]


async def _one_by_one(
    rpc: SandboxRpcClient, row: Sequence[PendingTransaction]
) -> list[ExecutionResult]:
    startable: list[PendingTransaction] = []
    outcomes: list[ExecutionResult] = []
    for tx in row:
        try:
            outcomes.append((await _whole(rpc, [*startable, tx]))[-1])
        except RpcError:
            outcomes.append(ExecutionResult(False, ()))
        else:
            startable.append(tx)
    return outcomes


def _v2_swap(log: dict[str, Any]) -> V2Swap | None:
    pool = _V2_PAIRS.get(addresses.from_any_case(log["address"]))
    if pool is None or log["topics"][0] != _V2_SWAP:
        return None
    data = bytes.fromhex(log["data"][2:])
    in0, in1, out0, out1 = (abi.word(data, at) for at in range(4))
    if in0 > 0:
        return V2Swap(pool, pool.first.address, in0, out1)
    return V2Swap(pool, pool.second.address, in1, out0)


def _address(topic: str) -> Address:
    return addresses.from_any_case("0x" + topic[-40:])
