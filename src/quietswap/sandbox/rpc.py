"""JSON-RPC 2.0 (https://www.jsonrpc.org/specification): a client, and the server of relay and node.

The service has another client, which does not trust its node.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from pyreqwest.client import Client, ClientBuilder

from quietswap.sandbox.http_server import HttpRequest, HttpResponse

_TIMEOUT = timedelta(seconds=30)


class RpcError(Exception):
    """An error response: `code` and `data` are the node's, `str()` is its message."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class SandboxRpcClient:
    """One HTTP connection pool to one node. Close it when done."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client: Client = ClientBuilder().no_proxy().timeout(_TIMEOUT).build()

    async def close(self) -> None:
        await self._client.close()

    async def call(self, method: str, *params: Any) -> Any:
        return _result(await self._post(_request(0, method, params)))

    async def number(self, method: str, *params: Any) -> int:
        return int(await self.call(method, *params), 16)

    async def head(self) -> dict[str, Any]:
        block: dict[str, Any] = await self.call("eth_getBlockByNumber", "latest", False)
        return block

    async def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of `(method, params)` calls, in their order.

        The node may execute them in any order. Raises RpcError for the first that failed.
        """
        if not calls:
            return []
        replies = await self._post([_request(at, *call) for at, call in enumerate(calls)])
        return [_result(reply) for reply in sorted(replies, key=lambda reply: int(reply["id"]))]

    async def each(self, method: str, items: Sequence[Any], *params: Any) -> list[Any]:
        """Return the results of `method` with each item as its first parameter, in their order."""
        return await self.batch([(method, (item, *params)) for item in items])

    async def _post(self, body: Any) -> Any:
        return msgspec.json.decode(await self.forward(msgspec.json.encode(body)))

    async def forward(self, body: bytes) -> bytes:
        """Return the node's response body to a JSON-RPC request body, both unchanged."""
        request = self._client.post(self.url).header("content-type", "application/json")
        response = await request.body_bytes(body).build().send()
        return bytes(await response.bytes())


def _request(at: int, method: str, params: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": at, "method": method, "params": params}


def _result(reply: dict[str, Any]) -> Any:
    if error := reply.get("error"):
        raise RpcError(error["code"], error["message"], error.get("data"))
    return reply["result"]


Method = Callable[[str, list[Any]], Awaitable[Any]]
"""Returns the result of one call. Raises RpcError."""


class InvalidRpcRequest(Exception):
    """The body is not a JSON-RPC request; `reply` is the error response."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.reply = _packed(failure(None, RpcError(code, message)))


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
    answers = [await _one(call, method) for call in (body if isinstance(body, list) else [body])]
    return _packed(answers if isinstance(body, list) else answers[0])


async def _one(call: dict[str, Any], method: Method) -> dict[str, Any]:
    at = call.get("id")
    try:
        result = await method(call["method"], call.get("params") or [])
    except RpcError as error:
        return failure(at, error)
    return {"jsonrpc": "2.0", "id": at, "result": result}


def failure(at: Any, error: RpcError) -> dict[str, Any]:
    """Return the error response of the call with id `at`."""
    body = {"code": error.code, "message": str(error)}
    body |= {} if error.data is None else {"data": error.data}
    return {"jsonrpc": "2.0", "id": at, "error": body}


def _packed(value: Any) -> HttpResponse:
    return HttpResponse(200, msgspec.json.encode(value))
