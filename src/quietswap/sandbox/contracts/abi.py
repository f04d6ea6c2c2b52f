"""Solidity ABI coding by `eth-abi` (https://docs.soliditylang.org/en/latest/abi-spec.html).

The service has a coder of its own. The sandbox uses a library, so that the two check each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from eth_abi.abi import decode
from eth_abi.registry import registry
from eth_keys.datatypes import PrivateKey

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256


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


Call = tuple[str, Sequence[Any]]
"""Method and parameters of one JSON-RPC call."""


def set_storage(address: Address, key: str | int, value: int) -> Call:
    """Return the call that writes one storage word; `key` as 0x text or as the slot's number."""
    at = key if isinstance(key, str) else f"0x{key:064x}"
    return "anvil_setStorageAt", (address, at, f"0x{value % 2**256:064x}")


def entry(key: bytes, slot: int) -> int:
    """Return the slot of a mapping's entry; `key` is the full word, `slot` the mapping's own.

    https://docs.soliditylang.org/en/latest/internals/layout_in_storage.html
    """
    return int.from_bytes(keccak256(key.rjust(32, b"\0") + slot.to_bytes(32)))


def items(slot: int) -> int:
    """Return the slot of a dynamic array's first item; `slot` itself holds the length."""
    return int.from_bytes(keccak256(slot.to_bytes(32)))


@dataclass(frozen=True, slots=True)
class Wallet:
    """An externally owned account; `private_key` as 0x and 64 hexadecimal digits."""

    address: Address
    private_key: str


def wallet(private_key: str) -> Wallet:
    public = PrivateKey(bytes.fromhex(private_key.removeprefix("0x"))).public_key
    return Wallet(addresses.from_bytes(public.to_canonical_address()), private_key)


_ALL = tuple(
    wallet(key)
    for key in (
        "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
        "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
        "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
        "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
        "0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
        "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
        "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
        "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
    )
)
"""The accounts of anvil's public test mnemonic ("test test ... junk"), worth nothing elsewhere."""
WALLETS = _ALL[:8]
"""The users' accounts; each holds ETH and some of every token."""
TREASURY = _ALL[8]
"""Sends the transactions of the genesis."""
SEARCHER = _ALL[9]
"""Attacks swaps in the public mempool; holds ETH and tokens to trade with."""
