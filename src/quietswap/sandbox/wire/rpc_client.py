"""The sandbox's JSON-RPC client. The service has another one, which does not trust its node."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from pyreqwest.client import Client, ClientBuilder

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
        """Close the connections."""
        await self._client.close()

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call. Raises RpcError and transport errors."""
        return _result(await self._post(_request(0, method, params)))

    async def number(self, method: str, *params: Any) -> int:
        """Return the result of one call whose answer is a quantity."""
        return int(await self.call(method, *params), 16)

    async def head(self) -> dict[str, Any]:
        """Return the latest block with the hashes of its transactions, in JSON-RPC format."""
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
