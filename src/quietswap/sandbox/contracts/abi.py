"""Solidity ABI coding by `eth-abi` (https://docs.soliditylang.org/en/latest/abi-spec.html).

The service has a coder of its own. The sandbox uses a library, so that the two check each other.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from eth_abi.abi import decode
from eth_abi.registry import registry

from quietswap.domain.crypto import keccak256


@lru_cache(maxsize=256)
def selector(signature: str) -> bytes:
    """Return the four-byte selector of `signature`, such as `transfer(address,uint256)`."""
    return keccak256(signature.encode())[:4]


def call(signature: str, *values: Any) -> bytes:
    """Return the calldata of one call; the argument types are read from the signature."""
    return selector(signature) + encode(signature[signature.index("(") :], values)


def encode(types: str, values: Sequence[Any]) -> bytes:
    """Return `values` encoded for the tuple type `types`, such as `(address,uint256[])`.

    Addresses are `0x` text, `bytes` are bytes, tuples and arrays are sequences.
    Raises `eth_abi.exceptions.EncodingError` when a value does not match its type.
    """
    if types == "()" and not values:
        return b""
    encoder: Any = registry.get_encoder(types)  # the registry caches it
    return bytes(encoder(values))


def word(data: bytes, index: int) -> int:
    """Return the unsigned 32-byte word at `index`. Raises ValueError when the data ends before."""
    if len(data) < 32 * (index + 1):
        raise ValueError(f"word {index} of only {len(data)} bytes")
    return int.from_bytes(data[32 * index : 32 * (index + 1)])


def uints(data: bytes) -> list[int]:
    """Return the numbers of one `uint256[]`, the only value of an answer."""
    return list(decode(["uint256[]"], data)[0])
