"""Which pages may call the API from a browser: those that are listed, and by default none."""

from collections.abc import Mapping

import httpx
import pytest

from quietswap.service.api.middleware.headers import InvalidOrigin, ListedOriginsMiddleware
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from tests import loopback
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.api.test_envelope import refused

PAGE = "https://app.example"
KEY = {"X-API-Key": SECRET}
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type,x-api-key",
}


@pytest.fixture
def listed(inside: ScriptedUseCases, clock: HandClock) -> httpx.AsyncClient:
    """A client of an edge that lets two pages in."""
    edge = create_api(inside.use_cases(), ApiOptions(), clock)
    app = ListedOriginsMiddleware(edge, [PAGE, "http://localhost:3000"])
    return loopback.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://edge")


def allowances(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name.startswith("access-control-")}


async def test_by_default_no_page_is_let_in(client: httpx.AsyncClient) -> None:
    answer = await client.get(requests.ORDER, headers={"Origin": PAGE})
    assert answer.status_code == 200
    assert allowances(answer.headers) == {}
    preflight = await client.options(requests.ORDERS, headers={"Origin": PAGE} | PREFLIGHT)
    refused(preflight, 405, "METHOD_NOT_ALLOWED")
    assert allowances(preflight.headers) == {}


@pytest.mark.parametrize("page", [PAGE, "http://localhost:3000"])
async def test_a_listed_page_asks_without_a_key_and_then_calls(
    listed: httpx.AsyncClient, inside: ScriptedUseCases, page: str
) -> None:
    preflight = await listed.options(requests.ORDERS, headers={"Origin": page} | PREFLIGHT)
    assert (preflight.status_code, preflight.content) == (204, b"")
    told = allowances(preflight.headers)
    assert told["access-control-allow-origin"] == page
    assert "POST" in told["access-control-allow-methods"]
    assert {"x-api-key", "content-type"} <= set(told["access-control-allow-headers"].split(", "))
    assert preflight.headers["vary"] == "origin"
    assert inside.rate.counts == {}
    answer = await listed.get(requests.ORDER, headers={"Origin": page} | KEY)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == page
    assert answer.headers["vary"] == "origin"


async def test_a_page_may_read_what_tells_it_when_to_come_back(listed: httpx.AsyncClient) -> None:
    for headers, status in ((KEY, 200), ({}, 401)):
        answer = await listed.get(requests.ORDER, headers={"Origin": PAGE} | headers)
        assert answer.status_code == status
        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {"retry-after", "x-request-id", "x-ratelimit-remaining"} <= set(exposed)
        assert answer.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize(
    "page", ["https://evil.example", "https://app.example.evil", "null", "https://APP.example", ""]
)
async def test_any_other_page_gets_no_allowance(listed: httpx.AsyncClient, page: str) -> None:
    preflight = await listed.options(requests.ORDERS, headers={"Origin": page} | PREFLIGHT)
    refused(preflight, 401, "UNAUTHORIZED")
    answer = await listed.get(requests.ORDER, headers={"Origin": page} | KEY)
    assert answer.status_code == 200
    for headers in (preflight.headers, answer.headers):
        assert allowances(headers) == {}
        assert headers["vary"] == "origin"


async def test_credentials_are_never_allowed(listed: httpx.AsyncClient) -> None:
    asked = [
        await listed.options(requests.ORDERS, headers={"Origin": PAGE} | PREFLIGHT),
        await listed.get(requests.ORDER, headers={"Origin": PAGE} | KEY),
    ]
    for answer in asked:
        assert "access-control-allow-credentials" not in answer.headers
        assert "*" not in answer.headers["access-control-allow-origin"]


@pytest.mark.parametrize(
    "text", ["*", "null", "app.example", "https://app.example/", "https://App.example", "ftp://a"]
)
async def test_what_is_no_origin_is_refused_by_name(clock: HandClock, text: str) -> None:
    edge = create_api(ScriptedUseCases(clock).use_cases(), ApiOptions(), clock)
    with pytest.raises(InvalidOrigin, match="an origin is"):
        ListedOriginsMiddleware(edge, [text])
