"""Reading the bytes a wallet signed: every rule is checked here, none is left to a library.

Recovery libraries accept transactions Ethereum refuses, and general RLP decoders recurse and copy
without bound, so the flat list of an EIP-1559 transaction is read by a strict reader of its own.
Rules: EIP-1559 (fields), EIP-2 (low s), EIP-2681 (nonce), EIP-7825 (gas limit), and the canonical
RLP of the Yellow Paper's appendix B.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.amounts import UINT256_MAX
from quietswap.domain.crypto import keccak256, recover_signer
from quietswap.domain.transaction import GAS_LIMIT_CAP, MAINNET, TYPE_2, TransactionParams

SIZE_CAP = 128 * 1024
"""Bytes; Ethereum's own pools take no larger transaction (go-ethereum `txMaxSize`)."""
NONCE_LIMIT = 2**64 - 1
"""A nonce must stay below it (https://eips.ethereum.org/EIPS/eip-2681)."""

_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_HALF_ORDER = _CURVE_ORDER // 2
_OTHER_TYPES = frozenset({1, 3, 4})
_LEGACY_FIELDS = 9
_FIELDS = (
    "chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gasLimit", "to",
    "value", "data", "accessList", "yParity", "r", "s",
)  # fmt: skip


class Undecodable(ValueError):
    """The text is not a signed transaction in canonical form; the message says why."""


class BadSignature(ValueError):
    """The signature proves no wallet, or is a malleated copy of one that does."""


class BrokenRule(ValueError):
    """A readable transaction that breaks a rule of its type or chain; `name` is the field."""

    def __init__(self, name: str, expected: str, provided: int | str) -> None:
        if isinstance(provided, int) and provided > UINT256_MAX:
            provided = "a number beyond 2^256"
        super().__init__(f"{name} must be {expected}, not {provided}")
        self.name = name
        self.expected = expected
        self.provided = str(provided)


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A valid signed type-2 mainnet transaction. Amounts in wei; `raw` never appears in a log."""

    raw: bytes = field(repr=False)
    hash: str
    sender: Address
    params: TransactionParams
    priority_fee: int

    @property
    def nonce(self) -> int:
        """Return the wallet's transaction count this transaction takes."""
        assert self.params.nonce is not None
        return self.params.nonce

    @property
    def most_wei(self) -> int:
        """Return the most wei the wallet can lose by it: all gas at the cap, plus the value."""
        return self.params.gas_limit * self.params.max_fee_per_gas + self.params.value


def decode(raw_hex: str) -> SignedTransaction:
    """Return the transaction of 0x-prefixed hex text.

    Raises Undecodable, BrokenRule (type, chain, bounds, access list) or BadSignature, in this
    order of precedence.
    """
    raw = _bytes(raw_hex)
    fields, signed_body = _fields(raw)
    params, priority_fee = _params(fields)
    sender = _sender(fields, signed_body)
    return SignedTransaction(raw, "0x" + keccak256(raw).hex(), sender, params, priority_fee)


def _bytes(text: str) -> bytes:
    if len(text) > 2 * SIZE_CAP + 2:
        raise Undecodable(f"it is larger than {SIZE_CAP} bytes")
    try:
        raw = bytes.fromhex(text[2:])
    except ValueError:
        raw = b""
    # `fromhex` passes over blanks, which a length gives away.
    if not raw or text[:2] != "0x" or len(text) != 2 + 2 * len(raw):
        raise Undecodable("it is not 0x followed by pairs of hexadecimal digits")
    return raw


class _Item(NamedTuple):
    """Where one RLP item lies in the raw bytes: its header at `at`, its content up to `end`."""

    is_list: bool
    at: int
    start: int
    end: int


def _fields(raw: bytes) -> tuple[dict[str, bytes], bytes]:
    """Return the twelve fields by name, and the body of the list of nine that was signed."""
    if raw[0] != TYPE_2:
        raise _other_type(raw)
    items = list(_items(raw, 1))
    if len(items) != len(_FIELDS):
        raise Undecodable(f"it has {len(items)} fields, an EIP-1559 transaction has 12")
    for name, item in zip(_FIELDS, items, strict=True):
        if item.is_list != (name == "accessList"):
            raise Undecodable(f"{name} has the wrong kind")
        if item.is_list and item.end > item.start:
            raise BrokenRule("accessList", "empty", f"{item.end - item.start} bytes")
    fields = {n: raw[item.start : item.end] for n, item in zip(_FIELDS, items, strict=True)}
    return fields, raw[items[0].at : items[8].end]


def _other_type(raw: bytes) -> Exception:
    """Return the right complaint: another known type is readable, anything else is not."""
    kind = 0 if raw[0] >= 0xC0 else raw[0]
    if kind and kind not in _OTHER_TYPES:
        return Undecodable("its first byte names no transaction type")
    try:
        items = list(_items(raw, 1 if kind else 0))
    except Undecodable as error:
        return error
    if not kind and [item.is_list for item in items] != [False] * _LEGACY_FIELDS:
        return Undecodable("it is neither a typed nor a legacy transaction")
    return BrokenRule("type", str(TYPE_2), kind)


def _items(raw: bytes, at: int) -> Iterator[_Item]:
    """Yield each item of the one list that fills `raw` from `at`."""
    whole = _item(raw, at)
    if not whole.is_list or whole.end != len(raw):
        raise Undecodable("it is not one RLP list from its first to its last byte")
    at = whole.start
    while at < whole.end:
        item = _item(raw, at)
        yield item
        at = item.end


def _item(raw: bytes, at: int) -> _Item:
    """Return the item at `at`, in canonical form only."""
    if at >= len(raw):
        raise Undecodable("it ends too early")
    first = raw[at]
    if first < 0x80:
        return _Item(False, at, at, at + 1)
    is_list = first >= 0xC0
    size = first - (0xC0 if is_list else 0x80)
    start = at + 1
    if size > 55:
        start += size - 55
        digits = raw[at + 1 : start]
        size = int.from_bytes(digits)
        if digits[:1] == b"\0" or size <= 55:
            raise Undecodable("a length is written in a longer form")
    elif size == 1 and not is_list and raw[start : start + 1] < b"\x80":
        raise Undecodable("a single byte is written in a longer form")
    if start + size > len(raw):
        raise Undecodable("it ends too early")
    return _Item(is_list, at, start, start + size)


def _integer(fields: dict[str, bytes], name: str) -> int:
    content = fields[name]
    if content[:1] == b"\0":
        raise Undecodable(f"{name} has a leading zero")
    return int.from_bytes(content)


def _below(name: str, value: int, limit: int) -> int:
    if value >= limit:
        raise BrokenRule(name, f"below {limit}", value)
    return value


def _params(fields: dict[str, bytes]) -> tuple[TransactionParams, int]:
    """Return the fields a quote fixes and the priority fee, all inside their bounds."""
    numbers = {n: _integer(fields, n) for n in _FIELDS if n not in ("to", "data", "accessList")}
    if numbers["chainId"] != MAINNET:
        raise BrokenRule("chainId", str(MAINNET), numbers["chainId"])
    if len(fields["to"]) not in (0, 20):
        raise Undecodable("to is not 20 bytes")
    if not fields["to"]:
        raise BrokenRule("to", "a contract's address", "empty")
    priority, cap = numbers["maxPriorityFeePerGas"], numbers["maxFeePerGas"]
    _below("maxFeePerGas", cap, UINT256_MAX + 1)
    _below("maxPriorityFeePerGas", priority, cap + 1)
    params = TransactionParams(
        to=addresses.from_bytes(fields["to"]),
        data=fields["data"],
        value=_below("value", numbers["value"], UINT256_MAX + 1),
        gas_limit=_below("gasLimit", numbers["gasLimit"], GAS_LIMIT_CAP + 1),
        max_fee_per_gas=cap,
        nonce=_below("nonce", numbers["nonce"], NONCE_LIMIT),
    )
    return params, priority


def _sender(fields: dict[str, bytes], signed_body: bytes) -> Address:
    y_parity, r, s = (_integer(fields, name) for name in ("yParity", "r", "s"))
    if y_parity > 1:
        raise BadSignature("yParity must be 0 or 1")
    if not 0 < r < _CURVE_ORDER or not 0 < s < _CURVE_ORDER:
        raise BadSignature("r or s lies outside the curve's order")
    if s > _HALF_ORDER:
        raise BadSignature("s lies in the upper half of the curve's order (EIP-2)")
    signed = bytes([TYPE_2]) + _list_header(len(signed_body)) + signed_body
    try:
        signer = recover_signer(keccak256(signed), r, s, y_parity)
    except ValueError as error:
        raise BadSignature(str(error)) from error
    return addresses.from_bytes(signer)


def _list_header(size: int) -> bytes:
    if size <= 55:
        return bytes([0xC0 + size])
    digits = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([0xF7 + len(digits)]) + digits
