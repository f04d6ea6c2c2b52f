"""A programmable proxy in front of a node or a relay: each report is a few lines of trouble."""

import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.http_server import HttpRequest, HttpResponse, HttpServer
from quietswap.sandbox.node import BehindView
from quietswap.sandbox.rpc import SandboxRpcClient

Calls = list[dict[str, Any]] | dict[str, Any]
"""A batch, or one call."""
Trouble = Callable[["RpcProxy", Calls], Awaitable[HttpResponse | None]]
"""Answers a request in place of what is behind the proxy; None leaves it alone."""


class RpcProxy:
    """`trouble` may be replaced at any time; `struck` counts the requests that it answered."""

    def __init__(self, url: str, trouble: Trouble | None = None, seed: object = 1) -> None:
        self.rpc = SandboxRpcClient(url)
        self.trouble = trouble
        self.chance = random.Random(str(seed))
        self.asked = 0
        self.struck = 0
        self.url = ""

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked += 1
        answer = None
        if self.trouble is not None:
            answer = await self.trouble(self, rpc_server.read(request))
        if answer is None:
            return HttpResponse(200, await self.rpc.forward(request.body))
        self.struck += 1
        return answer


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
        await found.rpc.close()


def late(blocks: int, share: float) -> Trouble:
    """Return the trouble of a backend that is behind and gets a share of the requests."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        if one.chance.random() >= share:
            return None
        return await rpc_server.answer(body, BehindView(one.rpc, blocks).call)

    return trouble


def every_second(blocks: int) -> Trouble:
    """Return the trouble of two backends in turn, of which the second is behind."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        if one.asked % 2:
            return None
        return await rpc_server.answer(body, BehindView(one.rpc, blocks).call)

    return trouble


def limited(most: int, text: str, *, in_each: bool = False) -> Trouble:
    """Return the trouble of a node that refuses larger batches: with one error, or one for each."""

    async def trouble(_: RpcProxy, body: Calls) -> HttpResponse | None:
        if isinstance(body, dict) or len(body) <= most:
            return None
        error = {"jsonrpc": "2.0", "error": {"code": -32600, "message": text}}
        each = [error | {"id": call["id"]} for call in body]
        return HttpResponse(200, msgspec.json.encode(each if in_each else error | {"id": None}))

    return trouble
