"""The sandbox's own JSON-RPC client; the service has another, which trusts nothing it is told."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from pyreqwest.client import Client, ClientBuilder

_TIMEOUT = timedelta(seconds=30)


class RpcError(Exception):
    """The node answered with an error: `code` and `data` are its own, `str()` its message."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Rpc:
    """One HTTP connection pool to one node. Close it when done."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client: Client = ClientBuilder().no_proxy().timeout(_TIMEOUT).build()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call. Raises RpcError; lets transport errors through."""
        reply = await self._post({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
        return _result(reply)

    async def batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of `(method, params)` calls, in their order.

        The node may work on them in any order. Raises RpcError for the first that failed.
        """
        if not calls:
            return []
        replies = await self._post(
            [
                {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
                for at, (method, params) in enumerate(calls)
            ]
        )
        return [_result(reply) for reply in sorted(replies, key=lambda reply: int(reply["id"]))]

    async def _post(self, body: Any) -> Any:
        request = self._client.post(self.url).header("content-type", "application/json")
        response = await request.body_bytes(msgspec.json.encode(body)).build().send()
        return msgspec.json.decode(await response.bytes())


def _result(reply: dict[str, Any]) -> Any:
    if error := reply.get("error"):
        raise RpcError(error["code"], error["message"], error.get("data"))
    return reply["result"]
