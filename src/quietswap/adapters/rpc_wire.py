"""The wire of JSON-RPC 2.0 batches (https://www.jsonrpc.org/specification).

An answer counts only when it is complete: every id once, no foreign one, and in each a result or an
error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from quietswap.adapters.chain_wire import Malformed, T, read
from quietswap.ports.outside import ChainDown

_NULL = msgspec.Raw(b"null")
_VERDICT_WORDS = ("revert", "insufficient funds", "gas required exceeds", "out of gas")
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
class Call:
    """One call of a batch; `params` as JSON-ready values."""

    method: str
    params: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class RpcError:
    """A node's error answer to one call; `message` is masked and bounded, `data` hex or None."""

    code: int
    message: str
    data: str | None = None

    @property
    def is_verdict(self) -> bool:
        """Whether the call itself is at fault: any other node would say the same.

        3 is geth's code of a revert; -380xx are eth_simulateV1's own
        (https://ethereum.github.io/execution-apis/api-documentation/).
        """
        text = self.message.lower()
        own = self.code == 3 or -38999 <= self.code <= -38000
        return own or any(word in text for word in _VERDICT_WORDS)

    @property
    def is_unsupported(self) -> bool:
        """Whether the node does not know the method; hosted ones have words of their own."""
        text = self.message.lower()
        said = "method" in text and any(word in text for word in _UNSUPPORTED_WORDS)
        return self.code == -32601 or said

    @property
    def is_trouble(self) -> bool:
        """Whether the node, not the call, is at fault (pruned state, rate limit, overload)."""
        return not (self.is_verdict or self.is_unsupported)


Result = msgspec.Raw | RpcError
"""The result's JSON, not yet decoded, or the error."""


class _ErrorWire(msgspec.Struct, frozen=True):
    code: int
    message: str = ""
    data: object = None


class _ReplyWire(msgspec.Struct, frozen=True):
    jsonrpc: str
    id: int
    result: msgspec.Raw = msgspec.Raw(b"")
    error: _ErrorWire | None = None


def request_body(calls: Sequence[Call], first_id: int) -> bytes:
    """Return the batch as JSON; ids count up from `first_id`."""
    return msgspec.json.encode(
        [
            {"jsonrpc": "2.0", "id": at, "method": call.method, "params": call.params}
            for at, call in enumerate(calls, first_id)
        ]
    )


def read_replies(body: bytes, first_id: int, count: int) -> list[Result]:
    """Return the results of a batch in the order of its calls. Raises Malformed."""
    replies = read(body, list[_ReplyWire])
    by_id = {reply.id - first_id: reply for reply in replies}
    if len(replies) != count or by_id.keys() != set(range(count)):
        raise Malformed("a partial batch, or foreign ids")
    return [_result(by_id[i]) for i in range(count)]


def _result(reply: _ReplyWire) -> Result:
    if reply.jsonrpc != "2.0" or bool(reply.result) == (reply.error is not None):
        raise Malformed("neither a result nor an error, or both")
    if reply.error is None:
        return reply.result
    data = reply.error.data
    hexdata = data if isinstance(data, str) and data.startswith("0x") else None
    return RpcError(reply.error.code, reply.error.message, hexdata)


def value(result: Result, shape: type[T]) -> T:
    """Return a result as `shape`. Raises ChainDown for an error or another shape."""
    if isinstance(result, RpcError):
        raise ChainDown(f"the node answered error {result.code}: {result.message}")
    try:
        return read(result, shape)
    except Malformed as error:
        raise ChainDown(str(error)) from error


def value_or_none(result: Result, shape: type[T]) -> T | None:
    """Return a result as `shape`, None for `null`. Raises ChainDown."""
    return None if result == _NULL else value(result, shape)
