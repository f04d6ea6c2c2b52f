"""A node's JSON as domain values. Whatever is not exactly as specified raises Malformed.

Field names: https://ethereum.github.io/execution-apis/api-documentation/
"""

import re
from typing import TypeVar

import msgspec

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.fees import next_base_fee
from quietswap.ports.outside import Block, BlockTransaction, Head, Receipt

_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)

T = TypeVar("T")


class Malformed(ValueError):
    """The node's answer is not what the method returns; it is no information."""


class HeaderWire(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a block header that are read."""

    number: str
    hash: str
    parent_hash: str
    timestamp: str
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str


class TransactionWire(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """The fields of a transaction within a full block that are read."""

    hash: str
    sender: str
    nonce: str
    value: str
    input: str
    to: str | None = None


class BlockWire(msgspec.Struct, frozen=True, rename="camel"):
    """A full block."""

    number: str
    hash: str
    parent_hash: str
    timestamp: str
    transactions: list[TransactionWire]


class ReceiptWire(msgspec.Struct, frozen=True, rename="camel"):
    """A receipt; nodes under way with indexing have been seen to leave fields out."""

    transaction_hash: str
    block_number: str
    block_hash: str
    status: str
    gas_used: str
    effective_gas_price: str


def read(raw: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Return the JSON value as `shape`. Raises Malformed."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed("the node answered in another shape") from error


def quantity(text: str) -> int:
    """Return a hex quantity below 2**256, without leading zeros. Raises Malformed."""
    if not _QUANTITY.fullmatch(text):
        raise Malformed("not a hex quantity")
    return int(text, 16)


def octets(text: str) -> bytes:
    """Return hex data as bytes. Raises Malformed."""
    if not text.startswith("0x"):
        raise Malformed("not hex data")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise Malformed("not hex data") from error


def block_hash(text: str) -> str:
    """Return a 32-byte hash in lower case. Raises Malformed."""
    if not _HASH.fullmatch(text):
        raise Malformed("not a 32-byte hash")
    return text.lower()


def account(text: str) -> Address:
    """Return an address in its checksummed spelling. Raises Malformed."""
    try:
        return addresses.from_any_case(text)
    except addresses.BadAddress as error:
        raise Malformed("not an address") from error


def head(wire: HeaderWire) -> Head:
    """Return the head of a header. Raises Malformed."""
    base_fee = quantity(wire.base_fee_per_gas)
    return Head(
        number=quantity(wire.number),
        hash=block_hash(wire.hash),
        parent_hash=block_hash(wire.parent_hash),
        time=quantity(wire.timestamp),
        base_fee=base_fee,
        next_base_fee=next_base_fee(base_fee, quantity(wire.gas_used), quantity(wire.gas_limit)),
    )


def block(wire: BlockWire) -> Block:
    """Return a full block. Raises Malformed."""
    return Block(
        number=quantity(wire.number),
        hash=block_hash(wire.hash),
        parent_hash=block_hash(wire.parent_hash),
        time=quantity(wire.timestamp),
        transactions=tuple(_transaction(one) for one in wire.transactions),
    )


def _transaction(wire: TransactionWire) -> BlockTransaction:
    if not wire.input.startswith("0x") or len(wire.input) % 2:
        raise Malformed("not hex data")
    return BlockTransaction(
        hash=block_hash(wire.hash),
        sender=account(wire.sender),
        nonce=quantity(wire.nonce),
        to=None if wire.to is None else account(wire.to),
        value=quantity(wire.value),
        data_size=len(wire.input) // 2 - 1,
    )


def receipt(raw: msgspec.Raw, tx_hash: str) -> Receipt | None:
    """Return a complete receipt of `tx_hash`; None for none, a partial one or a foreign one."""
    try:
        wire = read(raw, ReceiptWire)
        if block_hash(wire.transaction_hash) != tx_hash.lower():
            return None
        status = quantity(wire.status)
        if status > 1:
            return None
        return Receipt(
            tx_hash=tx_hash,
            block_number=quantity(wire.block_number),
            block_hash=block_hash(wire.block_hash),
            succeeded=status == 1,
            gas_used=quantity(wire.gas_used),
            effective_gas_price=quantity(wire.effective_gas_price),
        )
    except Malformed:
        return None
