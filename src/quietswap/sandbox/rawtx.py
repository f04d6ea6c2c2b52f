"""EIP-1559 transactions as bytes: what the relay reads and the searcher signs.

Written apart from the service's own decoder on purpose: two readings of the same standard
(https://eips.ethereum.org/EIPS/eip-1559, RLP: yellow paper appendix B) must agree.
"""

from dataclasses import dataclass

from coincurve import PrivateKey

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256, recover_signer

_HALF_N = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
_DEPTH = 3
"""Access lists are the deepest lists a transaction has."""
Rlp = bytes | list["Rlp"]


class BadTransaction(ValueError):
    """The bytes are not a transaction a node takes; the message is geth's."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """The fields a wallet signs; wei and gas units; `to` is never None (nobody deploys here)."""

    nonce: int
    to: Address
    data: bytes
    gas: int
    max_fee: int
    tip: int = 0
    value: int = 0
    chain_id: int = 1


@dataclass(frozen=True, slots=True)
class Signed:
    """A decoded transaction: `hash` as 0x text, `sender` recovered from the signature."""

    raw: bytes
    hash: str
    sender: Address
    fields: Unsigned

    @property
    def cost(self) -> int:
        """The most wei it can take from its sender."""
        return self.fields.gas * self.fields.max_fee + self.fields.value


def sign(fields: Unsigned, private_key: str) -> Signed:
    """Return the transaction signed with `private_key` (0x and 64 hexadecimal digits)."""
    digest = keccak256(b"\x02" + _encode(_items(fields)))
    key = PrivateKey.from_hex(private_key.removeprefix("0x"))
    signature = key.sign_recoverable(digest, hasher=None)
    parts = (
        signature[64:].lstrip(b"\0"),
        signature[:32].lstrip(b"\0"),
        signature[32:64].lstrip(b"\0"),
    )
    return decode(b"\x02" + _encode([*_items(fields), *parts]))


def decode(raw: bytes) -> Signed:
    """Return what `raw` says. Raises BadTransaction."""
    if not raw:
        raise BadTransaction("typed transaction too short")
    if raw[0] != 2:
        raise BadTransaction("transaction type not supported")
    items, rest = _decode(raw[1:])
    if rest or not isinstance(items, list) or len(items) != 12 or items[8] != []:
        raise BadTransaction("rlp: the transaction has not the shape of type 2")
    flat = [item for item in items if isinstance(item, bytes)]
    if len(flat) != 11 or len(flat[5]) != 20:
        raise BadTransaction("rlp: the transaction has not the shape of type 2")
    chain, nonce, tip, max_fee, gas, value, parity, r, s = (
        _number(item) for item in (*flat[:5], flat[6], *flat[8:])
    )
    fields = Unsigned(
        nonce, addresses.from_bytes(flat[5]), flat[7], gas, max_fee, tip, value, chain
    )
    digest = keccak256(b"\x02" + _encode(items[:9]))
    return Signed(raw, "0x" + keccak256(raw).hex(), _sender(digest, parity, r, s), fields)


def _sender(digest: bytes, parity: int, r: int, s: int) -> Address:
    if parity > 1 or not 0 < s <= _HALF_N or not 0 < r < 2**256:
        raise BadTransaction("invalid transaction v, r, s values")
    try:
        return addresses.from_bytes(recover_signer(digest, r, s, parity))
    except ValueError as error:
        raise BadTransaction("invalid transaction v, r, s values") from error


def _items(fields: Unsigned) -> list[Rlp]:
    numbers = (fields.chain_id, fields.nonce, fields.tip, fields.max_fee, fields.gas)
    to = addresses.to_bytes(fields.to)
    return [*map(_bytes, numbers), to, _bytes(fields.value), fields.data, []]


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8)


def _number(item: bytes) -> int:
    if item[:1] == b"\0" or len(item) > 32:
        raise BadTransaction("rlp: non-canonical integer")
    return int.from_bytes(item)


def _encode(item: Rlp) -> bytes:
    if isinstance(item, list):
        return _prefixed(b"".join(map(_encode, item)), 0xC0)
    if len(item) == 1 and item[0] < 0x80:
        return item
    return _prefixed(item, 0x80)


def _prefixed(payload: bytes, offset: int) -> bytes:
    if len(payload) < 56:
        return bytes([offset + len(payload)]) + payload
    size = _bytes(len(payload))
    return bytes([offset + 55 + len(size)]) + size + payload


def _decode(data: bytes, depth: int = 0) -> tuple[Rlp, bytes]:
    """Return the first item and what follows it; only the canonical coding passes."""
    if not data or depth > _DEPTH:
        raise BadTransaction("rlp: value size exceeds available input length")
    first = data[0]
    if first < 0x80:
        return data[:1], data[1:]
    offset = 0x80 if first < 0xC0 else 0xC0
    payload, rest = _payload(data, first - offset)
    if offset == 0x80:
        if len(payload) == 1 and payload[0] < 0x80:
            raise BadTransaction("rlp: non-canonical size information")
        return payload, rest
    items: list[Rlp] = []
    while payload:
        item, payload = _decode(payload, depth + 1)
        items.append(item)
    return items, rest


def _payload(data: bytes, length: int) -> tuple[bytes, bytes]:
    start = 1
    if length > 55:
        start += length - 55
        length = int.from_bytes(data[1:start])
        if length < 56 or data[1:2] == b"\0":
            raise BadTransaction("rlp: non-canonical size information")
    if len(data) < start + length:
        raise BadTransaction("rlp: value size exceeds available input length")
    return data[start : start + length], data[start + length :]
