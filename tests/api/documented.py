"""A client of an app whose answers are held against the OpenAPI document."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.types import ASGIApp

from tests import loopback
from tests.contract import check


@asynccontextmanager
async def documented_client(app: ASGIApp, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of `app`; each of its answers is checked."""

    async def documented(answer: httpx.Response) -> None:
        await answer.aread()
        check(answer)

    async with loopback.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://edge",
        event_hooks={"response": [documented]},
        headers=headers,
    ) as client:
        yield client
