"""A signed transaction as a node shows it, back to its bytes.

Shape: https://ethereum.github.io/execution-apis/api-documentation/ (eth_getTransactionByHash).
"""

from collections.abc import Mapping, Sequence

from quietswap.rules.tx.signed import SignedTransaction, decode

_TYPE_2 = "0x2"
_NUMBERS_BEFORE = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas")
_SIGNATURE = ("yParity", "r", "s")
_SHORT = 55


def from_node(wire: Mapping[str, object]) -> SignedTransaction:
    """Return the EIP-1559 transaction of a node's JSON object.

    Raises ValueError unless it is one without an access list whose bytes have the hash that the
    node names. So nothing else of the node's answer needs to be believed.
    """
    if wire.get("type") != _TYPE_2 or wire.get("accessList"):
        raise ValueError("it is no EIP-1559 transaction without an access list")
    items = [
        *(_quantity(wire, name) for name in _NUMBERS_BEFORE),
        _bytes(wire, "to"),
        _quantity(wire, "value"),
        _bytes(wire, "input"),
        [],
        *(_quantity(wire, name) for name in _SIGNATURE),
    ]
    signed = decode(f"0x02{_encoded(items).hex()}")
    if signed.hash != wire.get("hash"):
        raise ValueError("its bytes have another hash than the node names")
    return signed


def _quantity(wire: Mapping[str, object], name: str) -> bytes:
    number = int(str(wire.get(name)), 16)
    return number.to_bytes((number.bit_length() + 7) // 8)


def _bytes(wire: Mapping[str, object], name: str) -> bytes:
    return bytes.fromhex(str(wire.get(name)).removeprefix("0x"))


def _encoded(item: bytes | Sequence[object]) -> bytes:
    """Return the RLP encoding (https://ethereum.org/developers/docs/data-structures-and-encoding/rlp/)."""
    if isinstance(item, bytes):
        is_itself = len(item) == 1 and item[0] < 0x80
        return item if is_itself else _head(0x80, len(item)) + item
    body = b"".join(_encoded(part) for part in item)  # type: ignore[arg-type]
    return _head(0xC0, len(body)) + body


def _head(base: int, size: int) -> bytes:
    if size <= _SHORT:
        return bytes([base + size])
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([base + _SHORT + len(digits)]) + digits
