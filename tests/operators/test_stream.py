"""The stream that refreshes pages, and the figures that feed it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest

from quietswap.rules.operator.figures import Figure, Measure, rounded, tip_class
from quietswap.rules.operator.operators import ProcessReport
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.observe.figures import count
from quietswap.service.operator.read_figures import REPORTS_S, ReadFigures
from quietswap.service.operator.refresh_stream import MOST_STREAMS, OperatorStream
from tests.manual_clock import ManualClock
from tests.operators.conftest import Office, Visit
from tests.waiting import eventually


class Listener:
    """One open stream, with its polls in the hands of the test."""

    def __init__(self) -> None:
        self.changes = 1
        self.is_live = True
        self.is_away = False
        self.is_stopping = False
        self.sent = b""
        self.steps = asyncio.Semaphore(0)
        self.polls = 0
        self.gone = asyncio.Event()
        self.stream = OperatorStream(self._read, lambda: self.is_stopping, self)  # type: ignore[arg-type]

    async def _read(self) -> int:
        if self.is_away:
            raise StoreUnavailable("away")
        return self.changes

    async def sleep(self, _: float) -> None:
        self.polls += 1
        await self.steps.acquire()

    async def send(self, message: "dict[str, object]") -> None:
        body = message.get("body", b"")
        assert isinstance(body, bytes)
        self.sent += body

    async def receive(self) -> "dict[str, object]":
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def live(self) -> bool:
        return self.is_live

    async def step(self) -> None:
        """Let the stream poll once more, and wait until it did."""
        before = self.polls
        self.steps.release()

        async def polled() -> bool:
            return self.polls > before or self.done

        await eventually(polled)

    done = False


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()

    async def serve() -> None:
        await listener.stream.serve(listener.live, listener.receive, listener.send)  # type: ignore[arg-type]
        listener.done = True

    task = asyncio.create_task(serve())

    async def begun() -> bool:
        return listener.polls == 1

    await eventually(begun)
    yield listener
    listener.is_stopping = True
    listener.steps.release()
    await task


async def test_a_change_is_told_once() -> None:
    async with listening() as listener:
        await listener.step()
        assert b"changed" not in listener.sent
        listener.changes = 2
        await listener.step()
        await listener.step()
        assert listener.sent.count(b"event: changed\n") == 1


async def test_it_ends_with_the_session() -> None:
    async with listening() as listener:
        listener.is_live = False
        await listener.step()
        assert listener.done
        assert listener.sent.endswith(b"event: ended\ndata: session\n\n")


async def test_it_ends_with_the_reader_and_with_the_process() -> None:
    async with listening() as listener:
        listener.gone.set()
        await listener.step()
        assert listener.done
    async with listening() as listener:
        listener.is_stopping = True
        await listener.step()
        assert listener.done


async def test_a_database_that_is_away_ends_nothing() -> None:
    async with listening() as listener:
        listener.is_away = True
        await listener.step()
        listener.is_away, listener.changes = False, 5
        await listener.step()
        assert not listener.done
        assert listener.sent.count(b"event: changed\n") == 1


async def test_streams_are_counted() -> None:
    async with listening() as listener:
        assert not listener.stream.is_full
        tasks = [
            asyncio.create_task(
                listener.stream.serve(listener.live, listener.receive, listener.send)  # type: ignore[arg-type]
            )
            for _ in range(MOST_STREAMS - 1)
        ]

        async def full() -> bool:
            return listener.stream.is_full

        await eventually(full)
        listener.is_stopping = True
        for _ in tasks:
            listener.steps.release()
        listener.steps.release()
        await asyncio.gather(*tasks)


async def test_a_stream_needs_a_session(visit: Visit, desk: httpx.AsyncClient) -> None:
    answer = await visit().get("/operator/stream")
    assert answer.status_code == 403
    answer = await desk.post("/operator/stream")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_what_any_process_counts_is_a_change(office: Office, desk: httpx.AsyncClient) -> None:
    from quietswap.service.operator.read_figures import ReadFigures

    figures = ReadFigures(office.storage.figures, office.clock)
    seen = [await figures.changes()]
    for process, changes in (("a:1", 1), ("b:1", 1), ("a:1", 2)):
        report = ProcessReport(process, office.clock.now_ms(), changes, {})
        await office.storage.figures.record({}, report)
        seen.append(await figures.changes())
    assert len(set(seen)) == 4


@pytest.fixture
def counting() -> "AsyncIterator[None]":
    observe.keep_figures()
    yield  # type: ignore[misc]
    observe.forget_figures()


def test_events_are_counted_with_their_labels(counting: None) -> None:
    observe.source_answered("velora", "answered", 0.0931)
    observe.source_answered("velora", "timed_out", 3.2)
    observe.route_verified("velora", "answered", -3)
    observe.order_mined(
        "velora", "2", blocks=1, ms=12_400, delivered_bps=-7, endpoint="fast", tip="none"
    )
    observe.order_moved("ord_1", "included", "confirmed", "block")
    observe.reorg_seen(2, 100)
    found = observe.take_figures()
    assert found[Figure(Measure.SOURCE_MS, "velora", "", 100)] == 1
    assert found[Figure(Measure.SOURCE_MS, "velora", "", 5000)] == 1
    assert found[Figure(Measure.SOURCE_OUTCOME, "velora", "timed_out", 0)] == 1
    assert found[Figure(Measure.SOURCE_CHECK, "velora", "up to 10 bps below its promise", 0)] == 1
    assert found[Figure(Measure.INCLUSION_BLOCKS, "fast", "none", 1)] == 1
    assert found[Figure(Measure.INCLUSION_S, "fast", "none", 12)] == 1
    assert found[Figure(Measure.SOURCE_DELIVERED, "velora", "", -7)] == 1
    assert found[Figure(Measure.ORDER_MOVED, "confirmed", "included", 0)] == 1
    assert found[Figure(Measure.REORG, "chain", "", 2)] == 1
    assert not observe.take_figures()
    observe.return_figures(found)
    assert observe.take_figures() == found


def test_nothing_is_counted_while_the_view_is_off() -> None:
    observe.forget_figures()
    count(Measure.SOURCE_WON, "velora")
    observe.keep_figures()
    assert not observe.take_figures()
    observe.forget_figures()


@pytest.mark.parametrize(
    ("measure", "value", "expected"),
    [
        (Measure.SOURCE_MS, 0, 5),
        (Measure.SOURCE_MS, 100, 100),
        (Measure.SOURCE_MS, 101, 150),
        (Measure.SOURCE_MS, 10**9, 10_000),
        (Measure.SOURCE_DELIVERED, -7, -7),
        (Measure.SOURCE_DELIVERED, -30, -50),
        (Measure.SOURCE_DELIVERED, -(10**6), -1000),
        (Measure.SOURCE_DELIVERED, 30, 20),
        (Measure.SOURCE_DELIVERED, 10**6, 1000),
        (Measure.INCLUSION_BLOCKS, 0, 0),
        (Measure.INCLUSION_BLOCKS, 12, 15),
    ],
)
def test_a_rounded_value_never_looks_better(measure: Measure, value: int, expected: int) -> None:
    assert rounded(measure, value) == expected


def test_tips_have_classes() -> None:
    gwei = 10**9
    found = [tip_class(fee) for fee in (0, 1, gwei // 10, gwei, 3 * gwei, 6 * gwei)]
    assert found == ["none", "to 0.1 gwei", "to 0.1 gwei", "to 1 gwei", "to 5 gwei", "over 5 gwei"]


async def test_reports_of_processes_that_ended_are_not_read() -> None:
    asked: list[int] = []

    class Figures:
        async def reports(self, since_ms: int) -> list[ProcessReport]:
            asked.append(since_ms)
            return []

    clock = ManualClock(1_800_000_000)
    assert await ReadFigures(cast("Any", Figures()), clock).reports() == []
    assert asked == [(1_800_000_000 - REPORTS_S) * 1000]
