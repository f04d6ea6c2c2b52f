"""A streamed quote of the TypeScript client: routes while it is made, its answer, refusals."""

import threading
from collections.abc import Iterator
from socket import socket
from typing import Any

import msgspec
import pytest

from quietswap.service.api.json import error_envelope
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import Asked, FakeServers, FakeService, Reply, refused
from tests.client.silence import TYPE
from tests.client.test_stream_quote import ROUTE, SPENT, answer
from tests.typescript.package import Thrown, TypeScript
from tests.typescript.test_arguments import SWAP
from tests.waiting import WITHIN_S

pytestmark = pytest.mark.xdist_group("typescript")
FOUND = {
    "signable": False,
    "source": "velora",
    "buyAmount": "9",
    "minBuyAmount": "8",
    "promised": "10",
    "simulated": "9",
    "estimatedGas": 180_000,
}
LAST = b"event: answer\ndata: " + msgspec.json.encode(error_envelope(SPENT)) + b"\n\n"


class Hearing(FakeService):
    """The driver asks for the usage when it hears of a route."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = threading.Event()

    def reply(self, asked: Asked) -> Reply:
        if asked.path.endswith("/usage"):
            self.heard.set()
        return super().reply(asked)


@pytest.fixture
def service() -> Hearing:
    return Hearing()


@pytest.fixture
def url(service: Hearing) -> Iterator[str]:
    servers = FakeServers(service, FakeChain())
    yield servers.url
    servers.close()


def streamed(typescript: TypeScript, url: str, **command: Any) -> dict[str, Any]:
    options = {"url": url, "apiKey": "qs_right"}
    return typescript.run("streamQuote", SWAP, options=options, **command)


def test_a_route_is_there_while_the_quote_is_made(
    typescript: TypeScript, service: Hearing, url: str
) -> None:
    last = answer(service)

    def rest(connection: socket) -> None:
        if service.heard.wait(WITHIN_S):
            connection.sendall(last)

    service.next("quote stream", Reply(ROUTE, headers=TYPE, then=rest))
    outcome = streamed(typescript, url)
    assert outcome["events"] == [FOUND]
    plain = typescript.ask("quote", SWAP, options={"url": url, "apiKey": "qs_right"})
    assert outcome["result"] == plain
    quotes = [each for each in service.asked if "/quote" in each.path]
    assert quotes[0].query == quotes[1].query
    assert quotes[0].headers["accept"] == "text/event-stream"


def test_a_line_separator_of_unicode_ends_no_line(
    typescript: TypeScript, service: Hearing, url: str
) -> None:
    """`.` of a regular expression does not match it."""
    odd = ROUTE.replace(b"velora", "ve\u2028lora".encode())
    service.next("quote stream", Reply(odd + answer(service), headers=TYPE))
    assert [one["source"] for one in streamed(typescript, url)["events"]] == ["ve\u2028lora"]


@pytest.mark.parametrize(
    ("reply", "status", "events"),
    [
        (refused(SPENT), 404, []),
        (
            Reply(
                ROUTE
                + b"event: answer\ndata: "
                + msgspec.json.encode(error_envelope(SPENT))
                + b"\n\n",
                headers=TYPE,
            ),
            200,
            [FOUND],
        ),
    ],
)
def test_a_refusal_before_and_after_a_route(
    typescript: TypeScript, service: Hearing, url: str, reply: Reply, status: int, events: list[Any]
) -> None:
    service.next("quote stream", reply)
    with pytest.raises(Thrown) as caught:
        streamed(typescript, url)
    assert (caught.value.name, caught.value.fields["code"]) == ("ApiError", SPENT.code)
    assert (caught.value.fields["status"], caught.value.fields["events"]) == (status, events)


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (ROUTE, TYPE, "ServiceUnreachable"),
        (ROUTE + b'event: answer\ndata: {"ok":tr', TYPE, "ServiceUnreachable"),
        (b"event: route\ndata: {}\n\n", TYPE, "UnexpectedResponse"),
        (b"event: route\ndata: x\n\n", TYPE, "UnexpectedResponse"),
        (b"event: answer\ndata: {}\n\n", TYPE, "UnexpectedResponse"),
        (b"", TYPE, "ServiceUnreachable"),
        (b"<html>", {"Content-Type": "text/html"}, "UnexpectedResponse"),
    ],
)
def test_what_is_cut_or_no_stream_is_no_quote(
    typescript: TypeScript,
    service: Hearing,
    url: str,
    body: bytes,
    kind: dict[str, str],
    error: str,
) -> None:
    service.next("quote stream", Reply(body, headers=kind))
    with pytest.raises(Thrown) as caught:
        streamed(typescript, url)
    assert caught.value.name == error


def test_what_the_listener_throws_ends_the_request(
    typescript: TypeScript, service: Hearing, url: str
) -> None:
    service.next("quote stream", Reply(ROUTE + answer(service), headers=TYPE))
    with pytest.raises(Thrown, match="stopped"):
        streamed(typescript, url, stops=True)
