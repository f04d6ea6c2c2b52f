"""The real application in front of a scripted inside."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog

from quietswap.api.app import EdgeOptions, build_app
from quietswap.api.asgi import App
from tests.api.inside import SECRET, HandClock, Inside
from tests.contract import check


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inside(clock: HandClock) -> Inside:
    return Inside(clock)


@pytest.fixture
def app(inside: Inside, clock: HandClock) -> App:
    return build_app(inside.use_cases(), EdgeOptions(), clock)


@pytest.fixture
async def stranger(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key; each of its answers is held against the OpenAPI document."""

    async def documented(answer: httpx.Response) -> None:
        await answer.aread()
        check(answer)

    transport = httpx.ASGITransport(app=app)
    hooks = {"response": [documented]}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://edge", event_hooks=hooks
    ) as client:
        yield client


@pytest.fixture
async def client(stranger: httpx.AsyncClient) -> httpx.AsyncClient:
    """A client whose key is right."""
    stranger.headers["X-API-Key"] = SECRET
    return stranger


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[Any]]:
    """What the service wrote to its log."""
    with structlog.testing.capture_logs() as entries:
        yield entries
