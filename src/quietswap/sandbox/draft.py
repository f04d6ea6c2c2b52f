"""What the next block is to hold, and in which order. Pure: the builder does what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.sandbox.anvil import GAS_LIMIT
from quietswap.sandbox.mempool import Waiting, waiting
from quietswap.sandbox.relay_pool import Held
from quietswap.sandbox.searcher import Bundle

_Slot = tuple[Address, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """The candidates for a block. `nonces` are the chain's of every sender in `offers`.

    `base_fee` in wei per gas. Of two transactions with one (sender, nonce) the higher tip wins,
    the public one when they are equal: that is how a wallet cancels in public.
    """

    public: tuple[Waiting, ...]
    offers: tuple[Held, ...]
    bundle: Bundle | None
    nonces: Mapping[Address, int]
    base_fee: int

    def order(self) -> list[Waiting]:
        """Return the block: private ones as they came, the bundle, the public rest.

        A sender's earlier nonces come before the later ones whatever they are, and what has a gap
        before it, pays less than the base fee or no longer fits is left out.
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
        """Return by hash the signed bytes of all that never was in the public mempool."""
        attack = (self.bundle.front, self.bundle.back) if self.bundle else ()
        transactions = (*(held.transaction for held in self.offers), *attack)
        return {tx.hash: tx.raw for tx in transactions}

    def _playable(self) -> dict[_Slot, Waiting]:
        winners: dict[_Slot, Waiting] = {}
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
    winners: Mapping[_Slot, Waiting], firsts: Mapping[Address, int]
) -> Iterator[tuple[_Slot, Waiting]]:
    for sender, first in firsts.items():
        at = first
        while tx := winners.get((sender, at)):
            yield tx.slot, tx
            at += 1


class _Row:
    """The block as it fills up."""

    def __init__(self, playable: Mapping[_Slot, Waiting]) -> None:
        self._playable = playable
        self._taken: set[_Slot] = set()
        self._gas_left = GAS_LIMIT
        self.placed: list[Waiting] = []

    def can_place(self, tx: Waiting) -> bool:
        """Whether it won its slot, has no gap before it and is not in yet."""
        return self._playable.get(tx.slot) == tx and tx.slot not in self._taken

    def place(self, tx: Waiting) -> None:
        """Put it at the end, behind what its sender must send first."""
        if not self.can_place(tx):
            return
        sender, nonce = tx.slot
        while (before := self._playable.get((sender, nonce - 1))) and self.can_place(before):
            nonce -= 1
        for at in range(nonce, tx.nonce + 1):
            self._append(self._playable[sender, at])

    def place_bundle(self, bundle: Bundle) -> None:
        """Put front-run, victim and back-run at the end, with nothing between them."""
        for tx in bundle.before:
            self.place(tx)
        for tx in bundle.row[-3:]:
            self._append(tx)

    def _append(self, tx: Waiting) -> None:
        if tx.gas > self._gas_left:
            return
        self._gas_left -= tx.gas
        self._taken.add(tx.slot)
        self.placed.append(tx)
