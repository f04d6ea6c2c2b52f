"""The operator view in front of a real database, without upstreams."""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import Health, Operator
from quietswap.rules.tokens.token_list import ListedToken, TokenCatalogue
from quietswap.service.api.operation import ApiOptions
from quietswap.service.clients.credentials import hash_secret, new_operator
from quietswap.service.operator.page import OperatorOptions
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.server.app import create_api
from quietswap.service.server.operator_view import operator_parts
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.inclusion import InclusionStore
from quietswap.service.storage.rate_limits import MemoryRateStore
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.patient import open_storage
from tests.storage.examples import BUY

ORIGIN = "http://edge"
Visit = Callable[..., httpx.AsyncClient]
OK = Health({"database": "ok", "node": "ok", "sources": "ok", "relay": "ok"}, "leading")


@dataclass
class Office:
    """The parts that tests look at or change."""

    storage: Storage
    clock: HandClock
    audit_file: Path
    health: Health = OK
    is_stopping: bool = False
    operators: list[Operator] = field(default_factory=list)

    async def operator(self, name: str = "alice") -> tuple[Operator, str]:
        """Create an operator and return the secret."""
        operator, secret = new_operator(name, self.clock.now_ms())
        entry = AuditEntry(f"aud_{operator.id}", self.clock.now_ms(), {}, "operator_created", {})
        await self.storage.operators.add(operator, hash_secret(secret), entry)
        return operator, secret


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def office(tmp_path: Path, clock: HandClock) -> AsyncIterator[Office]:
    storage = await open_storage(f"sqlite:///{tmp_path}/own.db", clock=clock)
    yield Office(storage, clock, tmp_path / "audit.jsonl")
    await storage.close()


@pytest.fixture
async def visit(office: Office, clock: HandClock) -> AsyncIterator[Visit]:
    """Return a function that opens a browser's client, with a cookie jar of its own."""
    opened: list[httpx.AsyncClient] = []
    options = OperatorOptions(
        sources=("kyberswap", "velora"),
        explorer_url="https://explorer.test",
        session_s=3600,
        logins_per_minute=5,
        secure=False,
        tokens=TokenCatalogue([ListedToken(BUY, "<b>BUY</b>", "a token", 2)]),
    )
    guesses = MemoryRateStore(clock)

    async def health() -> Health:
        return office.health

    def open_client(address: str = "192.0.2.1", **changes: object) -> httpx.AsyncClient:
        chosen = replace(options, **changes)
        parts = operator_parts(
            office.storage,
            clock,
            chosen,
            health,
            audit_file=str(office.audit_file),
            guesses=guesses,
            is_stopping=lambda: office.is_stopping,
            inclusion=GetInclusion(InclusionStore(office.storage.database), {}, clock),
        )
        inside = ScriptedUseCases(clock).use_cases()
        app = create_api(inside, ApiOptions(), clock, operator=(parts, chosen))
        transport = httpx.ASGITransport(app=app, client=(address, 1234))
        scheme = "https" if chosen.secure else "http"
        origin = ORIGIN.replace("http", scheme)
        opened.append(
            loopback.AsyncClient(transport=transport, base_url=origin, headers={"origin": origin})
        )
        return opened[-1]

    yield open_client
    for client in opened:
        await client.aclose()


def token_of(answer: httpx.Response) -> str:
    """Return the token of the forms on a page."""
    found = re.search(r'name="token" value="([0-9a-f]{64})"', answer.text)
    assert found, answer.text
    return found[1]


async def log_in(client: httpx.AsyncClient, secret: str) -> httpx.Response:
    """Log in as a browser does, and return the answer."""
    token = token_of(await client.get("/operator/login"))
    return await client.post("/operator/login", data={"token": token, "secret": secret})


@pytest.fixture
async def desk(office: Office, visit: Visit) -> httpx.AsyncClient:
    """A browser of an operator who is logged in."""
    operator, secret = await office.operator()
    office.operators.append(operator)
    client = visit()
    assert (await log_in(client, secret)).status_code == 303
    return client


async def send(client: httpx.AsyncClient, path: str, **form: str) -> httpx.Response:
    """Read the page of a form, and post the form with its token."""
    page = await client.get(path)
    assert page.status_code == 200, page.text
    return await client.post(path, data={"token": token_of(page), **form})
