"""The block of a simulated swap. It equals the real next block as far as that is predictable.

Block fields of eth_simulateV1: https://ethereum.github.io/execution-apis/api-documentation/. A
contract reads the same number, base fee, gas limit and block hashes as in the real next block.
`prevrandao` is random, the time is one slot (12 s) later, coinbase and gas limit are those of the
latest block.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from quietswap.rules.amounts import AMOUNT_MAX
from quietswap.rules.trial.codec import hex_word
from quietswap.rules.tx.address import Address, from_any_case

RandBelow = Callable[[int], int]
"""Returns a random integer from 0 to below its argument, as `secrets.randbelow` does."""

ROOT_NAMES = ("beaconRoot", "parentBeaconBlockRoot")
"""Of the interface, and of Besu."""
SLOT_S = 12
"""Seconds between two blocks of mainnet."""
_ETHER = 10**18

_HASHES = from_any_case("0x0000f90827f1c53a10cb7a02335b175320002935")
"""Stores the hashes of the last blocks (https://eips.ethereum.org/EIPS/eip-2935)."""
_ROOTS = from_any_case("0x000f3df6d732807ef1319fb7b8bb8522d0beac02")
"""Stores the last parent beacon roots (https://eips.ethereum.org/EIPS/eip-4788)."""
_RING = 8191
"""Number of entries of both."""


class ParentBlock(Protocol):
    """The latest block: `time` in Unix seconds, `next_base_fee` in wei per gas.

    None for a field that the node does not return; it then sets that field of the next block.
    """

    @property
    def number(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def time(self) -> int: ...
    @property
    def next_base_fee(self) -> int: ...
    @property
    def gas_limit(self) -> int | None: ...
    @property
    def coinbase(self) -> Address | None: ...


@dataclass(frozen=True, slots=True)
class NextBlock:
    """The block after `head`, with a random `randao` and parent beacon root `root`.

    `exact`: the simulation runs on `head`, and the node validates fees and balances as in a real
    block. Otherwise it runs on the node's latest block without validation, and the node sets number
    and time. `root_name`: the member of the request that has `root`; None for none. Not all nodes
    know the same one.
    """

    head: ParentBlock
    randao: int
    root: int
    exact: bool = True
    root_name: str | None = ROOT_NAMES[0]

    @classmethod
    def after(cls, head: ParentBlock, below: RandBelow) -> "NextBlock":
        most = 2**256 - 1  # below 2**256 `randbelow` discards half of its draws
        return cls(head, below(most), below(most))

    def other_root(self) -> "NextBlock":
        """Return the form with the next name of the root, in the end with none: for a node that
        refuses members it does not know, as Besu and old Reth do."""
        names = (*ROOT_NAMES, None)
        return replace(self, root_name=names[names.index(self.root_name) + 1])

    def inexact(self) -> "NextBlock":
        """Return the form for a node that does not support the exact one."""
        return replace(self, exact=False, root_name=None)

    @property
    def tag(self) -> str:
        return hex(self.head.number) if self.exact else "latest"

    @property
    def view_fee(self) -> int:
        """Return the fee cap in wei per gas of calls that only read: twice the base fee."""
        return 2 * self.head.next_base_fee

    def overrides(self, later: int = 0) -> dict[str, object]:
        """Return `blockOverrides` of this block, or of the block `later` blocks after it."""
        fields: dict[str, object] = {
            "baseFeePerGas": hex(self.head.next_base_fee),
            "prevRandao": hex_word((self.randao + later) % 2**256),
        }
        if self.head.coinbase is not None:
            fields["feeRecipient"] = self.head.coinbase
        if self.head.gas_limit is not None:
            fields["gasLimit"] = hex(self.head.gas_limit)
        if self.exact:
            fields["number"] = hex(self.head.number + 1 + later)
            fields["time"] = hex(self.head.time + SLOT_S * (1 + later))
        if self.root_name is not None:
            fields[self.root_name] = hex_word((self.root + later) % 2**256)
        return fields

    def history(self) -> Mapping[Address, Mapping[str, Mapping[str, str]]]:
        """Return as state overrides what the system calls at the start of the block write.

        A contract can read it: the hash of the parent (EIP-2935) and the parent beacon root
        (EIP-4788). Some nodes make no such calls in a simulation; others write over this. The
        contracts of the two are no tokens, so a trial overrides nothing else of them.
        """
        if not self.exact:
            return {}
        return _history(self.head.number, self.head.hash, self.head.time + SLOT_S, self.root)


@lru_cache(maxsize=64)  # each route of a quote is tried in the same block
def _history(
    number: int, head_hash: str, time: int, root: int
) -> Mapping[Address, Mapping[str, Mapping[str, str]]]:
    written = {
        _HASHES: {number % _RING: int(head_hash, 16)},
        _ROOTS: {time % _RING: time, time % _RING + _RING: root},
    }
    return {
        address: {"stateDiff": {hex_word(at): hex_word(word) for at, word in words.items()}}
        for address, words in written.items()
    }


def unused_address(below: RandBelow) -> bytes:
    """Return 20 random bytes: an address that nobody has used."""
    return below(2**160 - 1).to_bytes(20)  # below 2**160 `randbelow` discards half of its draws


def plausible_amount(needed: int, below: RandBelow) -> int:
    """Return a random amount above `needed`, up to five times as much, but no more than can exist.

    The exact amount, or any constant, would let a contract detect the simulation.
    """
    spread = max(needed, 1000) << below(3)
    return min(needed + 1 + below(spread), AMOUNT_MAX)


def plausible_wei(needed: int, below: RandBelow) -> int:
    """Return a random balance in wei above `needed`, by some thousandths of an ETH to some ETH."""
    return needed + _ETHER // 1000 + below(_ETHER // 100 * 10 ** below(3))
