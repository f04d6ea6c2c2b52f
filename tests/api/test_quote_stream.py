"""GET /api/v1/quote/stream at the edge: its events, its errors, and a client that goes away."""

import asyncio
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.quotes.quote import SwapQuote, VerificationStatus
from quietswap.rules.quotes.request import SwapQuoteRequest
from quietswap.rules.quotes.scoring import Candidate
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from quietswap.service.server.openapi import EXAMPLES
from tests.api.requests import QUOTE, STREAM, ask, quote_query
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases, swap_quote
from tests.contract import quote_events

VERIFIED = Candidate(swap_quote().route, VerificationStatus.VERIFIED, 2_999_000_000, 180_000)
ROUTE = {
    "signable": False,
    "source": "kyberswap",
    "buyAmount": "2999000000",
    "minBuyAmount": "2985000000",
    "promised": "3000000000",
    "simulated": "2999000000",
    "estimatedGas": 180_000,
}


async def test_verified_routes_come_before_the_answer_of_the_plain_request(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.verified = [VERIFIED, VERIFIED]
    answer = await ask(client, STREAM)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    plain = await ask(client, QUOTE)
    assert quote_events(answer.text) == [
        ("route", ROUTE),
        ("route", ROUTE),
        ("answer", plain.json()),
    ]
    assert answer.text.endswith(f"event: answer\ndata: {plain.text}\n\n")
    assert inside.asked[0] == inside.asked[1]


async def test_no_route_before_the_answer_has_anything_to_sign(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.verified = [VERIFIED]
    routes, _ = (await ask(client, STREAM)).text.split("event: answer")
    calldata = swap_quote().route.data.hex()
    assert calldata not in routes
    assert swap_quote().route.target not in routes


async def test_a_streamed_quote_counts_as_one_request(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.verified = [VERIFIED] * 5
    assert (await ask(client, STREAM)).headers["x-ratelimit-remaining"] == "299"
    assert (await ask(client, QUOTE)).headers["x-ratelimit-remaining"] == "298"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EXAMPLES["QUOTE_LIMIT_EXCEEDED"], "QUOTE_LIMIT_EXCEEDED"),
        (EXAMPLES["INSUFFICIENT_LIQUIDITY"], "INSUFFICIENT_LIQUIDITY"),
        (NodeUnavailable("the node is away"), "SERVICE_UNAVAILABLE"),
        (RuntimeError("password=hunter2"), "INTERNAL_SERVER_ERROR"),
    ],
)
async def test_an_error_after_a_route_is_the_answer(
    client: httpx.AsyncClient, inside: ScriptedUseCases, error: Exception, code: str
) -> None:
    inside.verified, inside.fails_at_last = [VERIFIED], error
    streamed, plain = await ask(client, STREAM), await ask(client, QUOTE)
    (_, route), (name, envelope) = quote_events(streamed.text)
    assert (streamed.status_code, route, name) == (200, ROUTE, "answer")
    assert envelope["error"] == code
    told = plain.json()
    if code == "INTERNAL_SERVER_ERROR":  # each names its own request
        told["details"] = {"requestId": streamed.headers["x-request-id"]}
    assert envelope == told
    assert "hunter2" not in streamed.text


async def test_head_asks_no_source(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.head(STREAM, params=quote_query())
    assert (answer.status_code, answer.content) == (200, b"")
    assert inside.asked == []


class Held:
    """A quote with one verified route, which then waits for `release`."""

    def __init__(self) -> None:
        self.release, self.told = asyncio.Event(), asyncio.Event()
        self.again: Any = None
        self.is_cancelled = False

    async def __call__(self, _: object, wanted: SwapQuoteRequest) -> SwapQuote:
        assert wanted.verified
        self.again = wanted.verified
        wanted.verified(VERIFIED)
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        return swap_quote()


async def _serve(
    inside: ScriptedUseCases, held: Held, sent: list[bytes], gone: asyncio.Event
) -> None:
    use_cases = inside.use_cases()
    object.__setattr__(use_cases, "quote_swap", held)
    app: ASGIApp = create_api(use_cases, ApiOptions(), HandClock())
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": STREAM,
        "query_string": str(httpx.QueryParams(quote_query())).encode(),
        "headers": [(b"x-api-key", SECRET.encode())],
    }

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if b"event: route" in sent[-1]:
            held.told.set()

    await app(scope, receive, send)


async def test_a_verified_route_is_sent_while_the_quote_is_made(inside: ScriptedUseCases) -> None:
    held, sent = Held(), list[bytes]()
    async with asyncio.timeout(60):
        serving = asyncio.create_task(_serve(inside, held, sent, asyncio.Event()))
        await held.told.wait()
        assert b"event: answer" not in b"".join(sent)
        held.release.set()
        await serving
    assert [name for name, _ in quote_events(b"".join(sent).decode())] == ["route", "answer"]


async def test_the_next_route_ends_the_quote_of_a_client_that_went_away(
    inside: ScriptedUseCases,
) -> None:
    held, sent, gone = Held(), list[bytes](), asyncio.Event()
    async with asyncio.timeout(60):
        serving = asyncio.create_task(_serve(inside, held, sent, gone))
        await held.told.wait()
        gone.set()
        held.again(VERIFIED)
        await serving
    assert held.is_cancelled
    assert b"".join(sent).count(b"event: ") == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_request_that_is_cancelled_leaves_no_quote_behind(inside: ScriptedUseCases) -> None:
    held = Held()
    async with asyncio.timeout(60):
        serving = asyncio.create_task(_serve(inside, held, [], asyncio.Event()))
        await held.told.wait()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert held.is_cancelled
    assert asyncio.all_tasks() == {asyncio.current_task()}
