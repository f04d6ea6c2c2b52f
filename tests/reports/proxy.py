"""A programmable proxy in front of a node or a relay: each report is a few lines of trouble."""

import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import msgspec

from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.http_server import HttpRequest, HttpResponse, HttpServer
from quietswap.sandbox.node import behind
from quietswap.sandbox.rpc import SandboxRpcClient
from tests import loopback
from tests.fake_web import Answer

Calls = list[dict[str, Any]] | dict[str, Any]
"""A batch, or one call."""
Trouble = Callable[["RpcProxy", Calls], Awaitable[HttpResponse | None]]
"""Answers a request in place of what is behind the proxy; None leaves it alone."""


_MAY_HAVE = (502, 503, 504)
"""After such an answer what is behind may have the request: half of the time it has."""


class RpcProxy:
    """`trouble` may be replaced at any time; `struck` counts the requests that it answered."""

    def __init__(self, url: str, trouble: Trouble | None = None, seed: object = 1) -> None:
        self.rpc = SandboxRpcClient(url)
        self._http = loopback.AsyncClient(base_url=url, timeout=5)
        self.trouble = trouble
        self.chance = random.Random(str(seed))
        self.asked = 0
        self.struck = 0
        self.url = ""

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked += 1
        if self.trouble is None or request.method != "POST":
            return await self.forward(request)
        answer = await self.trouble(self, rpc_server.read(request))
        if answer is None:
            return await self.forward(request)
        self.struck += 1
        if answer.status in _MAY_HAVE and self.chance.random() < 0.5:
            await self.forward(request)  # its answer is lost
        return answer

    async def forward(self, request: HttpRequest) -> HttpResponse:
        """Return what is behind the proxy answers; 502 if that is away."""
        try:
            reply = await self._http.request(
                request.method,
                request.path,
                params=request.query,
                content=request.body,
                headers={"content-type": "application/json"},  # without it anvil reads no call
            )
        except httpx.HTTPError:
            return HttpResponse(502, b"Bad Gateway", "text/plain")
        kind = reply.headers.get("content-type", "application/json")
        return HttpResponse(reply.status_code, reply.content, kind)

    async def close(self) -> None:
        await self.rpc.close()
        await self._http.aclose()


@contextlib.asynccontextmanager
async def proxy(
    url: str, trouble: Trouble | None = None, seed: object = 1
) -> AsyncIterator[RpcProxy]:
    """Run a proxy for a `with` block."""
    found = RpcProxy(url, trouble, seed)
    server = HttpServer(found.handle)
    found.url = await server.start()
    try:
        yield found
    finally:
        await server.stop()
        await found.close()


def late(blocks: int, share: float) -> Trouble:
    """Return the trouble of a backend that is behind and gets a share of the requests."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        if one.chance.random() >= share:
            return None
        return await rpc_server.answer(body, partial(behind, one.rpc, blocks))

    return trouble


def every_second(blocks: int) -> Trouble:
    """Return the trouble of two backends in turn, of which the second is behind."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        if one.asked % 2:
            return None
        return await rpc_server.answer(body, partial(behind, one.rpc, blocks))

    return trouble


def limited(most: int, text: str, *, in_each: bool = False, code: int = -32600) -> Trouble:
    """Return the trouble of a node that refuses larger batches: with one error, or one for each."""

    async def trouble(_: RpcProxy, body: Calls) -> HttpResponse | None:
        if isinstance(body, dict) or len(body) <= most:
            return None
        error = {"jsonrpc": "2.0", "error": {"code": code, "message": text}}
        each = [error | {"id": call["id"]} for call in body]
        return HttpResponse(200, msgspec.json.encode(each if in_each else error | {"id": None}))

    return trouble


def listed(most: int) -> Trouble:
    """Return the trouble of geth with --rpc.batch-request-limit: a list of one entry."""

    async def trouble(_: RpcProxy, body: Calls) -> HttpResponse | None:
        if isinstance(body, dict) or len(body) <= most:
            return None
        error = {"code": -32600, "message": "batch too large"}
        entry = {"jsonrpc": "2.0", "id": body[0]["id"], "error": error}
        return HttpResponse(200, msgspec.json.encode([entry]))

    return trouble


def says(answer: Answer, share: float = 1.0) -> Trouble:
    """Return the trouble of a gateway that answers a share of the requests itself."""

    async def trouble(one: RpcProxy, _: Calls) -> HttpResponse | None:
        if one.chance.random() >= share:
            return None
        return HttpResponse(answer.status, answer.body, answer.content_type)

    return trouble


def odd_entries(share: float, error: object) -> Trouble:
    """Return the trouble of a node with an error in a share of the entries, as a rate limit."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        calls = body if isinstance(body, list) else [body]
        if all(one.chance.random() >= share for _ in calls):
            return None
        replies = [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]
        return HttpResponse(200, msgspec.json.encode(replies if body is calls else replies[0]))

    return trouble
