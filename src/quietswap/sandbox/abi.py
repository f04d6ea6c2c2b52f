"""The part of Solidity's ABI coding the sandbox needs (docs.soliditylang.org, abi-spec).

Written by hand because the general library costs a third of a second to import.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from quietswap.domain.crypto import keccak256


@lru_cache(maxsize=256)
def selector(signature: str) -> bytes:
    """Return the four bytes that call `signature`, such as `transfer(address,uint256)`."""
    return keccak256(signature.encode())[:4]


def call(signature: str, *values: Any) -> bytes:
    """Return the calldata of one call; the argument types are read from the signature."""
    return selector(signature) + encode(signature[signature.index("(") :], values)


def encode(types: str, values: Sequence[Any]) -> bytes:
    """Return the ABI coding of `values` for the tuple type `types`, such as `(address,uint256[])`.

    Addresses are `0x` text in any case, `bytes` are bytes, tuples and arrays are sequences.
    Raises ValueError when the number of values does not match the types.
    """
    return _tuple(members(types), values)


def members(types: str) -> list[str]:
    """Return the member types of `(a,(b,c)[],d)`: `["a", "(b,c)[]", "d"]`."""
    found, depth, start = [], 0, 1
    for at, char in enumerate(types):
        depth += (char == "(") - (char == ")")
        if (char == "," and depth == 1) or (char == ")" and depth == 0):
            found.append(types[start:at])
            start = at + 1
    return [kind for kind in found if kind]


def _is_dynamic(kind: str) -> bool:
    if kind.endswith("[]") or kind in ("bytes", "string"):
        return True
    return kind.startswith("(") and any(_is_dynamic(member) for member in members(kind))


def _tuple(kinds: Sequence[str], values: Sequence[Any]) -> bytes:
    coded = [(_is_dynamic(k), _value(k, v)) for k, v in zip(kinds, values, strict=True)]
    tail_start = sum(32 if dynamic else len(data) for dynamic, data in coded)
    head, tail = b"", b""
    for dynamic, data in coded:
        head += (tail_start + len(tail)).to_bytes(32) if dynamic else data
        tail += data if dynamic else b""
    return head + tail


def _value(kind: str, value: Any) -> bytes:
    if kind.endswith("[]"):
        return len(value).to_bytes(32) + _tuple([kind[:-2]] * len(value), value)
    if kind.startswith("("):
        return _tuple(members(kind), value)
    if kind in ("bytes", "string"):
        raw: bytes = value.encode() if kind == "string" else value
        return len(raw).to_bytes(32) + raw + bytes(-len(raw) % 32)
    if kind == "address":
        return bytes.fromhex(value.removeprefix("0x")).rjust(32, b"\0")
    if kind.startswith("bytes"):
        return bytes(value).ljust(32, b"\0")
    return int(value).to_bytes(32, signed=kind.startswith("int"))


def word(data: bytes, index: int) -> int:
    """Return the unsigned 32-byte word at `index`. Raises ValueError when the data ends before."""
    if len(data) < 32 * (index + 1):
        raise ValueError(f"word {index} of only {len(data)} bytes")
    return int.from_bytes(data[32 * index : 32 * (index + 1)])


def uints(data: bytes) -> list[int]:
    """Return the numbers of one `uint256[]`, the only value of an answer."""
    start = word(data, 0) // 32
    return [word(data, start + 1 + i) for i in range(word(data, start))]
