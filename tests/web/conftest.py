"""The API with the web page, in front of a real database and scripted use cases."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.clients import WebSessionBounds
from quietswap.rules.operator.operators import Health
from quietswap.service.api.operation import ApiOptions
from quietswap.service.clients.keys import Authenticate
from quietswap.service.server.app import create_api
from quietswap.service.storage.factory import Storage
from quietswap.service.web.options import WebOptions
from quietswap.service.web.sessions import WebSessions
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.patient import open_storage

ORIGIN = "http://edge"
OWN = {"sec-fetch-site": "same-origin", "origin": ORIGIN}
"""What a browser sends with a request of the page itself."""
Open = Callable[..., httpx.AsyncClient]


async def healthy() -> Health:
    return Health(dict.fromkeys(("database", "node", "sources", "relay"), "ok"), "leading")


async def no_record() -> None:
    return None


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inside(clock: HandClock) -> ScriptedUseCases:
    return ScriptedUseCases(clock)


@pytest.fixture
async def storage(tmp_path: Path, clock: HandClock) -> AsyncIterator[Storage]:
    found = await open_storage(f"sqlite:///{tmp_path}/own.db", clock=clock)
    yield found
    await found.close()


@pytest.fixture
def application(
    inside: ScriptedUseCases, storage: Storage, clock: HandClock
) -> Callable[..., ASGIApp]:
    """Return the application; options of the page can be changed."""

    def make(**changes: object) -> ASGIApp:
        sessions = WebSessions(storage.web_sessions, clock, WebSessionBounds(5, 100))
        use_cases = replace(inside.use_cases(), authenticate=Authenticate(storage.keys, clock))
        web = WebOptions(
            source_names=("sushi",),
            version="1.2.3",
            begin=sessions.begin,
            renew=sessions.renew,
            health=healthy,
            inclusion=no_record,
            explorer_url="https://explorer.test",
            quote_s=30,
            requests=50,
            sessions=20,
            secure=False,
        )
        return create_api(use_cases, ApiOptions(), clock, web=replace(web, **changes))

    return make


@pytest.fixture
async def visit(application: Callable[..., ASGIApp]) -> AsyncIterator[Open]:
    """Return a function that opens a browser's client, with a cookie jar of its own."""
    opened: list[httpx.AsyncClient] = []
    apps: dict[str, ASGIApp] = {}

    def open_client(address: str = "192.0.2.1", **changes: object) -> httpx.AsyncClient:
        app = apps.setdefault(repr(changes), application(**changes))
        transport = httpx.ASGITransport(app=app, client=(address, 1234))
        opened.append(loopback.AsyncClient(transport=transport, base_url=ORIGIN, headers=OWN))
        return opened[-1]

    yield open_client
    for client in opened:
        await client.aclose()
