"""A streamed quote: its routes while it is made, its answer, its refusals, and what is cut."""

import threading
from socket import socket

import msgspec
import pytest

from quietswap.client import InsufficientLiquidity, ServiceUnreachable, StreamedRoute
from quietswap.client.errors import UnexpectedResponse
from quietswap.client.event_stream import QuoteEvents
from quietswap.rules import errors
from quietswap.service.api.json import error_envelope
from tests.client.conftest import Do
from tests.client.conftest import either_manner as manner
from tests.client.fake_servers import FakeService, Reply, refused
from tests.client.silence import TYPE
from tests.client.test_swap_flow import REQUEST
from tests.stored_orders import NOW_MS
from tests.waiting import WITHIN_S

__all__ = ["manner"]

ROUTE = (
    b'event: route\ndata: {"signable":false,"source":"velora","buyAmount":"9","minBuyAmount":"8",'
    b'"promised":"10","simulated":"9","estimatedGas":180000}\n\n'
)
FOUND = StreamedRoute(
    signable=False, source="velora", buy_amount=9, min_buy_amount=8, promised=10, simulated=9,
    estimated_gas=180_000,
)  # fmt: skip
SPENT = errors.InsufficientLiquidity(sources=[])


def answer(service: FakeService) -> bytes:
    """Return the last event of the usual quote."""
    usual = {"ok": True, "data": service.quote(), "timestamp": NOW_MS}
    return b"event: answer\ndata: " + msgspec.json.encode(usual) + b"\n\n"


def test_a_route_is_there_while_the_quote_is_made(do: Do, service: FakeService) -> None:
    """The service sends the answer only after the client has told the route."""
    heard, found = threading.Event(), list[StreamedRoute]()
    last = answer(service)

    def rest(connection: socket) -> None:
        if heard.wait(WITHIN_S):
            connection.sendall(last)

    def verified(route: StreamedRoute) -> None:
        found.append(route)
        heard.set()

    service.next("quote stream", Reply(ROUTE, headers=TYPE, then=rest))
    quote = do("stream_quote", REQUEST, verified)
    assert found == [FOUND]
    assert quote == do("quote", REQUEST)
    streamed, plain = service.asked
    assert streamed.query == plain.query
    assert streamed.headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_in_any_pieces(size: int) -> None:
    text, found = ROUTE + ROUTE.replace(b"\n", b"\r\n") + b"event: answer\ndata: {}\n\n", []
    events = QuoteEvents(found.append)
    for start in range(0, len(text), size):
        events.feed(text[start : start + size])
    assert (found, events.answer) == ([FOUND, FOUND], b"{}")


def test_a_refusal_before_the_first_route_is_that_of_the_plain_quote(
    do: Do, service: FakeService
) -> None:
    service.next("quote stream", refused(SPENT))
    with pytest.raises(InsufficientLiquidity) as caught:
        do("stream_quote", REQUEST, lambda _: None)
    assert caught.value.status == 404


def test_a_refusal_after_a_route_is_an_error(do: Do, service: FakeService) -> None:
    last = b"event: answer\ndata: " + msgspec.json.encode(error_envelope(SPENT)) + b"\n\n"
    service.next("quote stream", Reply(ROUTE + last, headers=TYPE))
    found: list[StreamedRoute] = []
    with pytest.raises(InsufficientLiquidity) as caught:
        do("stream_quote", REQUEST, found.append)
    assert (found, caught.value.status) == ([FOUND], 200)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (ROUTE, ServiceUnreachable),
        (ROUTE + b'event: answer\ndata: {"ok":tr', ServiceUnreachable),
        (b"event: route\ndata: {}\n\n", UnexpectedResponse),
        (b"event: answer\ndata: {}\n\n", UnexpectedResponse),
        (b"<html>", ServiceUnreachable),
        (b"", ServiceUnreachable),
        (ROUTE + b": " + b"x" * (9 << 20), UnexpectedResponse),
    ],
)
def test_what_is_cut_or_no_stream_is_no_quote(
    do: Do, service: FakeService, body: bytes, error: type[Exception]
) -> None:
    service.next("quote stream", Reply(body, headers=TYPE))
    with pytest.raises(error):
        do("stream_quote", REQUEST, lambda _: None)


def test_a_page_of_another_server_is_no_quote(do: Do, service: FakeService) -> None:
    service.next("quote stream", Reply(b"<html>", headers={"Content-Type": "text/html"}))
    with pytest.raises(UnexpectedResponse, match="something else"):
        do("stream_quote", REQUEST, lambda _: None)


def test_what_the_listener_raises_ends_the_request(do: Do, service: FakeService) -> None:
    def stop(_: StreamedRoute) -> None:
        raise KeyboardInterrupt

    service.next("quote stream", Reply(ROUTE + answer(service), headers=TYPE))
    with pytest.raises(KeyboardInterrupt):
        do("stream_quote", REQUEST, stop)
