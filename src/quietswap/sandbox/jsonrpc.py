"""Answering JSON-RPC 2.0 over HTTP (https://www.jsonrpc.org/specification), for relay and node."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from quietswap.sandbox.rpc import RpcError
from quietswap.sandbox.web import Reply, Request

Method = Callable[[str, list[Any]], Awaitable[Any]]
"""Answers one call with its result; raises RpcError."""


class NotRpc(Exception):
    """The body holds no call; `reply` says so."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


def read(request: Request) -> list[dict[str, Any]] | dict[str, Any]:
    """Return the call of a request, or the list of a batch. Raises NotRpc."""
    try:
        body = msgspec.json.decode(request.body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotRpc(_packed(_failure(None, -32700, "parse error"))) from error
    calls = body if isinstance(body, list) else [body]
    if not calls or not all(_is_call(call) for call in calls):
        raise NotRpc(_packed(_failure(None, -32600, "invalid request")))
    return body  # type: ignore[no-any-return]


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("method"), str):
        return False
    return isinstance(call.get("params") or [], list)


async def answer(body: list[dict[str, Any]] | dict[str, Any], method: Method) -> Reply:
    """Return the reply to what `read` returned, asking `method` for each call in turn."""
    if isinstance(body, list):
        return _packed([await _one(call, method) for call in body])
    return _packed(await _one(body, method))


async def _one(call: dict[str, Any], method: Method) -> dict[str, Any]:
    at = call.get("id")
    try:
        result = await method(call["method"], call.get("params") or [])
    except RpcError as error:
        return _failure(at, error.code, str(error), error.data)
    return {"jsonrpc": "2.0", "id": at, "result": result}


def _failure(at: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": at, "error": error}


def _packed(value: Any) -> Reply:
    return Reply(200, msgspec.json.encode(value))
