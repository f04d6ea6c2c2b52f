"""The private transactions of a relay. Only the block builder reads them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from quietswap.domain.address import Address
from quietswap.sandbox.chain.transactions import BadTransaction, DecodedTransaction, decode
from quietswap.sandbox.wire.rpc_client import RpcError, SandboxRpcClient

ENDPOINTS = ("fast", "noreverts", "fullprivacy", "maxbackruns", "nochecks")
REVERT_PROTECTED = frozenset({"noreverts", "fullprivacy", "maxbackruns"})
"""Endpoints that drop a transaction that would revert (MEV Blocker, Endpoints)."""

_SIZE_CAP = 128 * 1024
_GAS_CAP = 16_777_216
_SEND_ERROR = -32000


class RelayTransactionState(Enum):
    """The relay's state of a transaction. Only the chain shows whether it was mined."""

    HELD = "held"
    LOST = "lost"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class SubmissionOptions:
    """How a transaction was submitted: the endpoint and its query."""

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

    transaction: DecodedTransaction
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
    def is_protected(self) -> bool:
        """Whether it must not be mined when it would revert."""
        return self.terms.endpoint in REVERT_PROTECTED

    def fail(self, error: str) -> None:
        """Set the state FAILED, because it cannot be mined."""
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
        """Return the transaction with that hash in any state."""
        return self._by_hash.get(tx_hash)

    def knows(self, tx_hash: str) -> bool:
        """Whether this transaction was ever accepted."""
        return tx_hash in self._by_hash

    async def accept(self, raw: bytes, terms: SubmissionOptions) -> RelayTransaction:
        """Hold a transaction. Raises RpcError with geth's message when it is rejected."""
        transaction = _decoded(raw)
        known = self._by_hash.get(transaction.hash)
        if known is not None:
            known.submissions += 1
        try:
            await self._check(transaction)
        except RpcError:
            if known is None:
                self.refused[transaction.hash] = self.refused.get(transaction.hash, 0) + 1
            raise
        if self._is_soft_cancel(transaction, terms):
            return self._soft_cancelled(transaction, terms)
        return self._take(known, transaction, terms)

    def cancel(self, tx_hash: str) -> bool:
        """Stop offering a transaction, and return whether it was held."""
        held = self._by_hash.get(tx_hash)
        if held is None or held.state is not RelayTransactionState.HELD:
            return False
        held.state = RelayTransactionState.CANCELLED
        return True

    def offers(self, block: int) -> list[RelayTransaction]:
        """Return what may go into block number `block`, by time of receipt and nonce."""
        live = (
            h
            for h in self._by_slot.values()
            if h.state is RelayTransactionState.HELD and h.used_at is None
        )
        ready = [h for h in live if h.not_before <= block]
        return sorted(ready, key=lambda h: (h.received_at, h.transaction.fields.nonce))

    def reorganised(self, above: int) -> None:
        """Mark transactions mined above block `above` as not mined; a reorg removed the blocks."""
        for held in self:
            if held.used_at is not None and held.used_at > above:
                held.used_at = None

    def pending_count(self, sender: Address, nonce: int) -> int:
        """Return the next nonce of `sender` after its held transactions; `nonce` is the chain's."""
        while (
            held := self._by_slot.get((sender, nonce))
        ) and held.state is RelayTransactionState.HELD:
            nonce += 1
        return nonce

    def _take(
        self,
        known: RelayTransaction | None,
        transaction: DecodedTransaction,
        terms: SubmissionOptions,
    ) -> RelayTransaction:
        slot = (transaction.sender, transaction.fields.nonce)
        rival = self._by_slot.get(slot)
        if rival is not None and rival.state is RelayTransactionState.HELD:
            if not _outbids(transaction, rival.transaction):
                raise refusal("replacement transaction underpriced")
            rival.state = RelayTransactionState.REPLACED
        held = known or RelayTransaction(transaction, terms)
        held.state, held.terms, held.simulation_error = RelayTransactionState.HELD, terms, None
        self._by_hash[transaction.hash] = self._by_slot[slot] = held
        return held

    def _is_soft_cancel(self, transaction: DecodedTransaction, terms: SubmissionOptions) -> bool:
        fields = transaction.fields
        rival = self._by_slot.get((transaction.sender, fields.nonce))
        return (
            terms.soft_cancellations
            and terms.endpoint in {"noreverts", "fullprivacy"}
            and fields.to == transaction.sender
            and not fields.data
            and rival is not None
            and rival.state is RelayTransactionState.HELD
        )

    def _soft_cancelled(
        self, transaction: DecodedTransaction, terms: SubmissionOptions
    ) -> RelayTransaction:
        self._by_slot[
            transaction.sender, transaction.fields.nonce
        ].state = RelayTransactionState.CANCELLED
        held = self._by_hash[transaction.hash] = RelayTransaction(
            transaction, terms, state=RelayTransactionState.CANCELLED
        )
        return held

    async def _check(self, transaction: DecodedTransaction) -> None:
        fields, cost = transaction.fields, transaction.cost
        if fields.chain_id != 1:
            text = f"invalid chain id for signer: have {fields.chain_id} want 1"
            raise refusal(f"invalid sender: {text}")
        if fields.gas > _GAS_CAP:
            raise refusal(f"transaction gas limit too high (cap: {_GAS_CAP}, tx: {fields.gas})")
        if fields.tip > fields.max_fee:
            raise refusal("max priority fee per gas higher than max fee per gas")
        if fields.gas < (needed := intrinsic_gas(fields.data)):
            raise refusal(f"intrinsic gas too low: gas {fields.gas}, minimum needed {needed}")
        if fields.gas < (floor := floor_gas(fields.data)):
            text = f"gas {fields.gas}, minimum needed {floor}"
            raise refusal(f"insufficient gas for floor data gas cost: {text}")
        account = transaction.sender, "latest"
        calls = [("eth_getTransactionCount", account), ("eth_getBalance", account)]
        nonce, balance = (int(answer, 16) for answer in await self._rpc.batch(calls))
        if fields.nonce < nonce:
            raise refusal(f"nonce too low: next nonce {nonce}, tx nonce {fields.nonce}")
        held = self._by_hash.get(transaction.hash)
        if held is not None and held.state is RelayTransactionState.HELD:
            raise refusal("already known")
        if balance < cost:
            text = f"balance {balance}, tx cost {cost}, overshot {cost - balance}"
            raise refusal(f"insufficient funds for gas * price + value: {text}")


def intrinsic_gas(data: bytes) -> int:
    """Return the intrinsic gas of a call (EIP-2028): 21 000, 4 per zero byte, 16 per other byte."""
    zeros = data.count(0)
    return 21_000 + 4 * zeros + 16 * (len(data) - zeros)


def floor_gas(data: bytes) -> int:
    """Return the floor of the gas (EIP-7623): 21 000, 10 per zero byte, 40 per other byte."""
    return 21_000 + 10 * (4 * len(data) - 3 * data.count(0))


def _decoded(raw: bytes) -> DecodedTransaction:
    if len(raw) > _SIZE_CAP:
        raise refusal(f"oversized data: transaction size {len(raw)}, limit {_SIZE_CAP}")
    try:
        return decode(raw)
    except BadTransaction as error:
        raise refusal(str(error)) from error


def _outbids(new: DecodedTransaction, old: DecodedTransaction) -> bool:
    """Whether both fees of `new` are 10 % higher, geth's default price bump."""
    pairs = ((new.fields.max_fee, old.fields.max_fee), (new.fields.tip, old.fields.tip))
    return all(mine * 10 >= theirs * 11 for mine, theirs in pairs) and new.hash != old.hash
