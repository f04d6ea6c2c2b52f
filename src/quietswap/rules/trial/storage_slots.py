"""Storage slots of ERC-20 balances and allowances.

A simulation overrides these slots. One probe finds them: it overrides every known slot with a
different number, and the number that the token returns identifies the slot. Slots of mapping
entries are hashes, so the overrides affect nothing else.

Layouts: https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html (Solidity),
https://docs.vyperlang.org/en/stable/scoping-and-declarations.html (Vyper hashes the slot before
the key), https://github.com/Vectorized/solady/blob/main/src/tokens/ERC20.sol (Solady),
https://eips.ethereum.org/EIPS/eip-7201 (the namespace of OpenZeppelin 5's upgradeable ERC-20).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from quietswap.rules.tokens.erc20 import address_word, word
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256

OPENZEPPELIN_5 = 0x52C63247E1F47DB19D5CE0460030C497F067CA4CEBF71BA98EEADABE20BACE00
"""Slot of `balances` of ERC20Upgradeable version 5; `allowances` is the next slot."""

_ROOTS = (*range(121), OPENZEPPELIN_5, OPENZEPPELIN_5 + 1)
"""Old upgradeable tokens have gaps of 50 slots per base contract: 51/52 and 101/102 are common."""

_SOLADY_BALANCE = bytes(8) + bytes.fromhex("87a211a2")
_SOLADY_ALLOWANCE = bytes(8) + bytes.fromhex("7f5e9f20")

_SENTINEL = 0xA5C396E17B2D04 << 16
"""It fits into 72 bits, so that tokens that pack a balance with flags return it unchanged."""

PROBE_OWNER = addresses.from_bytes(keccak256(b"quietswap probe owner")[12:])
PROBE_SPENDER = addresses.from_bytes(keccak256(b"quietswap probe spender")[12:])


class MappingKeyOrder(StrEnum):
    """How a language computes the slot of a mapping entry."""

    SOLIDITY = "solidity"
    VYPER = "vyper"
    SOLADY = "solady"


@dataclass(frozen=True, slots=True)
class MappingSlot:
    """A mapping in storage; `root` is its declared slot (not used by Solady)."""

    order: MappingKeyOrder
    root: int = 0

    def balance(self, holder: Address) -> int:
        if self.order is MappingKeyOrder.SOLADY:
            return _hash(addresses.to_bytes(holder) + _SOLADY_BALANCE)
        return self._entry(self.root, holder)

    def allowance(self, owner: Address, spender: Address) -> int:
        if self.order is MappingKeyOrder.SOLADY:
            parts = (addresses.to_bytes(owner), _SOLADY_ALLOWANCE, addresses.to_bytes(spender))
            return _hash(b"".join(parts))
        return self._entry(self._entry(self.root, owner), spender)

    def _entry(self, slot: int, key: Address) -> int:
        if self.order is MappingKeyOrder.VYPER:
            return _hash(word(slot) + address_word(key))
        return _hash(address_word(key) + word(slot))


@dataclass(frozen=True, slots=True)
class TokenStorageLayout:
    """The slots of one token; None if the probe did not find the slot."""

    balance: MappingSlot | None = None
    allowance: MappingSlot | None = None

    @property
    def is_known(self) -> bool:
        return self.balance is not None and self.allowance is not None


PLACES = (
    *(MappingSlot(MappingKeyOrder.SOLIDITY, root) for root in _ROOTS),
    *(MappingSlot(MappingKeyOrder.VYPER, root) for root in _ROOTS),
    MappingSlot(MappingKeyOrder.SOLADY),
)


@lru_cache(maxsize=1)
def slot_probe() -> Mapping[int, int]:
    """Return slot → marker value for every known layout, for the probe's owner and spender.

    Balance and allowance then show by their value which layout the token uses.
    """
    written: dict[int, int] = {}
    for index, place in enumerate(PLACES):
        written[place.balance(PROBE_OWNER)] = _SENTINEL + 2 * index
        written[place.allowance(PROBE_OWNER, PROBE_SPENDER)] = _SENTINEL + 2 * index + 1
    return written


def identify(balance: int | None, allowance: int | None) -> TokenStorageLayout:
    """Return the layout of a token that returned these two numbers in the probe."""
    return TokenStorageLayout(_place(balance, parity=0), _place(allowance, parity=1))


def _place(read: int | None, *, parity: int) -> MappingSlot | None:
    if read is None:
        return None
    index, odd = divmod(read - _SENTINEL, 2)
    return PLACES[index] if odd == parity and 0 <= index < len(PLACES) else None


def raised_slot(stored: int, current: int, needed: int) -> int | None:
    """Return the word that changes the number of a token from `current` to `needed`.

    It adds the difference, because some tokens store flags above the number (USDC's blacklist is
    the top bit of the balance). A cleared flag would make the simulation wrong. None if the stored
    word cannot contain the number.
    """
    lifted = stored - current + needed
    return lifted if stored >= current and lifted < 2**256 else None


def _hash(preimage: bytes) -> int:
    return int.from_bytes(keccak256(preimage))
