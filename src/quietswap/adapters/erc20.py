"""The ABI words of the ERC-20 views the service reads (https://eips.ethereum.org/EIPS/eip-20)."""

from quietswap.domain import address as addresses
from quietswap.domain.address import Address

DECIMALS = bytes.fromhex("313ce567")
SYMBOL = bytes.fromhex("95d89b41")
_BALANCE_OF = bytes.fromhex("70a08231")
_ALLOWANCE = bytes.fromhex("dd62ed3e")
_LONGEST_SYMBOL = 32


def word(number: int) -> bytes:
    """Return a uint256 as its 32-byte ABI word."""
    return number.to_bytes(32)


def address_word(address: Address) -> bytes:
    """Return an address as its 32-byte ABI word, padded on the left."""
    return addresses.to_bytes(address).rjust(32, b"\0")


def balance_of(holder: Address) -> bytes:
    """Return the calldata of `balanceOf(holder)`."""
    return _BALANCE_OF + address_word(holder)


def allowance(owner: Address, spender: Address) -> bytes:
    """Return the calldata of `allowance(owner, spender)`."""
    return _ALLOWANCE + address_word(owner) + address_word(spender)


def read_uint(data: bytes | None) -> int | None:
    """Return the first word of a view's answer; None when the call failed or answered less."""
    if data is None or len(data) < 32:
        return None
    return int.from_bytes(data[:32])


def read_symbol(data: bytes | None) -> str:
    """Return a symbol given as `string` or, like MKR's, as `bytes32`; "" when it is neither.

    What comes from a stranger's contract is cut to 32 printable ASCII characters.
    """
    if data is None or len(data) < 32:
        return ""
    text = _string(data) if len(data) > 32 else data.rstrip(b"\0")
    shown = text.decode("ascii", "ignore")
    return "".join(c for c in shown if c.isprintable())[:_LONGEST_SYMBOL].strip()


def _string(data: bytes) -> bytes:
    offset = int.from_bytes(data[:32])
    if offset + 32 > len(data):
        return b""
    length = int.from_bytes(data[offset : offset + 32])
    return data[offset + 32 : offset + 32 + min(length, 4 * _LONGEST_SYMBOL)]
