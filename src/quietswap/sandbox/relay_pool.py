"""What a relay holds: private transactions that nobody but the block builder gets to see."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox.rawtx import BadTransaction, Signed, decode
from quietswap.sandbox.rpc import Rpc, RpcError

ENDPOINTS = ("fast", "noreverts", "fullprivacy", "maxbackruns", "nochecks")
REVERT_PROTECTED = frozenset({"noreverts", "fullprivacy", "maxbackruns"})
"""Endpoints that stop offering a transaction once it would revert (MEV Blocker, Endpoints)."""

_SIZE_CAP = 128 * 1024
_GAS_CAP = 16_777_216
_SEND_ERROR = -32000


class State(Enum):
    """What became of a transaction at the relay; whether it was mined, only the chain says."""

    HELD = "held"
    LOST = "lost"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Terms:
    """How a transaction was handed over: the endpoint and its query."""

    endpoint: str = "fast"
    share: str = "none"
    referrer: str | None = None
    refund_recipient: str | None = None
    soft_cancellations: bool = False


@dataclass(slots=True)
class Held:
    """One transaction and its life at the relay.

    `not_before` is the first block it may go into, `used_at` the block at which the chain was seen
    to have used its nonce, by it or by another.
    """

    transaction: Signed
    terms: Terms
    received_at: float = field(default_factory=time.time)
    state: State = State.HELD
    submissions: int = 1
    simulation_error: str | None = None
    not_before: int = 0
    reported_failed: bool = False
    used_at: int | None = None

    @property
    def is_protected(self) -> bool:
        """Whether it must not be mined while it would revert."""
        return self.terms.endpoint in REVERT_PROTECTED

    def fail(self, error: str) -> None:
        """Give it up because it cannot be mined."""
        self.state, self.simulation_error = State.FAILED, error


def refusal(text: str) -> RpcError:
    """Return geth's error for a transaction its pool does not take."""
    return RpcError(_SEND_ERROR, text)


class RelayPool:
    """The transactions one relay was given, by hash and by (sender, nonce). Never forgets a hash.

    Refusals use the words of go-ethereum's core/txpool (validation.go, errors.go).
    """

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._by_hash: dict[str, Held] = {}
        self._by_slot: dict[tuple[Address, int], Held] = {}
        self.refused: dict[str, int] = {}

    def __iter__(self) -> Iterator[Held]:
        return iter(self._by_hash.values())

    def get(self, tx_hash: str) -> Held | None:
        """Return the transaction with that hash, whatever became of it."""
        return self._by_hash.get(tx_hash)

    def knows(self, tx_hash: str) -> bool:
        """Whether the relay was ever given this transaction."""
        return tx_hash in self._by_hash

    async def accept(self, raw: bytes, terms: Terms) -> Held:
        """Hold a transaction. Raises RpcError with a node's words when it is not taken."""
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
        """Stop offering a transaction; best effort, like the relay's own promise."""
        held = self._by_hash.get(tx_hash)
        if held is None or held.state is not State.HELD:
            return False
        held.state = State.CANCELLED
        return True

    def offers(self, block: int) -> list[Held]:
        """Return what may go into block number `block`, by sender and nonce."""
        live = (h for h in self._by_slot.values() if h.state is State.HELD and h.used_at is None)
        ready = [h for h in live if h.not_before <= block]
        return sorted(ready, key=lambda h: (h.received_at, h.transaction.fields.nonce))

    def reorganised(self, above: int) -> None:
        """Offer again what the chain had used in blocks above number `above`: they are gone."""
        for held in self:
            if held.used_at is not None and held.used_at > above:
                held.used_at = None

    def pending_count(self, sender: Address, nonce: int) -> int:
        """Return the next nonce of `sender`, whose chain nonce is `nonce`, past what is held."""
        while (held := self._by_slot.get((sender, nonce))) and held.state is State.HELD:
            nonce += 1
        return nonce

    def _take(self, known: Held | None, transaction: Signed, terms: Terms) -> Held:
        slot = (transaction.sender, transaction.fields.nonce)
        rival = self._by_slot.get(slot)
        if rival is not None and rival.state is State.HELD:
            if not _outbids(transaction, rival.transaction):
                raise refusal("replacement transaction underpriced")
            rival.state = State.REPLACED
        held = known or Held(transaction, terms)
        held.state, held.terms, held.simulation_error = State.HELD, terms, None
        self._by_hash[transaction.hash] = self._by_slot[slot] = held
        return held

    def _is_soft_cancel(self, transaction: Signed, terms: Terms) -> bool:
        fields = transaction.fields
        rival = self._by_slot.get((transaction.sender, fields.nonce))
        return (
            terms.soft_cancellations
            and terms.endpoint in {"noreverts", "fullprivacy"}
            and fields.to == transaction.sender
            and not fields.data
            and rival is not None
            and rival.state is State.HELD
        )

    def _soft_cancelled(self, transaction: Signed, terms: Terms) -> Held:
        slot = (transaction.sender, transaction.fields.nonce)
        self._by_slot[slot].state = State.CANCELLED
        held = Held(transaction, terms, state=State.CANCELLED)
        self._by_hash[transaction.hash] = held
        return held

    async def _check(self, transaction: Signed) -> None:
        fields, sender = transaction.fields, transaction.sender
        if fields.chain_id != 1:
            text = f"invalid chain id for signer: have {fields.chain_id} want 1"
            raise refusal(f"invalid sender: {text}")
        if fields.gas > _GAS_CAP:
            text = f"transaction gas limit too high (cap: {_GAS_CAP}, tx: {fields.gas})"
            raise refusal(text)
        if fields.tip > fields.max_fee:
            raise refusal("max priority fee per gas higher than max fee per gas")
        if fields.gas < (needed := intrinsic_gas(fields.data)):
            raise refusal(f"intrinsic gas too low: gas {fields.gas}, minimum needed {needed}")
        if fields.gas < (floor := floor_gas(fields.data)):
            text = f"gas {fields.gas}, minimum needed {floor}"
            raise refusal(f"insufficient gas for floor data gas cost: {text}")
        nonce, balance = await self._account(sender)
        if fields.nonce < nonce:
            raise refusal(f"nonce too low: next nonce {nonce}, tx nonce {fields.nonce}")
        held = self._by_hash.get(transaction.hash)
        if held is not None and held.state is State.HELD:
            raise refusal("already known")
        if balance < transaction.cost:
            text = f"balance {balance}, tx cost {transaction.cost}"
            overshot = transaction.cost - balance
            raise refusal(
                f"insufficient funds for gas * price + value: {text}, overshot {overshot}"
            )

    async def _account(self, sender: Address) -> tuple[int, int]:
        answers: list[Any] = await self._rpc.batch(
            [
                ("eth_getTransactionCount", (sender, "latest")),
                ("eth_getBalance", (sender, "latest")),
            ]
        )
        return int(answers[0], 16), int(answers[1], 16)


def intrinsic_gas(data: bytes) -> int:
    """Return the least gas of a call (EIP-2028): 21 000, 4 per zero byte, 16 per other byte."""
    zeros = data.count(0)
    return 21_000 + 4 * zeros + 16 * (len(data) - zeros)


def floor_gas(data: bytes) -> int:
    """Return the least gas whatever the call does (EIP-7623): 10 per token, 4 per other byte."""
    return 21_000 + 10 * (4 * len(data) - 3 * data.count(0))


def _decoded(raw: bytes) -> Signed:
    if len(raw) > _SIZE_CAP:
        raise refusal(f"oversized data: transaction size {len(raw)}, limit {_SIZE_CAP}")
    try:
        return decode(raw)
    except BadTransaction as error:
        raise refusal(str(error)) from error


def _outbids(new: Signed, old: Signed) -> bool:
    """Whether both fees of `new` are a tenth higher, geth's default price bump."""
    pairs = ((new.fields.max_fee, old.fields.max_fee), (new.fields.tip, old.fields.tip))
    return all(mine * 10 >= theirs * 11 for mine, theirs in pairs) and new.hash != old.hash
