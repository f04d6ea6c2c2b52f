"""A service that tells another end of an order than it knows; all else it hands on."""

import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from quietswap.sandbox.http_server import HttpRequest, HttpResponse, HttpServer
from tests import loopback

_STATUS = re.compile(r"/api/v1/mev/orders/([^/]+)")
_ENDS: dict[str, dict[str, Any]] = {
    "confirmed": {},
    "failed": {"error": {"code": "REVERTED", "message": "it reverted", "mayBeMined": False}},
    "cancelled": {"error": {"code": "EXPIRED", "message": "never a swap", "mayBeMined": False}},
}


@asynccontextmanager
async def lying_service(url: str, seed: int) -> AsyncIterator[str]:
    """Run one in front of the service at `url`; give its URL."""
    async with loopback.AsyncClient(base_url=url, timeout=20) as http:

        async def handle(request: HttpRequest) -> HttpResponse:
            if request.path.endswith("/events"):
                return HttpResponse(404, b"{}")  # a stream has no end that could be handed on
            return await _handed_on(http, request, seed)

        server = HttpServer(handle)
        try:
            yield await server.start()
        finally:
            await server.stop()


async def _handed_on(http: httpx.AsyncClient, request: HttpRequest, seed: int) -> HttpResponse:
    key = {"X-API-Key": request.headers.get("x-api-key", "")}
    try:
        answer = await http.request(
            request.method, request.path, params=request.query, content=request.body, headers=key
        )
    except httpx.HTTPError:
        return HttpResponse(502, b"Bad Gateway", "text/plain")
    body = answer.content
    order = _STATUS.fullmatch(request.path)
    if order and request.method == "GET" and answer.status_code == 200:
        body = _with_another_end(answer.json(), random.Random(f"{seed} {order[1]}"))
    return HttpResponse(answer.status_code, body)


def _with_another_end(body: dict[str, Any], chance: random.Random) -> bytes:
    record = body["data"]
    status = chance.choice([each for each in _ENDS if each != record["status"]])
    record.pop("error", None)
    record |= {"status": status, **_ENDS[status]}
    return json.dumps(body).encode()
