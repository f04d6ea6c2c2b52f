"""GET /api/v1/mev/events at the edge: the text of the stream, its places and its ends."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.errors.base import Unauthorized
from quietswap.rules.orders.order_changes import OrderChange
from quietswap.service.api.operation import ApiOptions
from quietswap.service.events.feed import EventFilter, ResumePoint
from quietswap.service.server.app import create_api
from quietswap.service.storage.event_rows import StoredEvent
from tests import loopback
from tests.api.requests import EVENTS
from tests.api.scripted_use_cases import (
    KEY,
    SECRET,
    WALLET,
    HandClock,
    ScriptedStream,
    ScriptedUseCases,
)
from tests.api.test_envelope import refused
from tests.contract import messages
from tests.stored_orders import NOW_MS, order, recorded


def an_event(sequence: int, change: OrderChange = OrderChange.CREATED) -> StoredEvent:
    return StoredEvent(
        event_id=f"evt_ord_1_{sequence}",
        client_id=KEY.client_id,
        sequence=sequence,
        type=change,
        at_ms=NOW_MS,
        wallet=WALLET,
        order=recorded(order()),
        depth=64 if change is OrderChange.FINALIZED else 0,
        finalized=change is OrderChange.FINALIZED,
    )


async def test_a_stream_is_server_sent_events(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.batches = [[an_event(42), an_event(43)], [], [an_event(44, OrderChange.FINALIZED)]]
    answer = await client.get(EVENTS)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["x-ratelimit-remaining"] == "299"
    assert answer.text.startswith("retry: 2000\nid: 41\n\nid: 42\nevent: order.created\ndata: {")
    assert ": beat\nid: 43\n\n" in answer.text
    told = messages(answer.text)
    assert [message["sequence"] for message in told] == [42, 43, 44]
    status = (await client.get("/api/v1/mev/orders/ord_1")).json()["data"]
    assert told[0] == {
        "id": "evt_ord_1_42",
        "sequence": 42,
        "type": "order.created",
        "at": "2027-01-15T08:00:00.000Z",
        "order": {**status, "status": "pending", "submittedAt": status["createdAt"]},
        "finality": {"depth": 0, "finalized": False},
    }
    assert told[2]["finality"] == {"depth": 64, "finalized": True}
    assert inside.streams[0].is_closed


@pytest.mark.parametrize(
    ("query", "headers", "after"),
    [
        ({}, {}, None),
        ({}, {"Last-Event-ID": ""}, None),
        ({"after": "0"}, {}, ResumePoint(0, "after")),
        ({}, {"Last-Event-ID": "17"}, ResumePoint(17, "Last-Event-ID")),
        ({"after": "3"}, {"last-event-id": "17"}, ResumePoint(17, "Last-Event-ID")),
    ],
)
async def test_where_a_stream_begins(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    query: dict[str, str],
    headers: dict[str, str],
    after: ResumePoint | None,
) -> None:
    assert (await client.get(EVENTS, params=query, headers=headers)).status_code == 200
    assert inside.asked == [(KEY.client_id, after, EventFilter())]


async def test_filters_are_handed_on(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    await client.get(EVENTS, params={"orderId": "ord_1", "userAddress": WALLET})
    assert inside.asked == [(KEY.client_id, None, EventFilter("ord_1", WALLET))]


@pytest.mark.parametrize("text", ["-1", "x", "1.0", "9" * 16, "٣", " 1", "1,2"])
async def test_a_place_that_is_no_number_is_refused(client: httpx.AsyncClient, text: str) -> None:
    header = text.encode()
    answers = (
        await client.get(EVENTS, params={"after": text}),
        await client.get(EVENTS, headers=[(b"Last-Event-ID", header)]),
    )
    for answer, name in zip(answers, ("after", "Last-Event-ID"), strict=True):
        if name == "Last-Event-ID" and text.startswith(" "):
            continue  # the space is not part of a header's value
        body = refused(answer, 400, "INVALID_PARAMETER")
        assert body["details"]["parameter"] == name
        assert "`id:`" in body["message"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"userAddress": WALLET.lower()}, "INVALID_ADDRESS"),
        ({"orderId": "a b"}, "INVALID_PARAMETER"),
        ({"orderId": ""}, "INVALID_PARAMETER"),
        ({"orderid": "ord_1"}, "INVALID_PARAMETER"),
    ],
)
async def test_a_bad_filter_is_refused(
    client: httpx.AsyncClient, inside: ScriptedUseCases, query: dict[str, str], code: str
) -> None:
    refused(await client.get(EVENTS, params=query), 400, code)
    assert inside.asked == []


async def test_head_opens_and_closes(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.head(EVENTS)
    assert (answer.status_code, answer.content) == (200, b"")
    assert inside.streams[0].is_closed


async def test_a_stream_counts_once_however_long_it_is(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.batches = [[an_event(n)] for n in range(42, 142)]
    assert (await client.get(EVENTS)).headers["x-ratelimit-remaining"] == "299"
    assert (await client.get(EVENTS)).headers["x-ratelimit-remaining"] == "298"


@pytest.mark.parametrize("reason", ["revoked", "EXPIRED", "CLIENT_DISABLED"])
async def test_a_key_that_ends_in_the_middle_ends_the_stream(
    inside: ScriptedUseCases, logged: list[Any], reason: str
) -> None:
    inside.batches = [[an_event(42)], [], [an_event(43)]]
    real = ScriptedStream.next

    class Revoking(ScriptedStream):
        async def next(self) -> list[StoredEvent] | None:
            found = await real(self)
            if found == [] and reason == "revoked":
                inside.keys.clear()
            elif found == []:
                inside.refuses = Unauthorized(reason)
            return found

    inside._follow_events = lambda *_: Revoking(list(inside.batches))  # type: ignore[method-assign]
    app = create_api(inside.use_cases(), ApiOptions(), inside.clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://edge") as other:
        answer = await other.get(EVENTS, headers={"X-API-Key": SECRET})
    assert [message["sequence"] for message in messages(answer.text)] == [42]
    assert "request_failed" not in [entry["event"] for entry in logged]


def _scope() -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": EVENTS,
        "query_string": b"",
        "headers": [(b"x-api-key", SECRET.encode())],
    }


class Endless(ScriptedStream):
    """A stream that waits for ever after its first event."""

    def __init__(self) -> None:
        super().__init__([[an_event(42)]])
        self._closed = asyncio.Event()

    async def next(self) -> list[StoredEvent] | None:
        found = await super().next()
        if found is None:
            await self._closed.wait()
        return found

    def close(self) -> None:
        super().close()
        self._closed.set()


async def _serve(
    inside: ScriptedUseCases, send: Callable[[Any], Any], leaves: asyncio.Event
) -> Endless:
    stream = Endless()
    inside._follow_events = lambda *_: stream  # type: ignore[method-assign]
    app: ASGIApp = create_api(inside.use_cases(), ApiOptions(slow_reader_s=0.05), HandClock())

    async def receive() -> dict[str, Any]:
        await leaves.wait()
        return {"type": "http.disconnect"}

    async with asyncio.timeout(60):
        await app(_scope(), receive, send)
    return stream


async def test_a_client_that_goes_away_closes_its_stream(inside: ScriptedUseCases) -> None:
    leaves = asyncio.Event()

    async def send(message: Any) -> None:
        if b"id: 42" in message.get("body", b""):
            leaves.set()

    assert (await _serve(inside, send, leaves)).is_closed


async def test_a_client_that_takes_nothing_is_cut(inside: ScriptedUseCases) -> None:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if b"id: 42" in sent[-1]:
            await asyncio.Event().wait()

    stream = await _serve(inside, send, asyncio.Event())
    assert stream.is_closed
    assert sent[-1].startswith(b"id: 42"), "nothing follows, as the end of an answer would"
