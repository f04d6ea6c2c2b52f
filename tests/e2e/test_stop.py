"""Stopping: what was begun is finished, the tracker hands over, and nothing takes ten seconds."""

import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_delivery import Trader

VENUES = ("kyberswap", "velora", "sushi", "openocean")
WITHIN_S = 10.0
ORDERS = "/api/v1/mev/orders"


@pytest.fixture
def hanging(town: Town) -> Iterator[Town]:
    """The sandbox while no venue answers."""
    for venue in VENUES:
        town.fault(venue, "hang")
    yield town
    town.heal(*VENUES)


def in_flight(served: Served, work: "Future[httpx.Response]") -> None:
    """Return once the service works on a request that is still not answered."""
    time.sleep(0.4)  # a real process tells nobody that it has begun
    assert not work.done()
    assert served.server.poll() is None


@contextmanager
def slow_clients(served: Served) -> Iterator[None]:
    """Hold connections by half a head, half a body, an answer nobody reads, and by silence."""
    host, _, port = served.url.removeprefix("http://").rpartition(":")
    key = f"Host: x\r\nX-API-Key: {served.key}\r\n"
    body = "Content-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
    words = [
        f"GET {ORDERS}/a HTTP/1.1\r\n{key}",
        f"POST {ORDERS} HTTP/1.1\r\n{key}{body}",
        f"GET /openapi.json HTTP/1.1\r\n{key}\r\n" * 400,
        f"GET {ORDERS}/a HTTP/1.1\r\n{key}\r\n",
    ]
    with ExitStack() as stack:
        for text in words:
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port.rstrip("/"))))
            client.sendall(text.encode())
        yield


def test_a_quote_in_flight_gets_its_answer(hanging: Town, tmp_path: Path) -> None:
    with serving(hanging, tmp_path) as served, ThreadPoolExecutor(1) as threads:
        quote = threads.submit(served.town.quote)
        in_flight(served, quote)
        seconds = served.stop()
        answer = quote.result(0)
        assert answer.status_code == 503
        assert {row["outcome"] for row in answer.json()["details"]["sources"]} == {"timed_out"}
        assert seconds < WITHIN_S / 2
        events = [line["event"] for line in served.lines()]
        assert events.index("tracker_stopped") < events.index("request_answered")


def test_every_answered_request_has_its_line(town: Town, tmp_path: Path) -> None:
    """Lines of requests may wait a moment for others: not for a process that has ended."""
    names = [f"last-{number}" for number in range(40)]
    with serving(town, tmp_path) as served:
        for name in names:
            served.town.api.get(f"{ORDERS}/none", headers={"X-Request-Id": name})
        served.stop()
        said = [line.get("request") for line in served.lines()]
        assert [name for name in said if name in names] == names


def test_an_order_in_flight_is_answered_and_followed_after_the_restart(
    town: Town, tmp_path: Path
) -> None:
    tokens = town.facts["tokens"]
    with serving(town, tmp_path) as served, ThreadPoolExecutor(1) as threads:
        trader = Trader(served.town, served.key)
        body = trader.signed_order(trader.ready_quote(tokens["WETH"], tokens["USDC"], 10**16))
        trader.node.http.close()
        town.fault("relay", "delay:2000")
        posting = threads.submit(served.town.api.post, ORDERS, json=body)
        in_flight(served, posting)
        assert served.stop() < WITHIN_S
        town.heal("relay")
        answer = posting.result(0)
        assert answer.status_code == 200, answer.text
        headers = {"X-API-Key": served.key}
    path = f"{ORDERS}/{answer.json()['data']['order']['orderId']}"
    with serving(town, tmp_path) as served:
        assert followed(served.town.api, path, headers) == "confirmed"


def followed(api: httpx.Client, path: str, headers: dict[str, str]) -> str:
    """Return the status of an order once it is terminal, or after fifteen seconds."""
    status, until = "", time.monotonic() + 15
    while status not in {"confirmed", "failed", "cancelled"} and time.monotonic() < until:
        status = api.get(path, headers=headers).json()["data"]["status"]
        time.sleep(0.1)
    return status


def test_slow_clients_hold_up_neither_the_end_nor_the_next_tracker(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with serving(town, first, "--workers", "2", **shared_stores) as leaving:
        until_logged(leaving, "tracker_started", 10)
        with serving(town, second, **shared_stores) as staying, slow_clients(leaving):
            assert "tracker_started" not in [line["event"] for line in staying.lines()]
            began = time.monotonic()
            leaving.server.send_signal(signal.SIGTERM)
            until_logged(staying, "tracker_started", 5)
            assert leaving.server.wait(20) == 0
            assert time.monotonic() - began < WITHIN_S


def until_logged(served: Served, event: str, seconds: float) -> None:
    """Return once the service has logged an event."""
    until = time.monotonic() + seconds
    while event not in [line["event"] for line in served.lines()]:
        assert time.monotonic() < until, served.log.read_text("utf-8")
        time.sleep(0.05)


def test_a_hanging_node_does_not_hold_it_up(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    with serving(town, tmp_path, "--workers", "2", **shared_stores) as served:
        town.fault("node", "hang")
        try:
            with ThreadPoolExecutor(1) as threads:
                quote = threads.submit(served.town.quote)
                in_flight(served, quote)
                assert served.stop() < WITHIN_S
                assert quote.result(0).json()["error"] == "SERVICE_UNAVAILABLE"
        finally:
            town.heal("node")
