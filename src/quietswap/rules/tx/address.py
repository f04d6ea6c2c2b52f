"""Ethereum addresses with the EIP-55 checksum (https://eips.ethereum.org/EIPS/eip-55)."""

import re
from functools import lru_cache
from typing import NewType

from quietswap.rules.tx.keccak import keccak256

Address = NewType("Address", str)
"""A 20-byte address as `0x` and 40 hex digits in EIP-55 case; built by the functions below."""

_SHAPE = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)


class BadAddress(ValueError):
    """The text is not a checksummed address; the message gives the reason."""


@lru_cache(maxsize=8192)
def _checksum(digits: str) -> Address:
    mask = keccak256(digits.encode()).hex()
    cased = (c.upper() if m >= "8" else c for c, m in zip(digits, mask, strict=False))
    return Address("0x" + "".join(cased))


def from_bytes(raw: bytes) -> Address:
    """Return the address of 20 raw bytes. Raises BadAddress for another length."""
    if len(raw) != 20:
        raise BadAddress(f"an address has 20 bytes, not {len(raw)}")
    return _checksum(raw.hex())


@lru_cache(maxsize=1024)  # a quote asks some 30 times, mostly for the same few contracts
def from_any_case(text: str) -> Address:
    """Return the address of hex text in any letter case. Raises BadAddress."""
    if not _SHAPE.fullmatch(text):
        raise BadAddress("an address is 0x followed by 40 hexadecimal digits")
    return _checksum(text[2:].lower())


def parse(text: str) -> Address:
    """Return the address of exact EIP-55 text. Raises BadAddress."""
    address = from_any_case(text)
    if address == text:
        return address
    if text[2:] in (text[2:].lower(), text[2:].upper()):
        raise BadAddress("it has no EIP-55 checksum: write it in mixed case, as wallets show it")
    raise BadAddress("the EIP-55 checksum does not match: a digit, or its letter case, is wrong")


def to_bytes(address: Address) -> bytes:
    return bytes.fromhex(address[2:])
