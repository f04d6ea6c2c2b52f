"""The real application in front of a scripted inside."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog
from starlette.types import ASGIApp

from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from tests.api.documented import documented_client
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inside(clock: HandClock) -> ScriptedUseCases:
    return ScriptedUseCases(clock)


@pytest.fixture
def app(inside: ScriptedUseCases, clock: HandClock) -> ASGIApp:
    return create_api(inside.use_cases(), ApiOptions(), clock)


@pytest.fixture
async def stranger(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key; each of its answers is held against the OpenAPI document."""
    async with documented_client(app) as client:
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
