"""Following an order by its events: at once where they come, by polls where they do not."""

import gc
import os
import signal
import threading
from asyncio.selector_events import BaseSelectorEventLoop

import pytest

from quietswap.client import QuietswapClient, read_events
from quietswap.client.event_stream import AwaitEvent, StreamPlace, StreamReader
from quietswap.client.flows.polling import PollingPolicy
from quietswap.rules import errors
from quietswap.rules.orders.order import OrderStatus
from tests.client.conftest import Do, Time
from tests.client.conftest import either_manner as manner
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_servers import FakeService, Reply, ok, placed, refused
from tests.client.silence import TYPE, Silence
from tests.client.test_swap_flow import REQUEST
from tests.response_json import orders
from tests.stored_orders import recorded

__all__ = ["manner"]

WAIT = AwaitEvent("ord_1", 5, 25.0)
OPENING = b"retry: 2000\nid: 5\n\n"
NEWS = OPENING + b"id: 6\nevent: order.mining\ndata: {}\n\n"


def stream(body: bytes) -> Reply:
    return Reply(body, headers=TYPE)


def at(status: OrderStatus) -> Reply:
    return ok(orders.order_status_response(recorded(placed(status))))


def asked(service: FakeService) -> list[str]:
    return ["stream" if each.path.endswith("/events") else "status" for each in service.asked]


def read(*pieces: bytes, wait: AwaitEvent = WAIT) -> StreamPlace | None:
    reader = StreamReader(wait)
    for piece in pieces:
        if reader.feed(piece):
            break
    return reader.place


@pytest.mark.parametrize(
    ("pieces", "place"),
    [
        ((b"",), None),
        ((b"id: 5\n",), None),
        ((OPENING,), StreamPlace(5, has_news=False)),
        ((OPENING.replace(b"\n", b"\r\n"),), StreamPlace(5, has_news=False)),
        ((OPENING, b": beat\nid: 9\n\n"), StreamPlace(9, has_news=False)),
        (tuple(bytes([byte]) for byte in NEWS), StreamPlace(6, has_news=True)),
        ((OPENING, b"id: 6\ndata: {"), StreamPlace(5, has_news=False)),
        ((b"id: x\n\nid: 99999999999999999\n\nid:\n\n",), None),
        ((OPENING, b"x" * (1 << 21), NEWS), StreamPlace(5, has_news=False)),
    ],
)
def test_the_text_of_a_stream(pieces: tuple[bytes, ...], place: StreamPlace | None) -> None:
    assert read(*pieces) == place


def test_an_opening_wait_ends_with_the_place() -> None:
    opening = AwaitEvent("ord_1", None, 25.0)
    assert read(OPENING, NEWS, wait=opening) == StreamPlace(5, has_news=False)


def test_an_event_is_a_reason_to_read_the_record(do: Do, service: FakeService, time: Time) -> None:
    """Both clients: the place first, then one read per event, and no poll."""
    service.next("status", *map(at, [OrderStatus.PENDING] * 2 + [OrderStatus.MINING]))
    service.next("events", stream(OPENING), stream(NEWS), stream(NEWS.replace(b"6", b"7")))
    assert do("follow", "ord_1").status == "confirmed"
    assert asked(service) == ["status", "stream", "status", "stream", "status", "stream", "status"]
    streams = [each for each in service.asked if each.path.endswith("/events")]
    assert [each.query for each in streams] == [
        {"orderId": "ord_1"},
        {"orderId": "ord_1", "after": "5"},
        {"orderId": "ord_1", "after": "6"},
    ]
    assert {each.headers["accept"] for each in streams} == {"text/event-stream"}
    assert max(time.pauses) <= 0.2, "a service that floods the client is slowed down"


@pytest.mark.parametrize(
    "answer",
    [
        refused(errors.NotFound(path="/api/v1/mev/events")),
        refused(errors.EventsPruned(provided=5, oldest=9)),
        refused(errors.TooManyStreams(limit=20)),
        refused(errors.ServiceUnavailable("the database does not answer")),
        Reply(None),
        Reply(b"<html>", headers={"Content-Type": "text/html"}),
        stream(b""),
    ],
)
def test_without_a_stream_the_order_is_polled(
    do: Do, service: FakeService, time: Time, answer: Reply
) -> None:
    service.next("status", *[at(OrderStatus.MINING)] * 3)
    service.next("events", answer)
    assert do("follow", "ord_1").status == "confirmed"
    assert time.pauses == [10, 10, 10]
    assert asked(service).count("stream") == 1


def test_a_stream_that_breaks_later_is_replaced_by_polls(
    do: Do, service: FakeService, time: Time
) -> None:
    service.next("status", *[at(OrderStatus.MINING)] * 4)
    service.next("events", stream(OPENING), stream(OPENING), Reply(None))
    assert do("follow", "ord_1").status == "confirmed"
    assert asked(service).count("stream") == 3
    # the second one ended without news: its wait is no shorter than a poll
    assert [round(pause) for pause in time.pauses] == [10, 10, 10]


def test_the_stream_can_be_left_out(client: QuietswapClient, service: FakeService) -> None:
    client.polling = PollingPolicy(stream=False)
    service.next("status", at(OrderStatus.MINING))
    service.next("events", stream(OPENING))
    client.follow("ord_1")
    assert asked(service) == ["status", "status"]


def test_ctrl_c_ends_a_swap_whose_stream_is_silent(
    client: QuietswapClient, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    silence = Silence(service, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        client.swap(REQUEST, ACCOUNT)
    assert silence.was_left()
    service.script.clear()
    assert client.follow("ord_1").status == "confirmed", "the client still works"


def test_ctrl_c_before_the_stream_is_read_leaves_no_task(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio tells of a task that was never run when it is collected."""

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(read_events, "_CLOSE_S", 0)
    with pytest.raises(KeyboardInterrupt):
        read_events.read_events(None, AwaitEvent("ord_1", 1, 1.0))
    gc.collect()
    assert caplog.messages == []


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_the_event_loop_is_made_is_the_only_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop that is half made cannot be closed, and Python prints a traceback of it."""
    make_pipe = BaseSelectorEventLoop._make_self_pipe  # type: ignore[attr-defined]

    def interrupted(loop: BaseSelectorEventLoop) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        make_pipe(loop)

    monkeypatch.setattr(BaseSelectorEventLoop, "_make_self_pipe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_events.read_events(None, WAIT)
    gc.collect()
