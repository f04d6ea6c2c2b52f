"""ABI encoding of the calls of ERC-20 (https://eips.ethereum.org/EIPS/eip-20)."""

from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address

DECIMALS = bytes.fromhex("313ce567")
SYMBOL = bytes.fromhex("95d89b41")
NAME = bytes.fromhex("06fdde03")
TOTAL_SUPPLY = bytes.fromhex("18160ddd")
BALANCE_OF = bytes.fromhex("70a08231")
_ALLOWANCE = bytes.fromhex("dd62ed3e")
_APPROVE = bytes.fromhex("095ea7b3")
_LONGEST_SYMBOL, _LONGEST_NAME = 32, 60
_READ_FACTOR = 8
"""Bytes that are read for each character that is shown: some are dropped, none has more than 4."""


def word(number: int) -> bytes:
    return number.to_bytes(32)


def address_word(address: Address) -> bytes:
    """Return an address as its 32-byte ABI word, padded on the left."""
    return addresses.to_bytes(address).rjust(32, b"\0")


def balance_of(holder: Address) -> bytes:
    return BALANCE_OF + address_word(holder)


def allowance(owner: Address, spender: Address) -> bytes:
    return _ALLOWANCE + address_word(owner) + address_word(spender)


def approve(spender: Address, amount: int) -> bytes:
    return _APPROVE + address_word(spender) + word(amount)


def read_approve(data: bytes) -> tuple[Address, int] | None:
    """Return spender and amount; None unless it is exactly one canonical `approve` call."""
    if len(data) != 4 + 2 * 32 or not data.startswith(_APPROVE) or any(data[4:16]):
        return None
    return addresses.from_bytes(data[16:36]), int.from_bytes(data[36:])


def read_uint(data: bytes | None) -> int | None:
    """Return the first word of a result; None if the call failed or returned less."""
    if data is None or len(data) < 32:
        return None
    return int.from_bytes(data[:32])


def read_symbol(data: bytes | None) -> str:
    """Return a symbol of type `string` or, as MKR's, `bytes32`; "" for other data.

    The contract is not trusted: the symbol is harmless to show and has at most 32 characters. No
    letter of another script vanishes, so that nothing looks like what it is not.
    """
    return _text(data, _LONGEST_SYMBOL)


def read_name(data: bytes | None) -> str:
    """Return a name like `read_symbol`, of at most 60 characters."""
    return _text(data, _LONGEST_NAME)


def _text(data: bytes | None, limit: int) -> str:
    if data is None or len(data) < 32:
        return ""
    text = _string(data, limit) if len(data) > 32 else data.rstrip(b"\0")
    return harmless(text.decode("utf-8", "replace"), limit)


def _string(data: bytes, limit: int) -> bytes:
    offset = int.from_bytes(data[:32])
    if offset + 32 > len(data):
        return b""
    length = int.from_bytes(data[offset : offset + 32])
    return data[offset + 32 : offset + 32 + min(length, _READ_FACTOR * limit)]


_DEPOSIT = bytes.fromhex("d0e30db0")
_WITHDRAW = bytes.fromhex("2e1a7d4d")

TYPICAL_GAS = {WrapOperation.WRAP: 46_000, WrapOperation.UNWRAP: 36_100}
"""Gas units if the node cannot estimate: a first wrap uses 45,041; an unwrap needs a limit of
36,068, although it uses 30,465 after its refund; less than 50,000 from Amsterdam on, too."""


def calldata(operation: WrapOperation, amount: int) -> bytes:
    if operation is WrapOperation.WRAP:
        return _DEPOSIT
    return _WITHDRAW + amount.to_bytes(32)


def value_of(operation: WrapOperation, amount: int) -> int:
    """Return the value in wei: the amount for a wrap, 0 for an unwrap."""
    return amount if operation is WrapOperation.WRAP else 0
