"""The block builder: private transactions, then the searcher's bundle, then public transactions.

anvil mines in order of arrival. So the builder removes the public transactions from anvil's mempool
and sends everything again in the order of the block. During this time `chain_lock` keeps client
requests out. Private transactions that were not mined are removed from the mempool afterwards.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain import transactions
from quietswap.sandbox.chain.anvil import GAS_LIMIT, ReadWriteLock
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.chain.transactions import Transaction, TransactionFields
from quietswap.sandbox.contracts.abi import TREASURY
from quietswap.sandbox.relay import RelayTransaction, SandboxRelay, SubmissionOptions
from quietswap.sandbox.rpc import RpcError
from quietswap.sandbox.searcher import Bundle, Searcher

_Slot = tuple[Address, int]


@dataclass(frozen=True, slots=True)
class BlockTemplate:
    """The candidates for a block. `nonces` has the next nonce of every sender in `offers`.

    `base_fee` in wei per gas. Of two transactions with one (sender, nonce) the one with the higher
    tip wins. With equal tips the public one wins, so that a wallet can cancel in public.
    """

    public: tuple[Transaction, ...]
    offers: tuple[RelayTransaction, ...]
    bundle: Bundle | None
    nonces: Mapping[Address, int]
    base_fee: int

    def order(self) -> list[Transaction]:
        """Return the block: private transactions by arrival, the bundle, public transactions.

        A sender's transactions are in the order of their nonces. Left out is what has a nonce gap
        before it, pays less than the base fee or exceeds the gas limit.
        """
        row = _Row(self._playable())
        for held in self.offers:
            row.place(held.transaction)
        if self.bundle and row.can_place(self.bundle.victim):
            row.place_bundle(self.bundle)
        for tx in self.public:
            row.place(tx)
        return row.placed

    def private_raws(self) -> dict[str, bytes]:
        attack = (self.bundle.front, self.bundle.back) if self.bundle else ()
        private = (*(held.transaction for held in self.offers), *attack)
        return {tx.hash: tx.raw for tx in private}

    def _playable(self) -> dict[_Slot, Transaction]:
        winners: dict[_Slot, Transaction] = {}
        for tx in (*self.public, *(held.transaction for held in self.offers)):
            rival = winners.get(tx.slot)
            is_best = rival is None or tx.fields.tip > rival.fields.tip
            if tx.fields.max_fee >= self.base_fee and is_best:
                winners[tx.slot] = tx
        firsts = dict(self.nonces)
        for sender, nonce in winners:
            if sender not in self.nonces:
                firsts[sender] = min(nonce, firsts.get(sender, nonce))
        playable = {}
        for sender, first in firsts.items():
            nonce = first
            while (sender, nonce) in winners:
                playable[sender, nonce] = winners[sender, nonce]
                nonce += 1
        return playable


class _Row:
    def __init__(self, playable: Mapping[_Slot, Transaction]) -> None:
        self._playable = playable
        self._taken: set[_Slot] = set()
        self._gas_left = GAS_LIMIT
        self.placed: list[Transaction] = []

    def can_place(self, tx: Transaction) -> bool:
        """Whether it has won its nonce, has no gap before it and is not placed yet."""
        return self._playable.get(tx.slot) == tx and tx.slot not in self._taken

    def place(self, tx: Transaction) -> None:
        """Append it after its sender's earlier nonces."""
        if not self.can_place(tx):
            return
        sender, nonce = tx.slot
        while (before := self._playable.get((sender, nonce - 1))) and self.can_place(before):
            nonce -= 1
        for at in range(nonce, tx.fields.nonce + 1):
            self._append(self._playable[sender, at])

    def place_bundle(self, bundle: Bundle) -> None:
        """Append front-run, victim and back-run without a gap."""
        for tx in bundle.before:
            self.place(tx)
        for tx in bundle.row[-3:]:
            self._append(tx)

    def _append(self, tx: Transaction) -> None:
        if tx.fields.gas > self._gas_left:
            return
        self._gas_left -= tx.fields.gas
        self._taken.add(tx.slot)
        self.placed.append(tx)


class ReorgTooDeep(ValueError):
    """A reorg would replace the genesis; the message gives the largest depth."""


@dataclass(kw_only=True, eq=False)
class BlockBuilder:
    """Builds a block every `block_time` seconds, unless paused, and on request.

    `genesis` is the last block that no reorg may replace. `changed` is awaited after each block
    with transactions and after each reorg, while client requests still wait. `public` has the hash
    of each transaction that was ever in the public mempool or sent to it.
    """

    chain: LocalChain
    chain_lock: ReadWriteLock
    relays: Sequence[SandboxRelay]
    searcher: Searcher
    public: set[str]
    block_time: float
    genesis: int
    changed: Callable[[], Awaitable[None]] | None = None
    paused: bool = False
    _halt: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _built: int = field(default=0, init=False)

    async def run(self) -> None:
        """Build blocks at a fixed rate until `halt`. A slow block delays the next one."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self.block_time
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._halt.wait()
                    return
            if not self.paused:
                await self.mine(1)
            due = max(due + self.block_time, loop.time())

    def halt(self) -> None:
        """Let `run` return after the current block.

        This is a flag, because the HTTP client sometimes suppresses a cancellation.
        """
        self._halt.set()

    async def mine(self, blocks: int) -> int:
        number = 0
        for _ in range(blocks):
            async with self.chain_lock.build():
                number = await self._block()
                if self.changed and (await self.chain.head())["transactions"]:
                    await self.changed()
        return number

    async def reorg(self, depth: int) -> int:
        """Replace the last `depth` blocks by empty ones and return the head's number.

        Public transactions return to the mempool, and private ones to their relay. The searcher's
        are dropped. Raises ReorgTooDeep.
        """
        async with self.chain_lock.build():
            head = int((await self.chain.head())["number"], 16)
            if depth > head - self.genesis:
                raise ReorgTooDeep(f"a reorg may be {head - self.genesis} blocks deep now")
            numbers = [hex(at) for at in range(head - depth + 1, head + 1)]
            blocks = await self.chain.rpc.each("eth_getBlockByNumber", numbers, False)
            hashes = [tx for block in blocks for tx in block["transactions"] if tx in self.public]
            returning = list((await transactions.raws(self.chain.rpc, hashes)).values())
            await self.chain.reorg(depth)
            self._went_back(head - depth)
            for raw in returning:
                with contextlib.suppress(RpcError):  # its fee cap may be below the new base fee
                    await self.chain.send_raw(raw)
            if self.changed:
                await self.changed()
            return head

    async def _block(self) -> int:
        rpc = self.chain.rpc
        public = await transactions.pending(rpc, self.public)
        head = await rpc.number("eth_blockNumber")
        if head < self._built:  # a client used evm_revert
            self._went_back(head)
        self._built = head + 1
        offers, nonces = await self._offers(head)
        base_fee = await transactions.next_base_fee(rpc)
        bundle = await self.searcher.find(public, base_fee) if public else None
        if not offers and bundle is None:
            return await self.chain.mine()
        draft = BlockTemplate(tuple(public), tuple(offers), bundle, nonces, base_fee)
        draft = await self._with_refunds(await self._proven(draft))
        await self._fill(draft)
        number = await self.chain.mine()
        # private transactions that were not mined leave anvil's mempool
        mined = set((await self.chain.head())["transactions"])
        await self._drop(set(draft.private_raws()) - mined)
        if draft.bundle:
            await self.searcher.record(draft.bundle, number)
        return number

    async def _offers(self, head: int) -> tuple[list[RelayTransaction], Mapping[Address, int]]:
        """Return what the relays offer for the block after `head`, and their senders' nonces."""
        offered = (held for relay in self.relays for held in relay.offers(head + 1))
        offers = list({held.transaction.hash: held for held in offered}.values())
        nonces = await self._nonces({offer.transaction.sender for offer in offers})
        for held in offers:
            if held.transaction.fields.nonce < nonces[held.transaction.sender]:
                held.used_at = head
        return [held for held in offers if held.used_at is None], nonces

    def _went_back(self, number: int) -> None:
        """Drop what is stored about blocks above `number`."""
        self.searcher.forget(above=number)
        for relay in self.relays:
            relay.pool.reorganised(above=number)

    async def _proven(self, draft: BlockTemplate) -> BlockTemplate:
        """Return the draft without what fails in simulation. Repeat until nothing fails."""
        while True:
            order = draft.order()
            outcomes = await transactions.simulate(self.chain.rpc, order)
            tried = zip(order, outcomes, strict=True)
            failed = {tx.hash for tx, outcome in tried if not outcome.succeeded}
            barred = [h for h in draft.offers if h.transaction.hash in failed and h.is_protected]
            attack = draft.bundle.row[-3:] if draft.bundle else ()
            spoilt = any(tx.hash in failed for tx in attack)
            if not barred and not spoilt:
                return draft
            for held in barred:
                held.fail("execution reverted")
            offers = tuple(held for held in draft.offers if held not in barred)
            draft = replace(draft, offers=offers, bundle=None if spoilt else draft.bundle)

    async def _with_refunds(self, draft: BlockTemplate) -> BlockTemplate:
        """Return the draft with payments to the senders of refunded swaps, after all offers."""
        refunded = [held for held in draft.offers if held.refund_wei and held.refund_is_paid]
        if not refunded:
            return draft
        first = (await self._nonces({TREASURY.address}))[TREASURY.address]
        payments = [_payment(held, at, draft.base_fee) for at, held in enumerate(refunded, first)]
        nonces = {**draft.nonces, TREASURY.address: first}
        return replace(draft, offers=(*draft.offers, *payments), nonces=nonces)

    async def _fill(self, draft: BlockTemplate) -> None:
        """Send the draft's transactions to anvil's mempool in their order."""
        order = draft.order()
        own = draft.private_raws()
        public = [tx.hash for tx in order if tx.hash not in own]
        raws = await transactions.raws(self.chain.rpc, public)
        await self._drop(raws)
        for tx in order:
            raw = own.get(tx.hash) or raws.get(tx.hash) or b""
            with contextlib.suppress(RpcError):  # rejected now; the relay still holds it
                await self.chain.send_raw(raw)

    async def _drop(self, hashes: Iterable[str]) -> None:
        await self.chain.rpc.each("anvil_dropTransaction", [*hashes])

    async def _nonces(self, senders: set[Address]) -> dict[Address, int]:
        every = list(senders)
        counts = await self.chain.rpc.each("eth_getTransactionCount", every, "latest")
        return {s: int(count, 16) for s, count in zip(every, counts, strict=True)}


def _payment(held: RelayTransaction, nonce: int, base_fee: int) -> RelayTransaction:
    """Return the payment of a refund: plain ETH to the swap's sender, as builders send it."""
    fields = TransactionFields(
        nonce, held.transaction.sender, b"", 21_000, 2 * base_fee, value=held.refund_wei
    )
    return RelayTransaction(transactions.sign(fields, TREASURY.private_key), SubmissionOptions())
