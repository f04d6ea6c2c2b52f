"""A chain whose blocks a test writes, and which can lag, fork, lose receipts or be away."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.received import Movements
from quietswap.rules.chain.records import (
    Block,
    BlockTransaction,
    CallReverts,
    DryRun,
    Head,
    NodeUnavailable,
    Receipt,
    SignedSwap,
    WalletSnapshot,
)
from quietswap.rules.orders.order import Order
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from tests.manual_clock import ManualClock
from tests.signing import ROUTER

FIRST_NUMBER = 1_000
SLOT_S = 12


@dataclass(frozen=True)
class Tx:
    """A transaction to put into a block."""

    hash: str
    sender: Address
    nonce: int
    to: str = ROUTER
    data_size: int = 68
    succeeded: bool = True
    value: int = 0
    movements: Movements | None = None

    @classmethod
    def of(cls, order: Order, **changes: object) -> "Tx":
        """Return the order's own transaction, or one that takes its nonce."""
        return replace(cls(order.tx_hash, order.wallet, order.nonce), **changes)  # type: ignore[arg-type]


def as_block_transaction(tx: Tx) -> BlockTransaction:
    return BlockTransaction(tx.hash, tx.sender, tx.nonce, Address(tx.to), tx.value, tx.data_size)


class ScriptedChain:
    """Implements the parts of quietswap.rules.chain.records.ChainReader that follow orders.

    `lag` hides the newest blocks, `fork` shows other blocks than the canonical ones; both for the
    methods in `astray` alone, where it is not empty. `hidden` holds hashes whose receipts are not
    there yet, `unreadable` those whose receipts the node cannot deliver. `failing` names methods
    that raise NodeUnavailable, `unread_blocks` the hashes of blocks that do.
    """

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self._serial = count(1)
        self._receipts: dict[str, dict[str, Tx]] = {}
        self._blocks_of: defaultdict[str, set[str]] = defaultdict(set)
        self.lag = 0
        self.fork: list[Block] | None = None
        self.astray: set[str] = set()
        self.hidden: set[str] = set()
        self.unreadable: set[str] = set()
        self.unread_blocks: set[str] = set()
        self.failing: set[str] = set()
        self.finalized = FIRST_NUMBER
        self.next_base_fee = 10**9
        self.fork_s: int | None = None
        self.is_amsterdam = False
        self.pending = 0
        self.flipped: dict[Address, int] = {}
        """Counts of `latest` that no block agrees with."""
        self.block_facts: BlockFacts | None = None
        """What the blocks mined from now on say of themselves."""
        self.code_used: dict[Address, int] = {}
        """Counts that no transaction of the wallet made, but its code, at every block."""
        self.facts = WalletSnapshot(
            head=FIRST_NUMBER,
            nonce=7,
            eth_balance=10**19,
            token_balance=10**19,
            allowance=10**19,
        )
        self.dry_run = DryRun(True, 10**30)
        self.gas: int | None = None
        self.tried: list[list[SignedSwap]] = []
        self.calls: Counter[str] = Counter()
        before = self._block(FIRST_NUMBER - 1, "0x" + "00" * 32, ())
        before = replace(before, time=before.time - 2 * 3600)
        self.blocks = [before, self._block(FIRST_NUMBER, before.hash, ())]

    def mine(self, *txs: Tx, blocks: int = 1) -> Block:
        """Add blocks, a slot apart; the transactions go into the first of them."""
        for _ in range(blocks):
            self.clock.advance(SLOT_S)
            tip = self.blocks[-1]
            self.blocks.append(self._block(tip.number + 1, tip.hash, txs))
            txs = ()
        return self.blocks[-blocks]

    def reorg(self, depth: int, *txs: Tx, length: int | None = None) -> None:
        """Replace the newest `depth` blocks by `length` others; `txs` go into the first."""
        self.blocks = self.branch(depth, *txs, length=length)

    def branch(self, depth: int, *txs: Tx, length: int | None = None) -> list[Block]:
        """Return another chain that leaves this one `depth` blocks before its end."""
        blocks = self.blocks[:-depth]
        for _ in range(depth if length is None else length):
            blocks.append(self._block(blocks[-1].number + 1, blocks[-1].hash, txs))
            txs = ()
        return blocks

    def succeeded(self, block_hash: str, tx_hash: str) -> bool:
        """Return whether a transaction of a block did not revert."""
        return self._receipts[block_hash][tx_hash].succeeded

    def child_of(self, parent: Block, *txs: Tx, time: int) -> Block:
        """Return a block after `parent` with a time of its own, in Unix seconds."""
        return replace(self._block(parent.number + 1, parent.hash, txs), time=time)

    def _block(self, number: int, parent: str, txs: Sequence[Tx]) -> Block:
        block_hash = f"0x{next(self._serial):064x}"
        self._receipts[block_hash] = {tx.hash: tx for tx in txs}
        for tx in txs:
            self._blocks_of[tx.hash].add(block_hash)
        return Block(
            number=number,
            hash=block_hash,
            parent_hash=parent,
            time=self.clock.now_ms() // 1000,
            transactions=tuple(map(as_block_transaction, txs)),
            facts=self.block_facts,
        )

    def _seen(self, method: str) -> list[Block]:
        self.calls[method] += 1
        if method in self.failing or "all" in self.failing:
            raise NodeUnavailable(f"{method} failed")
        if self.astray and method not in self.astray:
            return self.blocks
        chain = self.fork or self.blocks
        return chain[: len(chain) - self.lag]

    async def head(self, max_age_s: float | None = None) -> Head:
        return self._head_of(self._seen("head"))

    def _head_of(self, blocks: Sequence[Block]) -> Head:
        tip = blocks[-1]
        return Head(
            tip.number,
            tip.hash,
            tip.parent_hash,
            tip.time,
            10**9,
            self.next_base_fee,
            is_amsterdam=self.is_amsterdam,
        )

    async def newest_number(self) -> int:
        return self.facts.head

    async def block(self, number: int) -> Block | None:
        return next((b for b in self._seen("block") if b.number == number), None)

    async def block_by_hash(self, block_hash: str) -> Block | None:
        blocks = self._seen("block_by_hash")
        if block_hash in self.unread_blocks:
            raise NodeUnavailable("this block is not served")
        return next((b for b in blocks if b.hash == block_hash), None)

    async def next_fork(self, after_s: int) -> int | None:
        return self.fork_s if self.fork_s is not None and self.fork_s > after_s else None

    async def finalized_number(self) -> int:
        self._seen("finalized_number")
        return self.finalized

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        blocks = self._seen("receipts")
        return {h: self._receipt(h, blocks) for h in tx_hashes if h not in self.unreadable}

    def _receipt(self, tx_hash: str, blocks: Sequence[Block]) -> Receipt | None:
        if tx_hash not in self._blocks_of or tx_hash in self.hidden:
            return None
        for block in blocks:
            if block.hash in self._blocks_of[tx_hash]:
                tx = self._receipts[block.hash][tx_hash]
                place = (tx_hash, block.number, block.hash, tx.succeeded, 150_000, 10**9)
                return Receipt(*place, sender=tx.sender, movements=tx.movements)
        return None

    async def nonces(self, wallets: Sequence[Address]) -> Mapping[Address, int]:
        return self._counts(self._seen("nonces"), wallets) | self.flipped | self.code_used

    def _counts(self, blocks: Sequence[Block], wallets: Sequence[Address]) -> dict[Address, int]:
        latest = dict.fromkeys(wallets, 0)
        for transaction in (t for b in blocks for t in b.transactions):
            if transaction.sender in latest:
                latest[transaction.sender] = transaction.nonce + 1
        return latest

    async def nonces_at(
        self, number: int, block_hash: str, wallets: Sequence[Address]
    ) -> Mapping[Address, int]:
        blocks = [b for b in self._seen("nonces_at") if b.number <= number]
        if blocks[-1].hash != block_hash:
            raise NodeUnavailable("another block")
        return self._counts(blocks, wallets) | self.code_used

    async def pending_nonce(self, wallet: Address) -> int:
        self._seen("pending_nonce")
        return max(self.pending, self.facts.nonce)

    async def wallet_and_dry_run(
        self, swap: SignedSwap, token: Address, spender: Address
    ) -> tuple[WalletSnapshot, DryRun]:
        self._seen("wallet")
        return self.facts, self.dry_run

    async def wallet_and_gas(
        self, wallet: Address, token: Address, params: UnsignedTransaction
    ) -> tuple[Head, WalletSnapshot, int | None]:
        if "head" in self.failing:
            raise NodeUnavailable("head failed")
        head = self._head_of(self._seen("wallet"))
        return head, self.facts, None if self.dry_run.succeeded is False else self.gas

    async def estimate_gas(self, wallet: Address, params: UnsignedTransaction) -> int | None:
        self._seen("estimate_gas")
        if self.dry_run.succeeded is False:
            raise CallReverts(self.dry_run.reason)
        return self.gas

    async def dry_runs(self, swaps: Sequence[SignedSwap]) -> Sequence[DryRun]:
        if swaps:
            self._seen("dry_runs")
        self.tried.append(list(swaps))
        return [self.dry_run] * len(swaps)

    async def wallet(self, wallet: Address, token: Address, spender: Address) -> WalletSnapshot:
        self._seen("wallet")
        return self.facts
