"""Requests and responses of JSON-RPC 2.0 (https://www.jsonrpc.org/specification).

A request id is kept as the bytes that the caller sent, so that a large or fractional number comes
back unchanged. A result of the node is sent on as bytes, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from quietswap.rules.chain import rpc_codes
from quietswap.rules.json_depth import is_deeper, may_overflow
from quietswap.service.wallet_rpc.parameters import RpcError

MOST_CALLS = 100
"""Requests in one batch."""
_DEEPEST = 32
_TOO_DEEP = f"a request nests deeper than {_DEEPEST} levels"
_SPACE = b" \t\r\n"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Call:
    """One request that expects an answer; `id` is the JSON of its id."""

    id: bytes
    method: str
    params: list[Any]
    """The positional parameters."""
    by_name: bool = False
    """Whether the parameters came as an object. No Ethereum method takes them so."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A request without an id: it gets no answer, so it is not carried out either."""


@dataclass(frozen=True, slots=True)
class Invalid:
    reason: str


Item = Call | Notification | Invalid


@dataclass(frozen=True, slots=True)
class Message:
    """The content of one body: a batch, or a single request."""

    items: Sequence[Item]
    is_batch: bool


class _RequestWire(msgspec.Struct):
    jsonrpc: Any = UNSET
    method: Any = UNSET
    params: Any = UNSET
    id: msgspec.Raw = msgspec.Raw(b"")


_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_request = msgspec.json.Decoder(_RequestWire).decode
_decode_any = msgspec.json.Decoder().decode


def parse(body: bytes) -> Message:
    """Return the requests of a body. Raises RpcError if it is not JSON, or not one or more."""
    try:
        body.decode()  # the decoder does not check bytes that it skips
        if may_overflow(body):
            raise RpcError(rpc_codes.PARSE_ERROR, _TOO_DEEP)
        if body.lstrip(_SPACE)[:1] != b"[":
            return Message([_item(body)], is_batch=False)
        raws = _decode_batch(body)
        if not raws:
            raise RpcError(rpc_codes.INVALID_REQUEST, "a batch has at least one request")
        if len(raws) > MOST_CALLS:
            raise RpcError(rpc_codes.LIMIT_EXCEEDED, f"a batch has at most {MOST_CALLS} requests")
        return Message([_item_of_batch(bytes(raw)) for raw in raws], is_batch=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RpcError(rpc_codes.PARSE_ERROR, "the body is not JSON in UTF-8") from None


def _item_of_batch(raw: bytes) -> Item:
    """Return one request of a batch: one that nests deep does not void the others."""
    try:
        return _item(raw)
    except RpcError as error:
        return Invalid(error.message)


def _item(raw: bytes) -> Item:
    """Return one request. Raises DecodeError for invalid JSON, and RpcError if it nests deep."""
    if is_deeper(raw, _DEEPEST):
        raise RpcError(rpc_codes.PARSE_ERROR, _TOO_DEEP)
    try:
        request = _decode_request(raw)
    except msgspec.ValidationError:
        _decode_any(raw)
        return Invalid("a request is a JSON object")
    if request.jsonrpc != "2.0":
        return Invalid('jsonrpc must be "2.0"')
    if not isinstance(request.method, str):
        return Invalid("method must be a string")
    args = request.params
    if args is not UNSET and args is not None and not isinstance(args, list | dict):
        return Invalid("params must be an array")
    if not request.id:
        return Notification()
    if not _is_id(request.id):
        return Invalid("id must be a string, a number or null")
    params = args if isinstance(args, list) else []
    return Call(bytes(request.id), request.method, params, by_name=isinstance(args, dict))


def _is_id(raw: msgspec.Raw) -> bool:
    try:
        return not isinstance(_decode_any(raw), bool | list | dict)
    except msgspec.DecodeError:  # a number beyond floats
        return False


def result(call_id: bytes, value: bytes) -> bytes:
    """Return a response; `value` is JSON."""
    return b'{"jsonrpc":"2.0","id":' + call_id + b',"result":' + value + b"}"


def error(call_id: bytes, failure: RpcError) -> bytes:
    body: dict[str, Any] = {"code": failure.code, "message": failure.message}
    if failure.data is not None:
        body["data"] = failure.data
    return b'{"jsonrpc":"2.0","id":' + call_id + b',"error":' + _encode(body) + b"}"
