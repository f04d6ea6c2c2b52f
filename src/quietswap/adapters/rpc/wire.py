"""Encoding of JSON-RPC 2.0 batches (https://www.jsonrpc.org/specification).

A response is accepted only if it is complete: each id once, no other id, and each entry with either
a result or an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from quietswap.adapters.json_decoder import T
from quietswap.adapters.rpc.ethereum_types import MalformedResult, read
from quietswap.ports.chain import NodeUnavailable

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


@dataclass(frozen=True, slots=True)
class RpcCall:
    """One call of a batch; `params` are JSON values."""

    method: str
    params: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class RpcErrorObject:
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


class _ErrorWire(msgspec.Struct, frozen=True):
    code: int
    message: str = ""
    data: object = None


class _ReplyWire(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: int
    result: msgspec.Raw = msgspec.Raw(b"")
    error: _ErrorWire | None = None


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
    replies = read(body, list[_ReplyWire])
    by_id = {reply.id - first_id: reply for reply in replies}
    if len(replies) != count or by_id.keys() != set(range(count)):
        raise MalformedResult("a partial batch, or foreign ids")
    return [_result(by_id[i]) for i in range(count)]


def _result(reply: _ReplyWire) -> Result:
    if reply.jsonrpc != "2.0" or bool(reply.result) == (reply.error is not None):
        raise MalformedResult("neither a result nor an error, or both")
    if reply.error is None:
        return reply.result
    data = reply.error.data
    hexdata = data if isinstance(data, str) and data.startswith("0x") else None
    return RpcErrorObject(reply.error.code, reply.error.message, hexdata)


def value(result: Result, shape: type[T]) -> T:
    """Return a result as `shape`. Raises NodeUnavailable for an error and for another structure."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return read(result, shape)


def value_or_none(result: Result, shape: type[T]) -> T | None:
    """Return a result as `shape`, None for `null`. Raises NodeUnavailable."""
    return None if result == _NULL else value(result, shape)
