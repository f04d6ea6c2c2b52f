"""What Starlette would answer by itself goes the way of every other error and answer."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from quietswap.service.api.operation import ApiOptions, RateLimits
from quietswap.service.server.app import create_api
from quietswap.service.server.web_assets import Page
from tests import loopback
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.api.test_envelope import refused

ANSWERS = list[tuple[str, int]]


async def call(
    app: Any, path: str, *headers: tuple[bytes, bytes], method: str = "GET", peer: str = "10.0.0.1"
) -> list[dict[str, Any]]:
    """Return what the application sends for a decoded path that no URL may be able to spell."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("no body is read")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asgi = {"version": "3.0", "spec_version": "2.4"}
    scope = {"type": "http", "asgi": asgi, "method": method, "path": path, "query_string": b""}
    await app(scope | {"headers": list(headers), "client": (peer, 5000)}, receive, send)
    return sent


KEY = (b"x-api-key", SECRET.encode())


@pytest.mark.parametrize("path", [requests.QUOTE, requests.CANCEL, "/healthz"])
async def test_a_line_break_after_a_path_is_another_path(
    inside: ScriptedUseCases, clock: HandClock, path: str
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    start, body = await call(app, f"{path}\n", KEY)
    assert start["status"] == 404
    assert b'"NOT_FOUND"' in body["body"]
    assert inside.asked == []


@pytest.mark.parametrize("path", ["/api/a\nb", "/api/\n", "/api/", "/api/v1/quote\n"])
async def test_below_the_api_the_key_comes_first_whatever_the_path(
    inside: ScriptedUseCases, clock: HandClock, path: str
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    start, _ = await call(app, path)
    assert start["status"] == 401


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/docs"])
async def test_a_page_is_read_only_and_needs_no_key(
    inside: ScriptedUseCases, clock: HandClock, path: str
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://api") as client:
        for method in ("POST", "DELETE", "OPTIONS"):
            body = refused(await client.request(method, path), 405, "METHOD_NOT_ALLOWED")
            assert body["details"] == {"method": method, "allowed": ["GET", "HEAD"]}
        got, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers["content-type"] == got.headers["content-type"]


def with_page(inside: ScriptedUseCases, clock: HandClock, page: Page, answers: ANSWERS) -> Any:
    def on_answer(name: str, status: int, _: float) -> None:
        answers.append((name, status))

    return create_api(
        inside.use_cases(), ApiOptions(), clock, pages={"/page": page}, on_answer=on_answer
    )


async def test_a_refusal_on_a_path_with_several_methods_counts_for_its_operation(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    """The key and the rate are checked before the method chooses the operation."""
    answers: ANSWERS = []

    def on_answer(name: str, status: int, _: float) -> None:
        answers.append((name, status))

    limits = RateLimits(requests=1)
    app = create_api(inside.use_cases(), ApiOptions(limits=limits), clock, on_answer=on_answer)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://api") as client:
        for method in ("GET", "POST", "PATCH"):
            refused(await client.request(method, requests.WEBHOOKS), 401, "UNAUTHORIZED")
        client.headers["X-API-Key"] = SECRET
        await client.get(requests.USAGE)
        refused(await client.post(requests.WEBHOOKS), 429, "RATE_LIMIT_EXCEEDED")
        refused(await client.delete(f"{requests.RPC}/rpct_1"), 429, "RATE_LIMIT_EXCEEDED")
        refused(await client.get(requests.RPC), 429, "RATE_LIMIT_EXCEEDED")
    assert answers == [
        ("webhook_list", 401), ("webhook_create", 401), ("other", 401), ("usage", 200),
        ("webhook_create", 429), ("rpc_token_revoke", 429), ("rpc_token_list", 429),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (HTTPException(404), 404, "NOT_FOUND"),
        (HTTPException(405), 405, "METHOD_NOT_ALLOWED"),
        (HTTPException(400, "secret detail"), 500, "INTERNAL_SERVER_ERROR"),
        (RuntimeError("secret detail"), 500, "INTERNAL_SERVER_ERROR"),
    ],
)
async def test_an_error_of_starlette_is_told_in_the_envelope(
    inside: ScriptedUseCases, clock: HandClock, error: Exception, status: int, code: str
) -> None:
    async def page(_: Request) -> Response:
        raise error

    answers: ANSWERS = []
    transport = httpx.ASGITransport(app=with_page(inside, clock, page, answers))
    async with loopback.AsyncClient(transport=transport, base_url="http://api") as client:
        answer = await client.get("/page")
    refused(answer, status, code)
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"]
    assert answers == [("other", status)]


async def test_a_stream_has_the_headers_of_every_answer_and_head_has_no_body(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"data: 1\n\n", b"data: 2\n\n"):
            yield piece

    async def page(_: Request) -> Response:
        return StreamingResponse(pieces(), media_type="text/event-stream")

    transport = httpx.ASGITransport(app=with_page(inside, clock, page, []))
    async with loopback.AsyncClient(transport=transport, base_url="http://api") as client:
        got, head = await client.get("/page"), await client.head("/page")
    assert (got.content, head.content) == (b"data: 1\n\ndata: 2\n\n", b"")
    for answer in (got, head):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-request-id"]


async def test_a_failure_inside_an_answer_is_logged_and_not_answered_again(
    inside: ScriptedUseCases, clock: HandClock, logged: list[Any]
) -> None:
    failure = RuntimeError("half way")

    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise failure

    async def page(_: Request) -> Response:
        return StreamingResponse(pieces())

    answers: ANSWERS = []
    app = with_page(inside, clock, page, answers)
    with pytest.raises(RuntimeError, match="half way"):
        await call(app, "/page")
    assert answers == [("other", 200)]
    (entry,) = logged
    assert (entry["event"], entry["exc_info"]) == ("request_failed", failure)


async def test_of_two_forwarded_for_headers_the_proxys_own_counts(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    """A proxy that adds a line of its own leaves the client's line in front of it."""
    options = ApiOptions(trusted_proxies=(ip_network("10.0.0.1"),))
    app = create_api(inside.use_cases(), options, clock)
    forged, real = (b"x-forwarded-for", b"192.0.2.1"), (b"x-forwarded-for", b"198.51.100.9")
    await call(app, requests.ORDER, (b"x-api-key", b"qs_wrong"), forged, real)
    assert [key for key, _ in inside.guesses.counts] == ["guess:198.51.100.9"]


async def test_other_connections_than_http_are_ended(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    app: Any = create_api(inside.use_cases(), ApiOptions(), clock)
    sent: list[str] = []
    lifespan = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> dict[str, Any]:
        return next(lifespan)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    await app({"type": "websocket", "path": requests.QUOTE, "headers": []}, receive, send)
    assert sent == ["websocket.close"]
    await app({"type": "lifespan"}, receive, send)
    assert sent[1:] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
