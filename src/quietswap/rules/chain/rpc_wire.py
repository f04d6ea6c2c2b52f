"""Encoding of JSON-RPC 2.0 batches (https://www.jsonrpc.org/specification).

A response is accepted only if it is complete: each id once, and no other id. Each entry stands
alone: with neither a result nor an error, or both, it is an error of that entry, with its text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_codes import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    METHOD_NOT_SUPPORTED,
)
from quietswap.rules.foreign_text import T, decode

SEND = "eth_sendRawTransaction"
V = TypeVar("V")
W = TypeVar("W")
Json = bytes | msgspec.Raw
_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})", re.ASCII)


class MalformedResult(NodeUnavailable, ValueError):
    """Node data breaks its format. It permits no conclusion."""


def read(raw: Json, shape: type[T]) -> T:
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
    try:
        if text.startswith("0x"):
            return bytes.fromhex(text[2:])
    except ValueError:
        pass
    raise MalformedResult("not hex data")


def text(raw: Json) -> str:
    """Return the text that a result is. Raises MalformedResult."""
    return read(raw, str)


def number(raw: Json) -> int:
    """Return the quantity that a result is. Raises MalformedResult."""
    return quantity(text(raw))


def octets(raw: Json) -> bytes:
    """Return the data that a result is. Raises MalformedResult."""
    return hex_bytes(text(raw))


def or_none(reader: Callable[[Json], V], raw: Json) -> V | None:
    """Return None for `null`, else what `reader` returns."""
    return None if bytes(memoryview(raw)[:5]) == b"null" else reader(raw)


_NULL = msgspec.Raw(b"null")
_EXECUTION_CODES = (3, -32015)
"""Codes of a call that the EVM ended: a revert in geth, any failure in Nethermind."""
_EXECUTION_WORDS = re.compile(
    "revert|gas required exceeds|out of gas|outofgas|invalid opcode|invalid jump"
    "|memoryoog|memorylimitoog"  # revm: memory costs more than the gas limit
    "|gas uint64 overflow"  # geth: the same
    "|evm error"  # anvil: prefix of every execution error
)
"""Nodes answer an execution without a revert with the code of any other failure, -32000."""
_FUNDS_WORDS = re.compile("insufficient funds|insufficient balance")
"""The call never ran, though some nodes answer it with code and data of an execution."""
_RETURNED = re.compile(r"(?:Reverted )?(0x(?:[0-9a-fA-F]{2})*)", re.ASCII)
"""What a call returned. Nethermind writes a word before it."""
BATCH_TOO_LARGE = (INVALID_REQUEST, -32003, -32008, -32010, -32011)
"""Codes of a refusal of a whole batch for its size or for that of its answer: geth has the first
two, and every node that is built with jsonrpsee (reth) the others."""
RESPONSE_TOO_LARGE = (-32003, -32008, -32011)
"""The same for the last entries of a batch."""
BUSY_STATUS = (429, 503)
"""HTTP status of a node that refuses for a while."""
_UNSUPPORTED_CODES = (METHOD_NOT_FOUND, METHOD_NOT_SUPPORTED)
_UNSUPPORTED_WORDS = re.compile(
    "not found|not supported|not available|does not exist|unsupported|unknown|not whitelisted"
    "|not allowed"
)


class RpcCall(msgspec.Struct, frozen=True):
    """One call of a batch; `params` are JSON values."""

    method: str
    params: Sequence[object] = ()


class NodeCall(RpcCall, Generic[V], frozen=True):
    """One call, and how its result is read, for service and client.

    `read` takes the JSON of the result, which it returns by default. It raises MalformedResult.
    """

    read: Callable[[Json], V] = cast("Any", bytes)

    def value(self, result: "Result | bytes") -> V:
        """Return the value of a result. Raises NodeUnavailable for an error, too."""
        return self.read(answered(result))

    def then(self, pick: Callable[[V], W]) -> "NodeCall[W]":
        """Return the same call with another value, which `pick` makes of this one's."""
        return NodeCall(self.method, self.params, lambda raw: pick(self.read(raw)))


class RpcErrorObject(msgspec.Struct, frozen=True):
    """The error of one call; `message` is masked and limited in length, `data` is hex or None."""

    code: int
    message: str
    data: str | None = None

    @property
    def is_execution(self) -> bool:
        """Whether the EVM ran the call and ended it: by a revert, or because it lacked gas.

        Known by code and data. Words count only where a node has no code of its own for it.
        """
        text = self.message.lower()
        if _FUNDS_WORDS.search(text):
            return False
        has_data = self.data is not None
        return self.code in _EXECUTION_CODES or has_data or bool(_EXECUTION_WORDS.search(text))

    @property
    def is_verdict(self) -> bool:
        """Whether the call caused the error, so that every node returns it.

        eth_simulateV1 uses the codes -380xx for a call that is refused before it runs
        (https://ethereum.github.io/execution-apis/api-documentation/).
        """
        is_refused_call = -38999 <= self.code <= -38000
        lacks_funds = bool(_FUNDS_WORDS.search(self.message.lower()))
        return is_refused_call or lacks_funds or self.is_execution

    @property
    def is_unsupported(self) -> bool:
        """Whether the node does not support the method; by words, as some have no code for it."""
        text = self.message.lower()
        names_method = "method" in text and bool(_UNSUPPORTED_WORDS.search(text))
        return self.code in _UNSUPPORTED_CODES or names_method


Result = msgspec.Raw | RpcErrorObject
"""The JSON of the result, not decoded, or the error."""
NodeAnswer = bytes | RpcErrorObject
"""The same as a copy, which keeps no whole batch in memory."""


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
    """The node answered a whole batch with one error, the `refusal`; the text is the node's."""

    def __init__(self, refusal: RpcErrorObject) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


_LIMIT = re.compile(r"batch\D{0,80}?(\d{1,4})|(\d{1,4})\D{0,40}batch", re.IGNORECASE)


def batch_limit(text: str, asked: int, *, too_large: bool = False) -> int | None:
    """Return how many calls a node takes at once, by its refusal of `asked`; None if not said.

    Without a lower number in the text it is half of what was asked.
    """
    if not (too_large or "batch" in text.lower()) or asked < 2:
        return None
    limit_words = _LIMIT.search(text)
    named = int(limit_words[1] or limit_words[2]) if limit_words else 0
    return named if 0 < named < asked else asked // 2


def request_body(calls: Sequence[RpcCall], first_id: int) -> bytes:
    """Return the batch as JSON, with ids in ascending order from `first_id`."""
    return msgspec.json.encode(messages(calls, first_id))


def messages(calls: Sequence[RpcCall], first_id: int) -> list[dict[str, object]]:
    """Return the messages of the calls, with ids in ascending order from `first_id`."""
    return [
        {"jsonrpc": "2.0", "id": at, "method": call.method, "params": call.params}
        for at, call in enumerate(calls, first_id)
    ]


def read_replies(body: bytes, first_id: int, count: int) -> list[Result]:
    """Return the results of a batch in the order of its calls. Raises MalformedResult.

    A node refuses a whole batch by one error: alone, or as a list of one entry (geth).
    """
    if body.lstrip()[:1] == b"{":
        raise _refused(_result(read(body, _RefusalWire)))
    replies = read(body, list[_ReplyWire])
    if len(replies) == 1 < count:
        raise _refused(_result(replies[0]))
    by_id = {_whole(reply.id) - first_id: reply for reply in replies}
    if len(replies) != count or by_id.keys() != set(range(count)):
        raise MalformedResult("a partial batch, or foreign ids")
    return [_result(by_id[i]) for i in range(count)]


def _refused(entry: Result) -> BatchRefused:
    if isinstance(entry, RpcErrorObject):
        return BatchRefused(entry)
    return BatchRefused(RpcErrorObject(INTERNAL_ERROR, "a partial batch"))


def _result(reply: "_ReplyWire | _RefusalWire") -> Result:
    """Return one entry. `result: null` beside an error is no result: some nodes send both."""
    if reply.error is None:
        return reply.result if reply.result else RpcErrorObject(INTERNAL_ERROR, "an empty entry")
    if reply.result and reply.result != _NULL:
        return RpcErrorObject(INTERNAL_ERROR, f"a result beside an error: {reply.error}"[:_LONGEST])
    if not isinstance(reply.error, dict):
        return RpcErrorObject(INTERNAL_ERROR, str(reply.error)[:_LONGEST])
    said, data = reply.error.get("message"), reply.error.get("data")
    text = said if isinstance(said, str) else str(reply.error)
    code = _whole(reply.error.get("code"), INTERNAL_ERROR)
    return RpcErrorObject(code, text[:_LONGEST], returned_data(data))


def returned_data(data: object) -> str | None:
    """Return the hex that a call returned, by the `data` of its error; None if there is none."""
    if not isinstance(data, str):
        return None
    match = _RETURNED.fullmatch(data)
    return match[1] if match else None


def _whole(number: object, otherwise: int = -1) -> int:
    """Return a number that some nodes write as text; `otherwise` for anything else."""
    try:
        return int(str(number)[:20])
    except ValueError:
        return otherwise


def value(result: Result | bytes, shape: type[T]) -> T:
    """Return a result as `shape`. Raises NodeUnavailable for an error and for another structure."""
    return read(answered(result), shape)


def answered(result: Result | bytes) -> Json:
    """Return the JSON of a result. Raises NodeUnavailable for an error."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return result
