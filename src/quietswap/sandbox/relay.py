"""A private relay with MEV Blocker's protocol: JSON-RPC per endpoint, and a status page per hash.

Protocol: https://docs.mevblocker.io (endpoints, API reference, transaction status). Only the block
builder gets the transactions.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.chain.transactions import (
    BadTransaction,
    Transaction,
    TransactionFields,
    decode,
)
from quietswap.sandbox.faults import ActiveFaults, Fault
from quietswap.sandbox.http_server import (
    Answer,
    HttpRequest,
    HttpResponse,
    close_silently,
    json_reply,
)
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient

ENDPOINTS = ("fast", "noreverts", "fullprivacy", "maxbackruns", "nochecks")
REVERT_PROTECTED = frozenset({"noreverts", "maxbackruns"})
"""Endpoints that drop a transaction that would revert; MEV Blocker promises it for no other."""

_SIZE_CAP = 128 * 1024
_GAS_CAP = 16_777_216
_SEND_ERROR = -32000
_LATEST = ("latest", False)


class RelayTransactionState(Enum):
    """The relay's state of a transaction. Only the chain shows whether it was mined."""

    HELD = "held"
    LOST = "lost"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class SubmissionOptions:
    endpoint: str = "fast"
    share: str = "none"
    referrer: str | None = None
    refund_recipient: str | None = None
    soft_cancellations: bool = False


@dataclass(slots=True)
class RelayTransaction:
    """One transaction and its state at the relay.

    `not_before` is the first block that may include it. `used_at` is the block in which its nonce
    was found used, by it or by another transaction. `refund_wei` is reported once it is mined, and
    paid if `refund_is_paid`.
    """

    transaction: Transaction
    terms: SubmissionOptions
    received_at: float = field(default_factory=time.time)
    state: RelayTransactionState = RelayTransactionState.HELD
    submissions: int = 1
    simulation_error: str | None = None
    not_before: int = 0
    reported_failed: bool = False
    used_at: int | None = None
    refund_wei: int = 0
    refund_is_paid: bool = False

    @property
    def is_held(self) -> bool:
        return self.state is RelayTransactionState.HELD

    @property
    def is_protected(self) -> bool:
        """Whether it must not be mined when it would revert."""
        return self.terms.endpoint in REVERT_PROTECTED

    def fail(self, error: str) -> None:
        self.state, self.simulation_error = RelayTransactionState.FAILED, error


def refusal(text: str) -> RpcError:
    """Return geth's error for a transaction that its pool rejects."""
    return RpcError(_SEND_ERROR, text)


class RelayPool:
    """All transactions that were submitted to one relay, by hash and by (sender, nonce).

    Error messages are those of go-ethereum's core/txpool (validation.go, errors.go).
    """

    def __init__(self, rpc: SandboxRpcClient) -> None:
        self._rpc = rpc
        self._by_hash: dict[str, RelayTransaction] = {}
        self._by_slot: dict[tuple[Address, int], RelayTransaction] = {}
        self.refused: dict[str, int] = {}

    def __iter__(self) -> Iterator[RelayTransaction]:
        return iter(self._by_hash.values())

    def get(self, tx_hash: str) -> RelayTransaction | None:
        return self._by_hash.get(tx_hash)

    async def accept(self, raw: bytes, terms: SubmissionOptions) -> RelayTransaction:
        """Hold a transaction. Raises RpcError with geth's message when it is rejected."""
        transaction = _decoded(raw)
        earlier = self._by_hash.get(transaction.hash)
        if earlier is not None:
            earlier.submissions += 1
        try:
            await self._check(transaction)
        except RpcError:
            if earlier is None:
                self.refused[transaction.hash] = self.refused.get(transaction.hash, 0) + 1
            raise
        cancellation = self._soft_cancelled(transaction, terms)
        return cancellation or self._take(earlier, transaction, terms)

    def cancel(self, tx_hash: str) -> bool:
        """Stop offering a transaction, and return whether it was held."""
        pending = self._by_hash.get(tx_hash)
        if pending is None or not pending.is_held:
            return False
        pending.state = RelayTransactionState.CANCELLED
        return True

    def offers(self, block: int) -> list[RelayTransaction]:
        """Return what may go into block number `block`, by time of receipt and nonce."""
        live = (held for held in self._by_slot.values() if held.is_held and held.used_at is None)
        ready = [held for held in live if held.not_before <= block]
        return sorted(ready, key=lambda held: (held.received_at, held.transaction.fields.nonce))

    def reorganised(self, above: int) -> None:
        """Mark transactions mined above block `above` as not mined; a reorg removed the blocks."""
        for held in self:
            if held.used_at is not None and held.used_at > above:
                held.used_at = None

    def pending_count(self, sender: Address, nonce: int) -> int:
        """Return the next nonce of `sender` after its held transactions; `nonce` is the chain's."""
        while (held := self._by_slot.get((sender, nonce))) and held.is_held:
            nonce += 1
        return nonce

    def _take(
        self, known: RelayTransaction | None, transaction: Transaction, terms: SubmissionOptions
    ) -> RelayTransaction:
        rival = self._by_slot.get(transaction.slot)
        if rival is not None and rival.is_held:
            if not _outbids(transaction, rival.transaction):
                raise refusal("replacement transaction underpriced")
            rival.state = RelayTransactionState.REPLACED
        pending = known or RelayTransaction(transaction, terms)
        pending.state, pending.terms, pending.simulation_error = (
            RelayTransactionState.HELD,
            terms,
            None,
        )
        self._by_hash[transaction.hash] = self._by_slot[transaction.slot] = pending
        return pending

    def _soft_cancelled(
        self, transaction: Transaction, terms: SubmissionOptions
    ) -> RelayTransaction | None:
        """Return the transaction if it cancels a held one without being mined itself."""
        rival, is_empty = self._by_slot.get(transaction.slot), not transaction.fields.data
        is_possible = terms.soft_cancellations and terms.endpoint in {"noreverts", "fullprivacy"}
        is_to_self = transaction.fields.to == transaction.sender
        if not (is_possible and is_to_self and is_empty and rival and rival.is_held):
            return None
        rival.state = RelayTransactionState.CANCELLED
        cancelled = RelayTransaction(transaction, terms, state=RelayTransactionState.CANCELLED)
        self._by_hash[transaction.hash] = cancelled
        return cancelled

    async def _check(self, transaction: Transaction) -> None:
        fields, cost = transaction.fields, transaction.cost
        if fields.chain_id != 1:
            text = f"invalid chain id for signer: have {fields.chain_id} want 1"
            raise refusal(f"invalid sender: {text}")
        if fields.gas > _GAS_CAP:
            raise refusal(f"transaction gas limit too high (cap: {_GAS_CAP}, tx: {fields.gas})")
        if fields.tip > fields.max_fee:
            raise refusal("max priority fee per gas higher than max fee per gas")
        account = transaction.sender, "latest"
        calls = [("eth_getTransactionCount", account), ("eth_getBalance", account)]
        *answers, head = await self._rpc.batch([*calls, ("eth_getBlockByNumber", _LATEST)])
        nonce, balance = (int(answer, 16) for answer in answers)
        if "blockAccessListHash" not in head:  # Amsterdam has other rules (EIP-2780)
            _check_gas(fields)
        if fields.nonce < nonce:
            raise refusal(f"nonce too low: next nonce {nonce}, tx nonce {fields.nonce}")
        pending = self._by_hash.get(transaction.hash)
        if pending is not None and pending.is_held:
            raise refusal("already known")
        if balance < cost:
            text = f"balance {balance}, tx cost {cost}, overshot {cost - balance}"
            raise refusal(f"insufficient funds for gas * price + value: {text}")


def _check_gas(fields: TransactionFields) -> None:
    if fields.gas < (needed := intrinsic_gas(fields.data)):
        raise refusal(f"intrinsic gas too low: gas {fields.gas}, minimum needed {needed}")
    if fields.gas < (floor := floor_gas(fields.data)):
        text = f"gas {fields.gas}, minimum needed {floor}"
        raise refusal(f"insufficient gas for floor data gas cost: {text}")


def intrinsic_gas(data: bytes) -> int:
    """Return the intrinsic gas of a call (EIP-2028): 21 000, 4 per zero byte, 16 per other byte."""
    zeros = data.count(0)
    return 21_000 + 4 * zeros + 16 * (len(data) - zeros)


def floor_gas(data: bytes) -> int:
    """Return the floor of the gas (EIP-7623): 21 000, 10 per zero byte, 40 per other byte."""
    return 21_000 + 10 * (4 * len(data) - 3 * data.count(0))


def _decoded(raw: bytes) -> Transaction:
    if len(raw) > _SIZE_CAP:
        raise refusal(f"oversized data: transaction size {len(raw)}, limit {_SIZE_CAP}")
    try:
        return decode(raw)
    except BadTransaction as error:
        raise refusal(str(error)) from error


def _outbids(new: Transaction, old: Transaction) -> bool:
    """Whether both fees of `new` are 10 % higher, geth's default price bump."""
    pairs = ((new.fields.max_fee, old.fields.max_fee), (new.fields.tip, old.fields.tip))
    return all(mine * 10 >= theirs * 11 for mine, theirs in pairs) and new.hash != old.hash


_PROXIED = {
    "eth_chainId", "net_version", "eth_blockNumber", "eth_getBalance", "eth_getCode",
    "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_call", "eth_estimateGas",
    "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getTransactionReceipt",
    "eth_getStorageAt", "eth_getLogs",
}  # fmt: skip
_REVERTED = 3
"""geth's error code for a call that reverts."""


class _AnswerLost(Exception):
    """The request was processed, and its answer must not be sent."""


class SandboxRelay:
    """One relay: `handle` serves HTTP, and the block builder reads `pool`."""

    def __init__(self, name: str, rpc: SandboxRpcClient, active_faults: ActiveFaults) -> None:
        self.name = name
        self.pool = RelayPool(rpc)
        self._rpc = rpc
        self._active_faults = active_faults

    def offers(self, block: int) -> list[RelayTransaction]:
        """Return what may go into block number `block`; nothing under the fault `withhold`."""
        return [] if self._active_faults.shows(self.name, "withhold") else self.pool.offers(block)

    async def handle(self, request: HttpRequest) -> Answer:
        """Serve `GET /tx/<hash>` and JSON-RPC on `/`, `/fast`, `/noreverts`, `/fullprivacy`."""
        page = request.path.strip("/")
        if request.method == "GET" and page.startswith("tx/"):
            return json_reply(await self.status(page.removeprefix("tx/").lower()))
        if page and page not in ENDPOINTS:
            return HttpResponse(404, b"not found", "text/plain")
        if request.method != "POST":
            return HttpResponse(405, b"method not allowed", "text/plain")
        terms = _terms(page or "fast", request.query)

        async def method(name: str, params: list[Any]) -> Any:
            return await self._call(name, params, terms)

        try:
            return await rpc_server.answer(rpc_server.read(request), method)
        except rpc_server.InvalidRpcRequest as fault:
            return fault.reply
        except _AnswerLost:
            return close_silently

    async def status(self, tx_hash: str) -> dict[str, Any]:
        pending = self.pool.get(tx_hash)
        if pending is None or pending.state is RelayTransactionState.LOST:
            return _unknown(tx_hash)
        receipt = await self._rpc.call("eth_getTransactionReceipt", tx_hash)
        failed = not pending.is_held or pending.reported_failed
        page = _page(pending, "INCLUDED" if receipt else "FAILED" if failed else "UNKNOWN")
        if receipt and pending.refund_wei:
            page |= {"backruns": 1, "refund": pending.refund_wei / 10**18}
        return page

    async def _call(self, name: str, params: list[Any], terms: SubmissionOptions) -> Any:
        if name == "eth_sendRawTransaction":
            return await self._send(_bytes(params), terms)
        if name == "eth_cancelTransaction":
            return self.pool.cancel(str(params[0]).lower()) if params else False
        if name == "eth_getTransactionCount":
            return await self._count(params)
        if name == "eth_getTransactionByHash":
            return await self._transaction(str(params[0]).lower() if params else "")
        if name not in _PROXIED:
            raise RpcError(-32601, f"Method not found: {name}")
        return await self._rpc.call(name, *params)

    async def _send(self, raw: bytes, terms: SubmissionOptions) -> str:
        fault = self._active_faults.of(self.name)
        if fault is not None and fault.kind == "refuse":
            raise refusal(fault.argument)
        pending = await self.pool.accept(raw, terms)
        if fault is not None:
            await self._spoil(pending, fault)
        return pending.transaction.hash

    async def _spoil(self, held: RelayTransaction, fault: Fault) -> None:
        match fault.kind:
            case "lose":
                held.state = RelayTransactionState.LOST
            case "failed_then_mine":
                held.not_before = await self._rpc.number("eth_blockNumber") + fault.number
                held.reported_failed, held.simulation_error = True, "execution reverted"
            case "reverted_then_mine":
                held.not_before = await self._rpc.number("eth_blockNumber") + fault.number
                raise RpcError(_REVERTED, "execution reverted")
            case "refund" | "false_refund" if held.terms.endpoint != "fullprivacy":
                held.refund_wei, held.refund_is_paid = fault.wei, fault.kind == "refund"
            case "already_known":
                raise refusal("already known")
            case "answer_lost":
                raise _AnswerLost

    async def _count(self, params: list[Any]) -> str:
        count: str = await self._rpc.call("eth_getTransactionCount", *params)
        if len(params) < 2 or params[1] != "pending":
            return count
        try:
            sender = addresses.from_any_case(str(params[0]))
        except addresses.BadAddress as error:
            raise RpcError(-32602, str(error)) from error
        return hex(self.pool.pending_count(sender, int(count, 16)))

    async def _transaction(self, tx_hash: str) -> Any:
        mined = await self._rpc.call("eth_getTransactionByHash", tx_hash)
        pending = self.pool.get(tx_hash)
        if mined is not None or pending is None or not pending.is_held:
            return mined
        return _unsigned(pending)


def _terms(endpoint: str, query: dict[str, str]) -> SubmissionOptions:
    share = next((name for name in ("shareAll", "shareSafe") if query.get(name)), "none")
    soft = query.get("softCancellations", "").lower() in {"1", "true"}
    recipient = query.get("refundRecipient")
    return SubmissionOptions(endpoint, share, query.get("referrer"), recipient, soft)


def _bytes(params: list[Any]) -> bytes:
    text = params[0] if params else None
    if not isinstance(text, str) or not text.startswith("0x"):
        raise RpcError(-32602, "invalid argument 0: hex string without 0x prefix")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise RpcError(-32602, "invalid argument 0: invalid hex string") from error


def _unsigned(held: RelayTransaction) -> dict[str, Any]:
    """Return a pending transaction in MEV Blocker's format, which has no signature."""
    transaction, fields = held.transaction, held.transaction.fields
    return {
        "accessList": [], "blockHash": None, "blockNumber": None, "transactionIndex": None,
        "chainId": hex(fields.chain_id), "from": transaction.sender.lower(),
        "gas": hex(fields.gas), "gasPrice": "0x0", "hash": transaction.hash,
        "input": "0x" + fields.data.hex(), "maxFeePerGas": hex(fields.max_fee),
        "maxPriorityFeePerGas": hex(fields.tip), "nonce": hex(fields.nonce),
        "to": fields.to.lower(), "type": "0x2", "value": hex(fields.value),
        "r": "0x0", "s": "0x0", "v": "0x0", "yParity": "0x0",
    }  # fmt: skip


def _page(held: RelayTransaction, status: str) -> dict[str, Any]:
    fields, terms = held.transaction.fields, held.terms
    sent = {"from": held.transaction.sender.lower(), "to": fields.to.lower()}
    return _unknown(held.transaction.hash) | {
        "status": status,
        "rpc_timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(held.received_at)),
        "transaction": sent | {n: str(getattr(fields, n)) for n in ("gas", "nonce", "value")},
        "fastMode": terms.endpoint == "fast",
        "shared": terms.endpoint != "fullprivacy",
        "simulationError": held.simulation_error,
        "referrer": terms.referrer or "No Referrer",
        "refundRecipient": terms.refund_recipient,
    }


def _unknown(tx_hash: str) -> dict[str, Any]:
    return {
        "status": "UNKNOWN",
        "hash": tx_hash,
        "rpc_timestamp": None,
        "transaction": dict.fromkeys(("from", "to", "gas", "nonce", "value"), ""),
        "fastMode": True,
        "shared": False,
        "simulationError": None,
        "backruns": 0,
        "referrer": None,
        "refundRecipient": None,
        "refund": 0.0,
    }
