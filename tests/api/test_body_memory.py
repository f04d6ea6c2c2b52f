"""Bodies that are begun and not finished take a bounded amount of memory."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.clients import ApiKey, visitor_id
from quietswap.service.api.operation import ApiOptions
from quietswap.service.api.parsing.body import BodyMemory, BodyMemoryFull
from quietswap.service.server.app import create_api
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.virtual_time import run

MIB = 1 << 20
PIECE = b" " * (64 << 10)
OPTIONS = ApiOptions(bodies_bytes=8 * MIB, key_bodies_bytes=4 * MIB, body_timeout_s=15)


class Sender:
    """A client that sends most of a body of one MiB, and then nothing until it is cut off."""

    def __init__(self, path: str, secret: str, pieces: int = 15) -> None:
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [
                (b"x-api-key", secret.encode()),
                (b"content-type", b"application/json"),
                (b"host", b"localhost"),
            ],
        }
        self.answer: dict[str, Any] = {}
        self.status = 0
        self._pieces: Iterator[bytes] = iter([PIECE] * pieces)

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(0)
        piece = next(self._pieces, None)
        if piece is None:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": piece or b"", "more_body": True}

    async def send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        if message["type"] == "http.response.body":
            self.answer = json.loads(message["body"])


def half_open(inside: ScriptedUseCases, clock: HandClock, senders: list[Sender]) -> int:
    """Let all send at once; return the most bytes that were held at a time."""
    app: Any = create_api(inside.use_cases(), OPTIONS, clock)
    memory = app.routes[0].endpoint.body_memory
    most, take = 0, memory.take

    def taking(client_id: str, size: int) -> None:
        nonlocal most
        take(client_id, size)
        most = max(most, memory.held)

    memory.take = taking

    async def work() -> None:
        await asyncio.gather(*(app(s.scope, s.receive, s.send) for s in senders))

    run(work())
    assert memory.held == 0, "every byte is given back"
    assert not memory._by_client
    return most


@pytest.mark.parametrize("path", [requests.ORDERS, requests.WRAP_QUOTE, requests.WRAP_ORDER])
def test_one_key_with_six_hundred_half_sent_bodies_holds_its_part_alone(
    inside: ScriptedUseCases, clock: HandClock, path: str
) -> None:
    senders = [Sender(path, SECRET) for _ in range(600)]
    most = half_open(inside, clock, senders)
    assert 3 * MIB <= most <= 4 * MIB
    assert {s.status for s in senders} == {422, 429}
    refused = [s for s in senders if "hold too many bytes" in s.answer["message"]]
    assert len(refused) > 200
    told = refused[0].answer
    assert told["error"] == "RATE_LIMIT_EXCEEDED"
    assert {"retryAfter", "limit", "window"} <= told.keys()
    assert inside.asked == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (requests.ORDERS, "PROVIDER_UNAVAILABLE"),
        (requests.WRAP_QUOTE, "SERVICE_UNAVAILABLE"),
        (requests.WRAP_ORDER, "PROVIDER_UNAVAILABLE"),
    ],
)
def test_many_keys_together_hold_no_more_than_the_service_takes(
    inside: ScriptedUseCases, clock: HandClock, path: str, code: str
) -> None:
    for n in range(60):
        inside.keys[f"secret-{n}"] = ApiKey(f"key-{n}", "many", 0, None, f"client-{n}")
    senders = [Sender(path, f"secret-{n % 60}") for n in range(600)]
    most = half_open(inside, clock, senders)
    assert 7 * MIB <= most <= 8 * MIB
    told = next(s.answer for s in senders if s.status == 503)
    assert (told["error"], told["details"]) == (code, {"reason": "OVERLOADED"})
    assert not any(s.status in (200, 500) for s in senders)


def test_visitors_of_the_page_leave_room_to_clients(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    for n in range(60):
        session = visitor_id(f"192.0.2.{n}", b"salt", str(n))
        inside.keys[f"secret-{n}"] = ApiKey(session, "web page", 0, None, session)
    visitors = [Sender(requests.WRAP_QUOTE, f"secret-{n % 60}") for n in range(600)]
    client = Sender(requests.WRAP_QUOTE, SECRET)
    most = half_open(inside, clock, [*visitors, client])
    assert 4 * MIB <= most <= 5 * MIB
    assert {s.status for s in visitors} == {422, 429}
    assert client.status == 422, "its body was waited for"


def test_one_address_of_visitors_holds_no_more_than_a_client() -> None:
    memory = BodyMemory(total=100, per_client=20)
    for n in range(4):
        memory.take(visitor_id("192.0.2.1", b"salt", str(n)), 5)
    with pytest.raises(BodyMemoryFull) as full:
        memory.take(visitor_id("192.0.2.1", b"salt", "5"), 5)
    assert full.value.of_client
    memory.take(visitor_id("192.0.2.2", b"salt", "6"), 5)


def test_room_is_free_again_once_a_request_is_answered(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    body = json.dumps(requests.wrap_quote_body()).encode()
    body += b" " * (MIB - len(body))

    class Whole(Sender):
        async def receive(self) -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

    app: Any = create_api(inside.use_cases(), OPTIONS, clock)
    for _ in range(20):
        sender = Whole(requests.WRAP_QUOTE, SECRET)
        run(app(sender.scope, sender.receive, sender.send))
        assert sender.status == 200
        assert app.routes[0].endpoint.body_memory.held == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=50))
def test_the_books_of_the_room_balance(takes: list[tuple[str, int]]) -> None:
    memory = BodyMemory(total=100, per_client=50)
    with ExitStack() as bodies:
        for key, size in takes:
            grow = bodies.enter_context(memory.reserve(key))
            try:
                grow(size)
            except BodyMemoryFull:
                assert size
            assert memory.held <= 100
            assert all(0 < held <= 50 for held in memory._by_client.values() if held)
    assert memory.held == 0
