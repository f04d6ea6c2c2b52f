"""The candidates for the next block, and their order. Pure functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.sandbox.chain.anvil import GAS_LIMIT
from quietswap.sandbox.chain.mempool import PendingTransaction, waiting
from quietswap.sandbox.relay.relay_pool import RelayTransaction
from quietswap.sandbox.searcher.searcher import Bundle

_Slot = tuple[Address, int]


@dataclass(frozen=True, slots=True)
class BlockTemplate:
    """The candidates for a block. `nonces` has the next nonce of every sender in `offers`.

    `base_fee` in wei per gas. Of two transactions with one (sender, nonce) the one with the higher
    tip wins. With equal tips the public one wins, so that a wallet can cancel in public.
    """

    public: tuple[PendingTransaction, ...]
    offers: tuple[RelayTransaction, ...]
    bundle: Bundle | None
    nonces: Mapping[Address, int]
    base_fee: int

    def order(self) -> list[PendingTransaction]:
        """Return the block: private transactions by arrival, the bundle, public transactions.

        A sender's transactions are in the order of their nonces. Left out is what has a nonce gap
        before it, pays less than the base fee or exceeds the gas limit.
        """
        row = _Row(self._playable())
        for held in self.offers:
            row.place(waiting(held.transaction))
        if self.bundle and row.can_place(self.bundle.victim):
            row.place_bundle(self.bundle)
        for tx in self.public:
            row.place(tx)
        return row.placed

    def private_raws(self) -> dict[str, bytes]:
        """Return the signed bytes of all private transactions, by hash."""
        attack = (self.bundle.front, self.bundle.back) if self.bundle else ()
        transactions = (*(held.transaction for held in self.offers), *attack)
        return {tx.hash: tx.raw for tx in transactions}

    def _playable(self) -> dict[_Slot, PendingTransaction]:
        winners: dict[_Slot, PendingTransaction] = {}
        for tx in (*self.public, *(waiting(held.transaction) for held in self.offers)):
            rival = winners.get(tx.slot)
            if tx.max_fee >= self.base_fee and (rival is None or tx.tip > rival.tip):
                winners[tx.slot] = tx
        firsts = dict(self.nonces)
        for sender, nonce in winners:
            if sender not in self.nonces:
                firsts[sender] = min(nonce, firsts.get(sender, nonce))
        return dict(_contiguous(winners, firsts))


def _contiguous(
    winners: Mapping[_Slot, PendingTransaction], firsts: Mapping[Address, int]
) -> Iterator[tuple[_Slot, PendingTransaction]]:
    for sender, first in firsts.items():
        at = first
        while tx := winners.get((sender, at)):
            yield tx.slot, tx
            at += 1


class _Row:
    """The block under construction."""

    def __init__(self, playable: Mapping[_Slot, PendingTransaction]) -> None:
        self._playable = playable
        self._taken: set[_Slot] = set()
        self._gas_left = GAS_LIMIT
        self.placed: list[PendingTransaction] = []

    def can_place(self, tx: PendingTransaction) -> bool:
        """Whether it has won its nonce, has no gap before it and is not placed yet."""
        return self._playable.get(tx.slot) == tx and tx.slot not in self._taken

    def place(self, tx: PendingTransaction) -> None:
        """Append it after its sender's earlier nonces."""
        if not self.can_place(tx):
            return
        sender, nonce = tx.slot
        while (before := self._playable.get((sender, nonce - 1))) and self.can_place(before):
            nonce -= 1
        for at in range(nonce, tx.nonce + 1):
            self._append(self._playable[sender, at])

    def place_bundle(self, bundle: Bundle) -> None:
        """Append front-run, victim and back-run without a gap."""
        for tx in bundle.before:
            self.place(tx)
        for tx in bundle.row[-3:]:
            self._append(tx)

    def _append(self, tx: PendingTransaction) -> None:
        if tx.gas > self._gas_left:
            return
        self._gas_left -= tx.gas
        self._taken.add(tx.slot)
        self.placed.append(tx)
