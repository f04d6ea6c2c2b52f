"""Storage words of contracts: their slots in Solidity's layout, and the call that writes one.

https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html
"""

from collections.abc import Sequence
from typing import Any

from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256

Call = tuple[str, Sequence[Any]]
"""Method and parameters of one JSON-RPC call."""


def set_storage(address: Address, key: str | int, value: int) -> Call:
    """Return the call that writes one storage word; `key` as 0x text or as the slot's number."""
    at = key if isinstance(key, str) else f"0x{key:064x}"
    return "anvil_setStorageAt", (address, at, f"0x{value % 2**256:064x}")


def entry(key: bytes, slot: int) -> int:
    """Return the slot of a mapping's entry; `key` is the full word, `slot` the mapping's own."""
    return int.from_bytes(keccak256(key.rjust(32, b"\0") + slot.to_bytes(32)))


def items(slot: int) -> int:
    """Return the slot of a dynamic array's first item; `slot` itself holds the length."""
    return int.from_bytes(keccak256(slot.to_bytes(32)))
