"""Node JSON as domain values. Data that breaks its format raises MalformedResult.

Field names: https://ethereum.github.io/execution-apis/api-documentation/
"""

import re

import msgspec

from quietswap.adapters.json_decoder import T, decode
from quietswap.adapters.rpc import receipt_logs
from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.transaction.fees import next_base_fee
from quietswap.ports.chain import Block, BlockTransaction, Head, NodeUnavailable, Receipt

_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


class MalformedResult(NodeUnavailable):
    """Node data breaks its format. It permits no conclusion."""


class HeaderWire(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a block header that the service reads."""

    number: str
    hash: str
    parent_hash: str
    timestamp: str
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str
    miner: str | None = None


class TransactionWire(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """The fields of a transaction in a full block that the service reads."""

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
    """A receipt. Some nodes omit fields while they index the block.

    `sender` and `logs` are optional, because an inclusion does not depend on them.
    """

    transaction_hash: str
    block_number: str
    block_hash: str
    status: str
    gas_used: str
    effective_gas_price: str
    sender: object = msgspec.field(default=None, name="from")
    logs: msgspec.Raw = msgspec.Raw(b"")


def read(raw: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Return the JSON value as `shape`. Raises MalformedResult."""
    try:
        return decode(raw, shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedResult("the node returned an unexpected structure") from error


def quantity(text: str) -> int:
    """Return a hex quantity below 2**256, without leading zeros. Raises MalformedResult."""
    if not _QUANTITY.fullmatch(text):
        raise MalformedResult("not a hex quantity")
    return int(text, 16)


def octets(text: str) -> bytes:
    """Return hex data as bytes. Raises MalformedResult."""
    if not text.startswith("0x"):
        raise MalformedResult("not hex data")
    try:
        return bytes.fromhex(text[2:])
    except ValueError as error:
        raise MalformedResult("not hex data") from error


def block_hash(text: str) -> str:
    """Return a 32-byte hash in lower case. Raises MalformedResult."""
    if not _HASH.fullmatch(text):
        raise MalformedResult("not a 32-byte hash")
    return text.lower()


def account(text: str) -> Address:
    """Return an address with EIP-55 checksum. Raises MalformedResult."""
    try:
        return addresses.from_any_case(text)
    except addresses.BadAddress as error:
        raise MalformedResult("not an address") from error


def head(wire: HeaderWire) -> Head:
    """Return the Head of a block header. Raises MalformedResult."""
    base_fee, gas_limit = quantity(wire.base_fee_per_gas), quantity(wire.gas_limit)
    return Head(
        number=quantity(wire.number),
        hash=block_hash(wire.hash),
        parent_hash=block_hash(wire.parent_hash),
        time=quantity(wire.timestamp),
        base_fee=base_fee,
        next_base_fee=next_base_fee(base_fee, quantity(wire.gas_used), gas_limit),
        coinbase=None if wire.miner is None else account(wire.miner),
        gas_limit=gas_limit,
    )


def block(wire: BlockWire) -> Block:
    """Return a full block. Raises MalformedResult."""
    return Block(
        number=quantity(wire.number),
        hash=block_hash(wire.hash),
        parent_hash=block_hash(wire.parent_hash),
        time=quantity(wire.timestamp),
        transactions=tuple(_transaction(one) for one in wire.transactions),
    )


def _transaction(wire: TransactionWire) -> BlockTransaction:
    if not wire.input.startswith("0x") or len(wire.input) % 2:
        raise MalformedResult("not hex data")
    return BlockTransaction(
        hash=block_hash(wire.hash),
        sender=account(wire.sender),
        nonce=quantity(wire.nonce),
        to=None if wire.to is None else account(wire.to),
        value=quantity(wire.value),
        data_size=len(wire.input) // 2 - 1,
    )


def receipt(raw: msgspec.Raw, tx_hash: str) -> Receipt | None:
    """Return a receipt; None if it is missing, incomplete or of another transaction."""
    try:
        wire = read(raw, ReceiptWire)
        if block_hash(wire.transaction_hash) != tx_hash.lower():
            return None
        status = quantity(wire.status)
        if status > 1:
            return None
        sender = _sender(wire.sender)
        return Receipt(
            tx_hash=tx_hash,
            block_number=quantity(wire.block_number),
            block_hash=block_hash(wire.block_hash),
            succeeded=status == 1,
            gas_used=quantity(wire.gas_used),
            effective_gas_price=quantity(wire.effective_gas_price),
            sender=sender,
            movements=None if sender is None else receipt_logs.movements(sender, wire.logs),
        )
    except MalformedResult:
        return None


def _sender(text: object) -> Address | None:
    try:
        return account(text) if isinstance(text, str) else None
    except MalformedResult:
        return None
