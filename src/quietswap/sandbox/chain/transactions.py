"""EIP-1559 transactions: as bytes, in the public mempool, and simulated.

The service decodes transactions with code of its own (`chain.signed`). The sandbox uses `rlp` and
`eth-keys`, the libraries below eth-account, so that two independent readers of
https://eips.ethereum.org/EIPS/eip-1559 agree. eth-account itself takes 0.4 s more to import.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import rlp
from eth_keys.datatypes import PrivateKey, Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from rlp.sedes import Binary, List, big_endian_int, binary

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import POOLS, Pool
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient

_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_NUMBERS = [big_endian_int] * 5
_SHAPE = List([*_NUMBERS, Binary.fixed_length(20), big_endian_int, binary, List([]), *_NUMBERS[:3]])
"""Chain id, nonce, tip, fee cap, gas, `to`, value, data, empty access list, y parity, r, s."""


class BadTransaction(ValueError):
    """The bytes are not a transaction that a node accepts; the message is geth's."""


@dataclass(frozen=True, slots=True)
class TransactionFields:
    """The fields that a wallet signs, in wei and gas units; `to` is empty for a deployment."""

    nonce: int
    to: Address
    data: bytes
    gas: int
    max_fee: int
    tip: int = 0
    value: int = 0
    chain_id: int = 1


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction: `hash` as 0x text; `raw` is empty for one that was read from the mempool."""

    hash: str
    sender: Address
    fields: TransactionFields
    raw: bytes = field(default=b"", compare=False)

    @property
    def slot(self) -> tuple[Address, int]:
        """(sender, nonce), which only one mined transaction can have."""
        return self.sender, self.fields.nonce

    @property
    def cost(self) -> int:
        """The most wei that the transaction can take from its sender."""
        return self.fields.gas * self.fields.max_fee + self.fields.value

    def call(self, base_fee: int) -> dict[str, Any]:
        """Return the call object for `eth_simulateV1`, with the gas price that a contract reads."""
        own = self.fields
        called = {"from": self.sender, "value": hex(own.value), "gas": hex(own.gas)}
        called["gasPrice"] = hex(min(own.max_fee, base_fee + own.tip))
        called["input"] = "0x" + own.data.hex()
        return called | ({"to": own.to} if own.to else {})


def sign(fields: TransactionFields, private_key: str) -> Transaction:
    """Return the transaction signed with `private_key` (0x and 64 hexadecimal digits)."""
    numbers = fields.chain_id, fields.nonce, fields.tip, fields.max_fee, fields.gas
    unsigned = [*numbers, addresses.to_bytes(fields.to), fields.value, fields.data, []]
    key = PrivateKey(bytes.fromhex(private_key.removeprefix("0x")))
    signature = key.sign_msg_hash(_digest(unsigned)).vrs
    return decode(b"\x02" + rlp.encode([*unsigned, *signature]))


def decode(raw: bytes) -> Transaction:
    if not raw:
        raise BadTransaction("typed transaction too short")
    if raw[0] != 2:
        raise BadTransaction("transaction type not supported")
    try:
        items = rlp.decode(raw[1:], _SHAPE)
    except (rlp.DecodingError, RecursionError) as error:
        raise BadTransaction("rlp: value size exceeds available input length") from error
    except rlp.DeserializationError as error:
        raise BadTransaction("rlp: the transaction has not the shape of type 2") from error
    chain_id, nonce, tip, max_fee, gas, to, value, data, _, *signature = items
    if max(chain_id, nonce, tip, max_fee, gas, value) >= 2**256:
        raise BadTransaction("rlp: input string too long for uint256")
    to = addresses.from_bytes(to)
    fields = TransactionFields(nonce, to, data, gas, max_fee, tip, value, chain_id)
    sender = _signer(_digest(items[:9]), *signature)
    return Transaction("0x" + keccak256(raw).hex(), sender, fields, raw)


def _digest(unsigned: Sequence[Any]) -> bytes:
    return keccak256(b"\x02" + rlp.encode(unsigned))


def _signer(digest: bytes, parity: int, r: int, s: int) -> Address:
    try:
        if s > _HALF_ORDER:  # EIP-2; libraries accept it
            raise BadSignature("s is high")
        key = Signature(vrs=(parity, r, s)).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError) as error:
        raise BadTransaction("invalid transaction v, r, s values") from error
    return addresses.from_bytes(key.to_canonical_address())


async def pending(rpc: SandboxRpcClient, record: set[str]) -> list[Transaction]:
    """Return what could be mined now, by tip and then by sender and nonce. Record all hashes.

    Transactions with a nonce gap are recorded, but not returned.
    """
    content = await rpc.call("txpool_content")
    parts = (content[part].values() for part in ("pending", "queued"))
    ready, ahead = ([tx for by in part for tx in by.values()] for part in parts)
    record.update(tx["hash"] for tx in (*ready, *ahead))
    return sorted(map(_pending, ready), key=lambda tx: (-tx.fields.tip, *tx.slot))


def _pending(tx: dict[str, Any]) -> Transaction:
    price = tx.get("gasPrice") or "0x0"
    fields = TransactionFields(
        nonce=int(tx["nonce"], 16),
        to=addresses.from_any_case(tx["to"]) if tx.get("to") else Address(""),
        data=bytes.fromhex(tx["input"][2:]),
        gas=int(tx["gas"], 16),
        max_fee=int(tx.get("maxFeePerGas") or price, 16),
        tip=int(tx.get("maxPriorityFeePerGas") or price, 16),
        value=int(tx["value"], 16),
    )
    return Transaction(tx["hash"], addresses.from_any_case(tx["from"]), fields)


async def raws(rpc: SandboxRpcClient, hashes: Iterable[str]) -> dict[str, bytes]:
    """Return the signed bytes of the transactions that the node has, pending or mined."""
    requested = list(hashes)
    signed = await rpc.each("eth_getRawTransactionByHash", requested)
    return {one: bytes.fromhex(raw[2:]) for one, raw in zip(requested, signed, strict=True) if raw}


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
    succeeded: bool
    logs: Sequence[dict[str, Any]]

    def v2_swaps(self) -> list[V2Swap]:
        return [swap for log in self.logs if (swap := _v2_swap(log))]

    def gains(self, owner: Address) -> dict[Address, int]:
        """Return the change of each token balance of `owner`, in smallest units."""
        changes: dict[Address, int] = {}
        for log in self.logs:
            if log["topics"][0] != _TRANSFER or len(log["topics"]) != 3:
                continue
            amount = abi.word(bytes.fromhex(log["data"][2:]), 0)
            source, target = (addresses.from_any_case("0x" + t[-40:]) for t in log["topics"][1:])
            token = addresses.from_any_case(log["address"])
            change = amount * ((target == owner) - (source == owner))
            changes[token] = changes.get(token, 0) + change
        return {token: change for token, change in changes.items() if change}


def from_receipt(receipt: dict[str, Any]) -> ExecutionResult:
    return ExecutionResult(receipt["status"] == "0x1", receipt["logs"])


async def simulate(rpc: SandboxRpcClient, row: Sequence[Transaction]) -> list[ExecutionResult]:
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
    history = await rpc.call("eth_feeHistory", "0x1", "latest", [])
    return int(history["baseFeePerGas"][-1], 16)


async def _whole(rpc: SandboxRpcClient, row: Sequence[Transaction]) -> list[ExecutionResult]:
    fee = await next_base_fee(rpc)
    calls = [tx.call(fee) for tx in row]
    block = {"blockOverrides": {"baseFeePerGas": hex(fee)}, "calls": calls}
    answer = await rpc.call("eth_simulateV1", {"blockStateCalls": [block]}, "latest")
    return [from_receipt(one) for one in answer[0]["calls"]]


async def _one_by_one(rpc: SandboxRpcClient, row: Sequence[Transaction]) -> list[ExecutionResult]:
    startable: list[Transaction] = []
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
