"""Where an ERC-20 keeps a balance and an allowance in its storage.

A simulation that pretends a wallet holds and has approved the sell amount must write these two
numbers. Which slot holds them is found by a single probe: every known place is overridden at once,
each with a number of its own, and the number the token reads back names the place. Slots of
mappings are hashes, so writing all of them disturbs nothing else.

Layouts: https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html (Solidity),
https://docs.vyperlang.org/en/stable/scoping-and-declarations.html (Vyper hashes slot and key the
other way round), https://github.com/Vectorized/solady/blob/main/src/tokens/ERC20.sol (Solady),
https://eips.ethereum.org/EIPS/eip-7201 (the namespace of OpenZeppelin 5's upgradeable ERC-20).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from quietswap.adapters.erc20 import address_word, word
from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256

OPENZEPPELIN_5 = 0x52C63247E1F47DB19D5CE0460030C497F067CA4CEBF71BA98EEADABE20BACE00
"""`balances` of ERC20Upgradeable version 5; `allowances` follow one slot later."""

_ROOTS = (*range(121), OPENZEPPELIN_5, OPENZEPPELIN_5 + 1)
"""Old upgradeable tokens keep gaps of 50 slots per base contract: 51/52 and 101/102 are common."""

_SOLADY_BALANCE = bytes(8) + bytes.fromhex("87a211a2")
_SOLADY_ALLOWANCE = bytes(8) + bytes.fromhex("7f5e9f20")

_SENTINEL = 0xA5C396E17B2D04 << 16
"""Fits 72 bits, so that tokens which pack a balance beside flags read it back unchanged."""

PROBE_OWNER = addresses.from_bytes(keccak256(b"quietswap probe owner")[12:])
PROBE_SPENDER = addresses.from_bytes(keccak256(b"quietswap probe spender")[12:])


class Order(StrEnum):
    """How a language derives the slot of a mapping's entry."""

    SOLIDITY = "solidity"
    VYPER = "vyper"
    SOLADY = "solady"


@dataclass(frozen=True, slots=True)
class Place:
    """A mapping in storage; `root` is its declared slot (unused by Solady's seeds)."""

    order: Order
    root: int = 0

    def balance(self, holder: Address) -> int:
        """Return the slot of `balances[holder]`."""
        if self.order is Order.SOLADY:
            return _hash(addresses.to_bytes(holder) + _SOLADY_BALANCE)
        return self._entry(self.root, holder)

    def allowance(self, owner: Address, spender: Address) -> int:
        """Return the slot of `allowances[owner][spender]`."""
        if self.order is Order.SOLADY:
            parts = (addresses.to_bytes(owner), _SOLADY_ALLOWANCE, addresses.to_bytes(spender))
            return _hash(b"".join(parts))
        return self._entry(self._entry(self.root, owner), spender)

    def _entry(self, slot: int, key: Address) -> int:
        if self.order is Order.VYPER:
            return _hash(word(slot) + address_word(key))
        return _hash(address_word(key) + word(slot))


@dataclass(frozen=True, slots=True)
class Layout:
    """What the probe found out about one token; None where it reads back nothing of ours."""

    balance: Place | None = None
    allowance: Place | None = None

    @property
    def is_known(self) -> bool:
        """Whether both places were found."""
        return self.balance is not None and self.allowance is not None


PLACES = (
    *(Place(Order.SOLIDITY, root) for root in _ROOTS),
    *(Place(Order.VYPER, root) for root in _ROOTS),
    Place(Order.SOLADY),
)


@lru_cache(maxsize=1)
def probe() -> Mapping[int, int]:
    """Return slot → number for every place of the probe's owner and spender."""
    written: dict[int, int] = {}
    for index, place in enumerate(PLACES):
        written[place.balance(PROBE_OWNER)] = _SENTINEL + 2 * index
        written[place.allowance(PROBE_OWNER, PROBE_SPENDER)] = _SENTINEL + 2 * index + 1
    return written


def identify(balance: int | None, allowance: int | None) -> Layout:
    """Return the layout of a token that read back these two numbers under the probe."""
    return Layout(_place(balance, parity=0), _place(allowance, parity=1))


def _place(read: int | None, *, parity: int) -> Place | None:
    if read is None:
        return None
    index, odd = divmod(read - _SENTINEL, 2)
    return PLACES[index] if odd == parity and 0 <= index < len(PLACES) else None


def raised(stored: int, current: int, needed: int) -> int | None:
    """Return the word to store so that a token that reads `current` will read `needed`.

    Only the difference is added: some tokens keep flags above the number (USDC's blacklist is the
    top bit of the balance), and a simulation that wiped them would promise what cannot happen.
    None when the stored word cannot contain the number.
    """
    lifted = stored - current + needed
    return lifted if stored >= current and lifted < 2**256 else None


def _hash(preimage: bytes) -> int:
    return int.from_bytes(keccak256(preimage))
