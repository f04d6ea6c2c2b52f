"""Encoding of JSON-RPC 2.0 batches (https://www.jsonrpc.org/specification).

A response is accepted only if it is complete: each id once, and no other id. Each entry stands
alone: with neither a result nor an error, or both, it is an error of that entry, with its text.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from quietswap.chain import address as addresses
from quietswap.chain.address import Address
from quietswap.chain.chain import Block, BlockTransaction, Head, NodeUnavailable, Receipt
from quietswap.chain.fees import next_base_fee
from quietswap.chain.simulation.codec import NodeLog
from quietswap.http_client import T, decode
from quietswap.orders.received import MOVEMENT_TOPICS, Movements, TokenLog, net_movements
from quietswap.quoting.wallet_effects import wallet_word

# Logs of a receipt as the net token movements of its sender.
#
# A transaction may emit thousands of logs, and most of them are about pools. So a log is parsed
# only if it contains the sender's address, and only its sum is kept.


_ADDRESS = re.compile(r"0x[0-9a-f]{40}", re.ASCII)
_WORD = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_MOST_TOPICS = 4


_decode = msgspec.json.Decoder(list[NodeLog]).decode


def movements(sender: Address, logs: msgspec.Raw) -> Movements | None:
    """Return the net change of `sender` by token; None if the logs are missing or malformed."""
    try:
        return net_movements(sender, _of(sender, _decode(logs)))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError):
        return None


def _of(sender: Address, logs: list[NodeLog]) -> Iterator[TokenLog]:
    """Yield the logs that move tokens from or to `sender`. Raises ValueError."""
    word = wallet_word(sender)
    for log in logs:
        if not log.topics or log.topics[0].lower() not in MOVEMENT_TOPICS:
            continue
        if any(word in text.lower() for text in (*log.topics[1:], log.data)):
            yield _parsed(log)


def _parsed(log: NodeLog) -> TokenLog:
    token = log.address.lower()
    if not _ADDRESS.fullmatch(token) or not log.data.startswith("0x"):
        raise ValueError("a log without an address or without hex data")
    if len(log.topics) > _MOST_TOPICS or not all(map(_WORD.fullmatch, log.topics)):
        raise ValueError("a log has at most 4 topics of 32 bytes")
    topics = tuple([bytes.fromhex(topic[2:]) for topic in log.topics])
    return TokenLog(token, topics, bytes.fromhex(log.data[2:]))


# Node JSON as domain values. Data that breaks its format raises MalformedResult.
#
# Field names: https://ethereum.github.io/execution-apis/api-documentation/


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
    block_access_list_hash: str | None = None


class TransactionWire(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """The fields of a transaction in a full block that the service reads."""

    hash: str
    sender: str
    nonce: str
    value: str
    input: str
    to: str | None = None


class ForkWire(msgspec.Struct, frozen=True, rename="camel"):
    """The start of a set of rules, in Unix seconds."""

    activation_time: int


class ForksWire(msgspec.Struct, frozen=True):
    """The next set of rules that a node knows (https://eips.ethereum.org/EIPS/eip-7910)."""

    next: ForkWire | None = None


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


def hex_bytes(text: str) -> bytes:
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
        is_amsterdam=wire.block_access_list_hash is not None,
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
            movements=None if sender is None else movements(sender, wire.logs),
        )
    except MalformedResult:
        return None


def _sender(text: object) -> Address | None:
    try:
        return account(text) if isinstance(text, str) else None
    except MalformedResult:
        return None


_NULL = msgspec.Raw(b"null")
_VERDICT_WORDS = (
    "revert",
    "insufficient funds",
    "gas required exceeds",
    "out of gas",
    "outofgas",
    "memoryoog",  # revm: memory costs more than the gas limit
    "memorylimitoog",
    "evm error",  # anvil: prefix of every execution error
    "gas uint64 overflow",  # geth: memory costs more than the gas limit
    "invalid opcode",
    "invalid jump",
)
_UNSUPPORTED_WORDS = (
    "not found",
    "not supported",
    "not available",
    "does not exist",
    "unsupported",
    "unknown",
    "not whitelisted",
    "not allowed",
)


class RpcCall(msgspec.Struct, frozen=True):
    """One call of a batch; `params` are JSON values."""

    method: str
    params: Sequence[object] = ()


class RpcErrorObject(msgspec.Struct, frozen=True):
    """The error of one call; `message` is masked and limited in length, `data` is hex or None."""

    code: int
    message: str
    data: str | None = None

    @property
    def is_verdict(self) -> bool:
        """Whether the call caused the error, so that every node returns it.

        Code 3 is a revert in geth; eth_simulateV1 uses the codes -380xx
        (https://ethereum.github.io/execution-apis/api-documentation/).
        """
        text = self.message.lower()
        own = self.code == 3 or -38999 <= self.code <= -38000
        return own or any(word in text for word in _VERDICT_WORDS)

    @property
    def is_unsupported(self) -> bool:
        """Whether the node does not support the method, by its code or a known message."""
        text = self.message.lower()
        said = "method" in text and any(word in text for word in _UNSUPPORTED_WORDS)
        return self.code == -32601 or said


Result = msgspec.Raw | RpcErrorObject
"""The JSON of the result, not decoded, or the error."""
NodeAnswer = bytes | RpcErrorObject
"""The same as a copy, which keeps no whole batch in memory."""


_ODD_ENTRY = -32603
"""The code of an entry whose error has no number as its code."""
_LONGEST = 300


class _ReplyWire(msgspec.Struct, frozen=True):
    id: object
    result: msgspec.Raw = msgspec.Raw(b"")
    error: object = None


class _RefusalWire(msgspec.Struct, frozen=True):
    """One reply to a whole batch; its id means nothing."""

    result: msgspec.Raw = msgspec.Raw(b"")
    error: object = None


class BatchRefused(MalformedResult):
    """The node answered a whole batch with one error; the text is the node's."""


_LIMIT = re.compile(r"batch\D{0,80}?(\d{1,4})|(\d{1,4})\D{0,40}batch", re.IGNORECASE)


def batch_limit(text: str, asked: int, *, too_large: bool = False) -> int | None:
    """Return how many calls a node takes at once, by its refusal of `asked`; None if not said.

    Without a lower number in the text it is half of what was asked.
    """
    if not (too_large or "batch" in text.lower()) or asked < 2:
        return None
    found = _LIMIT.search(text)
    named = int(found[1] or found[2]) if found else 0
    return named if 0 < named < asked else asked // 2


def request_body(calls: Sequence[RpcCall], first_id: int) -> bytes:
    """Return the batch as JSON, with ids in ascending order from `first_id`."""
    return msgspec.json.encode(
        [
            {"jsonrpc": "2.0", "id": at, "method": call.method, "params": call.params}
            for at, call in enumerate(calls, first_id)
        ]
    )


def read_replies(body: bytes, first_id: int, count: int) -> list[Result]:
    """Return the results of a batch in the order of its calls. Raises MalformedResult."""
    if body.lstrip()[:1] == b"{":
        entry = _result(read(body, _RefusalWire))
        raise BatchRefused(entry.message if isinstance(entry, RpcErrorObject) else "no batch")
    replies = read(body, list[_ReplyWire])
    by_id = {_whole(reply.id) - first_id: reply for reply in replies}
    if len(replies) != count or by_id.keys() != set(range(count)):
        raise MalformedResult("a partial batch, or foreign ids")
    return [_result(by_id[i]) for i in range(count)]


def _result(reply: "_ReplyWire | _RefusalWire") -> Result:
    """Return one entry. `result: null` beside an error is no result: some nodes send both."""
    if reply.error is None:
        return reply.result if reply.result else RpcErrorObject(_ODD_ENTRY, "an empty entry")
    if reply.result and reply.result != _NULL:
        return RpcErrorObject(_ODD_ENTRY, f"a result beside an error: {reply.error}"[:_LONGEST])
    if not isinstance(reply.error, dict):
        return RpcErrorObject(_ODD_ENTRY, str(reply.error)[:_LONGEST])
    said, data = reply.error.get("message"), reply.error.get("data")
    text = said if isinstance(said, str) else str(reply.error)
    hexdata = data if isinstance(data, str) and data.startswith("0x") else None
    return RpcErrorObject(_whole(reply.error.get("code"), _ODD_ENTRY), text[:_LONGEST], hexdata)


def _whole(number: object, otherwise: int = -1) -> int:
    """Return a number that some nodes write as text; `otherwise` for anything else."""
    try:
        return int(str(number)[:20])
    except ValueError:
        return otherwise


def value(result: Result, shape: type[T]) -> T:
    """Return a result as `shape`. Raises NodeUnavailable for an error and for another structure."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return read(result, shape)


def value_or_none(result: Result, shape: type[T]) -> T | None:
    """Return a result as `shape`, None for `null`. Raises NodeUnavailable."""
    return None if result == _NULL else value(result, shape)
