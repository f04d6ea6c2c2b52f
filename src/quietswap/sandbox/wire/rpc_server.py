"""JSON-RPC 2.0 server over HTTP (https://www.jsonrpc.org/specification), for relay and node."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from quietswap.sandbox.wire.http_server import HttpRequest, HttpResponse
from quietswap.sandbox.wire.rpc_client import RpcError

Method = Callable[[str, list[Any]], Awaitable[Any]]
"""Returns the result of one call. Raises RpcError."""


class InvalidRpcRequest(Exception):
    """The body is not a JSON-RPC request; `reply` is the error response."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.reply = _packed(_failure(None, RpcError(code, message)))


def read(request: HttpRequest) -> list[dict[str, Any]] | dict[str, Any]:
    """Return the call of a request, or the list of calls of a batch. Raises InvalidRpcRequest."""
    try:
        body = msgspec.json.decode(request.body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidRpcRequest(-32700, "parse error") from error
    calls = body if isinstance(body, list) else [body]
    if not calls or not all(_is_call(call) for call in calls):
        raise InvalidRpcRequest(-32600, "invalid request")
    return body  # type: ignore[no-any-return]


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("method"), str):
        return False
    return isinstance(call.get("params") or [], list)


async def answer(body: list[dict[str, Any]] | dict[str, Any], method: Method) -> HttpResponse:
    """Return the response to what `read` returned. `method` gets one call after the other."""
    if isinstance(body, list):
        return _packed([await _one(call, method) for call in body])
    return _packed(await _one(body, method))


async def _one(call: dict[str, Any], method: Method) -> dict[str, Any]:
    at = call.get("id")
    try:
        result = await method(call["method"], call.get("params") or [])
    except RpcError as error:
        return _failure(at, error)
    return {"jsonrpc": "2.0", "id": at, "result": result}


def _failure(at: Any, error: RpcError) -> dict[str, Any]:
    data = {} if error.data is None else {"data": error.data}
    body = {"code": error.code, "message": str(error)} | data
    return {"jsonrpc": "2.0", "id": at, "error": body}


def _packed(value: Any) -> HttpResponse:
    return HttpResponse(200, msgspec.json.encode(value))
