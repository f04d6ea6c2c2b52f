"""What service and client ask an Ethereum node: each call, with the reader of its result.

Field names: https://ethereum.github.io/execution-apis/api-documentation/
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from quietswap.rules.chain import rpc_wire
from quietswap.rules.chain.block_facts import BlockFacts, block_facts
from quietswap.rules.chain.received import MOVEMENT_TOPICS, Movements, TokenLog, net_movements
from quietswap.rules.chain.records import Block, BlockTransaction, Head, Receipt
from quietswap.rules.chain.rpc_wire import (
    Json,
    MalformedResult,
    NodeCall,
    number,
    octets,
    or_none,
)
from quietswap.rules.safety.wallet_effects import wallet_word
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.fees import next_base_fee

_ADDRESS = re.compile(r"0x[0-9a-f]{40}", re.ASCII)
_WORD = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_MOST_TOPICS = 4


class NodeLog(msgspec.Struct, frozen=True):
    """One event log as a node sends it."""

    address: str
    topics: tuple[str, ...]
    data: str


class _Header(msgspec.Struct, frozen=True, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    timestamp: str
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str
    miner: str | None = None
    block_access_list_hash: str | None = None


class _Transaction(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    hash: str
    sender: str
    nonce: str
    value: str
    input: str
    to: str | None = None


class _Fork(msgspec.Struct, frozen=True, rename="camel"):
    activation_time: int


class _Forks(msgspec.Struct, frozen=True):
    """The next set of rules that a node knows (https://eips.ethereum.org/EIPS/eip-7910)."""

    next: _Fork | None = None


class _Block(msgspec.Struct, frozen=True, rename="camel"):
    """What follows the transactions is optional: no order depends on it."""

    number: str
    hash: str
    parent_hash: str
    timestamp: str
    transactions: list[_Transaction]
    base_fee_per_gas: object = None
    gas_used: object = None
    gas_limit: object = None
    extra_data: object = None
    miner: object = None


class _Receipt(msgspec.Struct, frozen=True, rename="camel"):
    """Some nodes omit fields while they index the block.

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


def _hash(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise MalformedResult("not a 32-byte hash")
    return text.lower()


def _account(text: str) -> Address:
    try:
        return addresses.from_any_case(text)
    except addresses.BadAddress as error:
        raise MalformedResult("not an address") from error


def _head(raw: Json) -> Head:
    wire, number = rpc_wire.read(raw, _Header), rpc_wire.quantity
    base_fee, gas_limit = number(wire.base_fee_per_gas), number(wire.gas_limit)
    return Head(
        number=number(wire.number),
        hash=_hash(wire.hash),
        parent_hash=_hash(wire.parent_hash),
        time=number(wire.timestamp),
        base_fee=base_fee,
        next_base_fee=next_base_fee(base_fee, number(wire.gas_used), gas_limit),
        coinbase=None if wire.miner is None else _account(wire.miner),
        gas_limit=gas_limit,
        is_amsterdam=wire.block_access_list_hash is not None,
    )


def _next_fork(raw: Json) -> int | None:
    fork = rpc_wire.read(raw, _Forks).next
    return None if fork is None else fork.activation_time


def _block(raw: Json) -> Block:
    wire = rpc_wire.read(raw, _Block)
    return Block(
        number=rpc_wire.quantity(wire.number),
        hash=_hash(wire.hash),
        parent_hash=_hash(wire.parent_hash),
        time=rpc_wire.quantity(wire.timestamp),
        transactions=tuple(map(_transaction, wire.transactions)),
        facts=_block_facts(wire),
    )


CHAIN_ID = NodeCall("eth_chainId", (), number)
HEIGHT = NodeCall("eth_blockNumber", (), number)
"""The latest block's number."""
NEXT_FORK = NodeCall("eth_config", (), _next_fork)
"""The Unix time of the next fork; None if none is planned."""


def header(block: str) -> NodeCall[Head]:
    return NodeCall("eth_getBlockByNumber", (block, False), _head)


LATEST = header("latest")


def block(at: str) -> NodeCall[Block | None]:
    """Request a block with its transactions; None if the node does not know it."""
    return NodeCall("eth_getBlockByNumber", (at, True), partial(or_none, _block))


def block_by_hash(block_hash: str) -> NodeCall[Block | None]:
    return NodeCall("eth_getBlockByHash", (block_hash, True), partial(or_none, _block))


def transaction(tx_hash: str) -> NodeCall[dict[str, object] | None]:
    """Request a transaction as the node shows it; None if the node does not know it."""
    return NodeCall("eth_getTransactionByHash", (tx_hash,), partial(or_none, _members))


def _members(raw: Json) -> dict[str, object]:
    return rpc_wire.read(raw, dict[str, object])


def nonce(wallet: str, block: str = "pending") -> NodeCall[int]:
    return NodeCall("eth_getTransactionCount", (wallet, block), number)


def code(wallet: str) -> NodeCall[bytes]:
    """Request the code of an account; empty for a plain wallet."""
    return NodeCall("eth_getCode", (wallet, "latest"), octets)


def eth_balance(wallet: str) -> NodeCall[int]:
    """Request a balance in wei."""
    return NodeCall("eth_getBalance", (wallet, "latest"), number)


def estimate_gas(call: Mapping[str, object], *block: str) -> NodeCall[int]:
    """Request the gas units of a call. A call that reverts is an error."""
    return NodeCall("eth_estimateGas", (call, *block), number)


def storage_word(contract: str, slot: int, block: str) -> NodeCall[int]:
    return NodeCall("eth_getStorageAt", (contract, f"0x{slot:064x}", block), _word)


def _word(raw: Json) -> int:
    return int.from_bytes(octets(raw))


def _block_facts(wire: _Block) -> BlockFacts | None:
    """Return the facts of a block; None if one of its numbers is missing or malformed."""
    number = rpc_wire.quantity
    try:
        return block_facts(
            number(str(wire.base_fee_per_gas)),
            number(str(wire.gas_used)),
            number(str(wire.gas_limit)),
            rpc_wire.hex_bytes(str(wire.extra_data or "0x")),
            wire.miner if isinstance(wire.miner, str) else None,
        )
    except MalformedResult:
        return None


def _transaction(wire: _Transaction) -> BlockTransaction:
    if not wire.input.startswith("0x") or len(wire.input) % 2:
        raise MalformedResult("not hex data")
    return BlockTransaction(
        hash=_hash(wire.hash),
        sender=_account(wire.sender),
        nonce=rpc_wire.quantity(wire.nonce),
        to=None if wire.to is None else _account(wire.to),
        value=rpc_wire.quantity(wire.value),
        data_size=len(wire.input) // 2 - 1,
    )


RECEIPT = "eth_getTransactionReceipt"


class MinedReceipt(NamedTuple):
    """A complete receipt as a node shows it; `status` is 1 for success. `logs` are not decoded."""

    tx_hash: str
    block_number: int
    block_hash: str
    status: int
    gas_used: int
    effective_gas_price: int
    sender: object
    logs: msgspec.Raw


def mined_receipt(raw: Json) -> MinedReceipt:
    """Return a receipt. Raises MalformedResult for one that is missing or incomplete."""
    wire, number = rpc_wire.read(raw, _Receipt), rpc_wire.quantity
    return MinedReceipt(
        tx_hash=_hash(wire.transaction_hash),
        block_number=number(wire.block_number),
        block_hash=_hash(wire.block_hash),
        status=number(wire.status),
        gas_used=number(wire.gas_used),
        effective_gas_price=number(wire.effective_gas_price),
        sender=wire.sender,
        logs=wire.logs,
    )


def receipt(tx_hash: str) -> NodeCall[Receipt | None]:
    """Request a receipt; None if it is missing, incomplete or of another transaction."""
    return NodeCall(RECEIPT, (tx_hash,), partial(_receipt, tx_hash))


def _receipt(tx_hash: str, raw: Json) -> Receipt | None:
    try:
        mined = mined_receipt(raw)
    except MalformedResult:
        return None
    if mined.tx_hash != tx_hash.lower() or mined.status > 1:
        return None
    sender = _sender(mined.sender)
    return Receipt(
        tx_hash=tx_hash,
        block_number=mined.block_number,
        block_hash=mined.block_hash,
        succeeded=mined.status == 1,
        gas_used=mined.gas_used,
        effective_gas_price=mined.effective_gas_price,
        sender=sender,
        movements=None if sender is None else movements(sender, mined.logs),
    )


def _sender(text: object) -> Address | None:
    try:
        return _account(text) if isinstance(text, str) else None
    except MalformedResult:
        return None


def movements(sender: Address, logs: msgspec.Raw) -> Movements | None:
    """Return the net change of `sender` by token; None if the logs are missing or malformed.

    A transaction may emit thousands of logs, most of them about pools. So a log is parsed only if
    it contains the sender's address, and only its sum is kept.
    """
    try:
        return net_movements(sender, _logs_of(sender, rpc_wire.read(logs, list[NodeLog])))
    except ValueError:
        return None


def _logs_of(sender: Address, logs: list[NodeLog]) -> Iterator[TokenLog]:
    word = wallet_word(sender)
    for log in logs:
        if not log.topics or log.topics[0].lower() not in MOVEMENT_TOPICS:
            continue
        if any(word in text.lower() for text in (*log.topics[1:], log.data)):
            yield _token_log(log)


def _token_log(log: NodeLog) -> TokenLog:
    token = log.address.lower()
    if not _ADDRESS.fullmatch(token) or not log.data.startswith("0x"):
        raise ValueError("a log without an address or without hex data")
    if len(log.topics) > _MOST_TOPICS or not all(map(_WORD.fullmatch, log.topics)):
        raise ValueError("a log has at most 4 topics of 32 bytes")
    topics = tuple([bytes.fromhex(topic[2:]) for topic in log.topics])
    return TokenLog(token, topics, bytes.fromhex(log.data[2:]))
