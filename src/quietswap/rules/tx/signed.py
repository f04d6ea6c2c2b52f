"""Decode a signed transaction strictly; every rule is checked here.

Recovery libraries accept transactions that Ethereum refuses, and general RLP decoders recurse and
copy without bound. So a strict reader decodes the flat list of an EIP-1559 transaction. Rules:
EIP-1559 (fields), EIP-2 (low s), EIP-2681 (nonce), EIP-7825 (gas limit), and the canonical RLP of
the Yellow Paper's appendix B.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256, recover_signer

MAINNET = 1
TYPE_2 = 2
GAS_LIMIT_CAP = 16_777_216
"""2**24, the highest gas limit of a transaction (https://eips.ethereum.org/EIPS/eip-7825)."""


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """All amounts in wei. `nonce` is None in wrap quotes: the client sets it.

    The priority fee is always 0, because the transaction goes to a private relay.
    """

    to: Address
    data: bytes
    value: int
    gas_limit: int
    max_fee_per_gas: int
    nonce: int | None

    def fingerprint(self) -> str:
        """Return a digest of every field except the nonce, to find the issued quote."""
        parts = (self.to, self.data.hex(), self.value, self.gas_limit, self.max_fee_per_gas)
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


SIZE_CAP = 128 * 1024
"""Bytes; the largest transaction that mempools accept (go-ethereum `txMaxSize`)."""
NONCE_LIMIT = 2**64 - 1
"""A nonce must be below it (https://eips.ethereum.org/EIPS/eip-2681)."""

_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_HALF_ORDER = _CURVE_ORDER // 2
_OTHER_TYPES = frozenset({1, 3, 4})
_LEGACY_FIELDS, _UNSIGNED_FIELDS = 9, 9
_FIELDS = (
    "chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gasLimit", "to",
    "value", "data", "accessList", "yParity", "r", "s",
)  # fmt: skip


class TransactionDecodeError(ValueError):
    """The text is not a signed transaction in canonical form; the message gives the reason."""


class BadSignature(ValueError):
    """The signature recovers no wallet, or is malleated (EIP-2)."""


class TransactionRuleViolation(ValueError):
    """A decoded transaction that breaks a rule of its type or chain; `name` is the field."""

    def __init__(self, name: str, expected: str, provided: int | str) -> None:
        if isinstance(provided, int) and provided > UINT256_MAX:
            provided = "a number above 2^256 - 1"
        super().__init__(f"{name} must be {expected}, not {provided}")
        self.name = name
        self.expected = expected
        self.provided = str(provided)


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A valid signed type-2 mainnet transaction. Amounts in wei; `raw` is never logged."""

    raw: bytes = field(repr=False)
    hash: str
    sender: Address
    params: UnsignedTransaction
    priority_fee: int
    signature: tuple[int, int, int] = field(repr=False)
    """yParity, r and s."""

    @property
    def nonce(self) -> int:
        assert self.params.nonce is not None
        return self.params.nonce

    @property
    def max_cost_wei(self) -> int:
        """Return the highest cost in wei: all gas at the fee cap, plus the value."""
        return self.params.gas_limit * self.params.max_fee_per_gas + self.params.value


def decode(raw_hex: str) -> SignedTransaction:
    """Return the transaction of 0x-prefixed hex text.

    Raises TransactionDecodeError, TransactionRuleViolation (type, chain, bounds, access list) or
    BadSignature, in this order of precedence.
    """
    raw = _bytes(raw_hex)
    fields, signed_body = _fields(raw)
    params, priority_fee = _params(fields)
    signature = _signature(fields)
    sender = _sender(signature, signed_body)
    tx_hash = "0x" + keccak256(raw).hex()
    return SignedTransaction(raw, tx_hash, sender, params, priority_fee, signature)


def _bytes(text: str) -> bytes:
    if len(text) > 2 * SIZE_CAP + 2:
        # a sidecar makes blobs so large; the list behind the type then has a long header
        if text[:4] in {f"0x0{kind}" for kind in _OTHER_TYPES} and text[4:6].lower() >= "f9":
            raise TransactionRuleViolation("type", str(TYPE_2), int(text[3]))
        raise TransactionDecodeError(f"it is larger than {SIZE_CAP} bytes")
    try:
        raw = bytes.fromhex(text[2:])
    except ValueError:
        raw = b""
    if text == "0x":
        raise TransactionDecodeError("it is empty")
    # `fromhex` ignores blanks; the length reveals them.
    if not raw or text[:2] != "0x" or len(text) != 2 + 2 * len(raw):
        raise TransactionDecodeError("it is not 0x followed by pairs of hexadecimal digits")
    return raw


class _Item(NamedTuple):
    """The place of one RLP item: its header at `at`, its content from `start` to `end`."""

    is_list: bool
    at: int
    start: int
    end: int


def _fields(raw: bytes) -> tuple[dict[str, bytes], bytes]:
    if raw[0] != TYPE_2:
        raise _other_type(raw)
    items = list(_items(raw, 1))
    if len(items) == _UNSIGNED_FIELDS:
        raise TransactionDecodeError("it is not signed: yParity, r and s are missing")
    if len(items) != len(_FIELDS):
        raise TransactionDecodeError(f"it has {len(items)} fields, an EIP-1559 transaction has 12")
    for name, item in zip(_FIELDS, items, strict=True):
        if item.is_list != (name == "accessList"):
            kind = "list" if name == "accessList" else "byte string"
            raise TransactionDecodeError(f"{name} is not an RLP {kind}")
        if item.is_list and item.end > item.start:
            raise TransactionRuleViolation("accessList", "empty", f"{item.end - item.start} bytes")
    fields = {n: raw[item.start : item.end] for n, item in zip(_FIELDS, items, strict=True)}
    return fields, raw[items[0].at : items[8].end]


def _other_type(raw: bytes) -> Exception:
    """Return the error for these bytes: another known transaction type, or no transaction."""
    is_legacy = raw[0] >= 0xC0
    kind = 0 if is_legacy else raw[0]
    if not is_legacy and kind not in _OTHER_TYPES:
        return TransactionDecodeError(f"its first byte, 0x{kind:02x}, names no transaction type")
    try:
        items = list(_items(raw, 0 if is_legacy else 1))
    except TransactionDecodeError as error:
        return error
    if is_legacy and [item.is_list for item in items] != [False] * _LEGACY_FIELDS:
        return TransactionDecodeError("it is neither a typed nor a signed legacy transaction")
    return TransactionRuleViolation("type", str(TYPE_2), kind)


def _items(raw: bytes, at: int) -> Iterator[_Item]:
    transaction = _item(raw, at)
    if not transaction.is_list or transaction.end != len(raw):
        raise TransactionDecodeError("it is not one RLP list from its first to its last byte")
    at = transaction.start
    while at < transaction.end:
        item = _item(raw, at)
        yield item
        at = item.end


def _item(raw: bytes, at: int) -> _Item:
    """Return the item at `at`, in canonical form only."""
    if at >= len(raw):
        raise TransactionDecodeError("it ends too early")
    first = raw[at]
    if first < 0x80:
        return _Item(False, at, at, at + 1)
    is_list = first >= 0xC0
    size = first - (0xC0 if is_list else 0x80)
    start = at + 1
    if size > 55:
        start += size - 55
        digits = raw[at + 1 : start]
        if start > len(raw):
            raise TransactionDecodeError("it ends too early")
        size = int.from_bytes(digits)
        if digits[:1] == b"\0" or size <= 55:
            raise TransactionDecodeError("a length is written in a longer form")
    elif size == 1 and not is_list and start < len(raw) and raw[start] < 0x80:
        raise TransactionDecodeError("a single byte is written in a longer form")
    if start + size > len(raw):
        raise TransactionDecodeError("it ends too early")
    return _Item(is_list, at, start, start + size)


def _integer(fields: dict[str, bytes], name: str) -> int:
    content = fields[name]
    if content[:1] == b"\0":
        raise TransactionDecodeError(f"{name} has a leading zero")
    return int.from_bytes(content)


def _at_most(name: str, value: int, most: int, why: str = "") -> int:
    if value > most:
        bound = "2^256 - 1" if most == UINT256_MAX else most
        raise TransactionRuleViolation(name, f"at most {why}{bound}", value)
    return value


def _params(fields: dict[str, bytes]) -> tuple[UnsignedTransaction, int]:
    """Return the fields that a quote fixes and the priority fee, within their bounds."""
    numbers = {n: _integer(fields, n) for n in _FIELDS if n not in ("to", "data", "accessList")}
    if numbers["chainId"] != MAINNET:
        raise TransactionRuleViolation("chainId", str(MAINNET), numbers["chainId"])
    if len(fields["to"]) not in (0, 20):
        raise TransactionDecodeError("to is not 20 bytes")
    if not fields["to"]:
        raise TransactionRuleViolation("to", "an address", "empty: it creates a contract")
    priority, cap = numbers["maxPriorityFeePerGas"], numbers["maxFeePerGas"]
    _at_most("maxFeePerGas", cap, UINT256_MAX)
    _at_most("maxPriorityFeePerGas", priority, cap, "its maxFeePerGas, ")
    params = UnsignedTransaction(
        to=addresses.from_bytes(fields["to"]),
        data=fields["data"],
        value=_at_most("value", numbers["value"], UINT256_MAX),
        gas_limit=_at_most("gasLimit", numbers["gasLimit"], GAS_LIMIT_CAP, "EIP-7825's "),
        max_fee_per_gas=cap,
        nonce=_at_most("nonce", numbers["nonce"], NONCE_LIMIT - 1, "EIP-2681's "),
    )
    return params, priority


def _signature(fields: dict[str, bytes]) -> tuple[int, int, int]:
    y_parity, r, s = (_integer(fields, name) for name in ("yParity", "r", "s"))
    if y_parity > 1:
        raise BadSignature("yParity must be 0 or 1")
    if not 0 < r < _CURVE_ORDER or not 0 < s < _CURVE_ORDER:
        raise BadSignature("r or s lies outside the curve's order")
    if s > _HALF_ORDER:
        raise BadSignature("s lies in the upper half of the curve's order (EIP-2)")
    return y_parity, r, s


def _sender(signature: tuple[int, int, int], signed_body: bytes) -> Address:
    y_parity, r, s = signature
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
