"""Streams of events in one process: nothing lost, nothing twice, nothing of another client."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from quietswap.rules.clients import visitor_id
from quietswap.rules.errors.base import ServiceUnavailable
from quietswap.rules.errors.clients import EventsPruned, TooManyStreams
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.orders.order import Order, OrderEvent, OrderStatus
from quietswap.rules.orders.order_changes import POSTED
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.events.feed import (
    BEAT_S,
    EventFeed,
    EventFilter,
    EventSubscription,
    ResumePoint,
)
from quietswap.service.storage.event_rows import StoredEvent
from quietswap.service.storage.factory import Storage
from tests.patient import open_storage
from tests.storage.examples import OTHER_WALLET, T0, WALLET, HandClock, an_order

ALL = EventFilter()
GENEROUS_S = 60


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def storage(tmp_path: Path, clock: HandClock) -> AsyncIterator[Storage]:
    storage = await open_storage(f"sqlite:///{tmp_path}/events.db", clock=clock)
    yield storage
    await storage.close()


@pytest.fixture
def feed(storage: Storage, clock: HandClock) -> EventFeed:
    return EventFeed(storage.events, clock, per_client=3, total=4)


async def post(storage: Storage, **changes: object) -> Order:
    order = an_order(**changes)
    line = OrderEvent(order.order_id, T0, POSTED, None, order.status, "as tested")
    await storage.orders.add(order, line)
    return order


def after(sequence: int) -> ResumePoint:
    return ResumePoint(sequence, "after")


async def following(stream: EventSubscription) -> Sequence[StoredEvent] | None:
    async with asyncio.timeout(GENEROUS_S):
        return await stream.next()


async def numbers(stream: EventSubscription, last: int) -> list[int]:
    """Return the sequences of a stream up to one."""
    found: list[int] = []
    while not found or found[-1] < last:
        events = await following(stream)
        assert events is not None
        found += [event.sequence for event in events]
    return found


async def test_a_stream_has_only_what_comes_after_it_was_opened(
    storage: Storage, feed: EventFeed
) -> None:
    await post(storage)
    stream = await feed.follow("client-1", None, ALL)
    waiting = asyncio.create_task(numbers(stream, 3))
    await post(storage, client_id="client-2")
    await post(storage)
    await feed.poll()
    await post(storage)
    await feed.poll()
    assert await waiting == [2, 3]
    assert stream.sequence == 3


async def test_a_stream_resumes_from_the_database_and_goes_on_in_memory(
    storage: Storage, feed: EventFeed
) -> None:
    await asyncio.gather(*(post(storage) for _ in range(450)))
    stream = await feed.follow("client-1", after(3), ALL)
    late = await feed.follow("client-1", None, ALL)
    await asyncio.gather(*(post(storage) for _ in range(350)))
    await feed.poll()
    assert await numbers(stream, 800) == list(range(4, 801))
    assert await numbers(late, 800) == list(range(451, 801))


async def test_a_filter_passes_one_order_or_one_wallet(storage: Storage, feed: EventFeed) -> None:
    first = await post(storage)
    await post(storage, wallet=OTHER_WALLET)
    moved = replace(first, status=OrderStatus.SUBMITTED)
    line = OrderEvent(first.order_id, T0, "relay_accepted", "pending", "submitted", "as tested")
    assert await storage.orders.update(moved, line)
    for only, expected in (
        (EventFilter(order_id=first.order_id), [1, 3]),
        (EventFilter(wallet=OTHER_WALLET), [2]),
        (EventFilter(order_id=first.order_id, wallet=WALLET), [1, 3]),
    ):
        stream = await feed.follow("client-1", after(0), only)
        assert await numbers(stream, expected[-1]) == expected
        stream.close()


async def test_a_filtered_stream_moves_on_without_events(
    storage: Storage, feed: EventFeed, clock: HandClock
) -> None:
    await asyncio.gather(*(post(storage) for _ in range(450)))
    stream = await feed.follow("client-1", after(0), EventFilter(order_id="ord_none"))
    waiting = asyncio.create_task(following(stream))
    while stream.sequence < 450:  # noqa: ASYNC110  the stream says nothing meanwhile
        await asyncio.sleep(0)
    clock.ms += round(BEAT_S * 1000)
    stream.wake()
    assert await waiting == ()


async def test_a_place_that_is_pruned_or_does_not_exist_is_told(
    storage: Storage, feed: EventFeed
) -> None:
    for _ in range(3):
        await post(storage)
    assert await storage.events.purge(T0 + 1, 2) == 2
    with pytest.raises(EventsPruned) as pruned:
        await feed.follow("client-1", after(1), ALL)
    assert pruned.value.details == {"provided": 1, "oldest": 3}
    assert await numbers(await feed.follow("client-1", after(2), ALL), 3) == [3]
    with pytest.raises(InvalidParameter, match="after") as future:
        await feed.follow("client-1", after(4), ALL)
    assert "the newest is 3" in str(future.value)
    with pytest.raises(InvalidParameter):
        await feed.follow("stranger", after(1), ALL)
    await storage.events.purge(T0 + 1, 100)
    with pytest.raises(EventsPruned) as empty:
        await feed.follow("client-1", after(0), ALL)
    assert empty.value.details == {"provided": 0, "oldest": 4}
    await feed.follow("client-1", after(3), ALL)


async def test_a_stream_that_falls_behind_what_is_stored_ends(
    storage: Storage, feed: EventFeed
) -> None:
    stream = await feed.follow("client-1", None, ALL)
    await asyncio.gather(*(post(storage) for _ in range(600)))
    await feed.poll()
    await storage.events.purge(T0 + 1, 10_000)
    assert await following(stream) is None
    assert stream.sequence == 0
    with pytest.raises(EventsPruned):
        await feed.follow("client-1", after(stream.sequence), ALL)


async def test_streams_are_bounded_by_client_and_in_all(feed: EventFeed) -> None:
    streams = [await feed.follow("client-1", None, ALL) for _ in range(3)]
    with pytest.raises(TooManyStreams, match="3 open streams"):
        await feed.follow("client-1", None, ALL)
    await feed.follow("client-2", None, ALL)
    with pytest.raises(ServiceUnavailable, match="as many streams"):
        await feed.follow("client-3", None, ALL)
    streams[0].close()
    streams[0].close()
    await feed.follow("client-1", None, ALL)


async def test_visitors_of_the_page_leave_streams_to_clients(
    storage: Storage, clock: HandClock
) -> None:
    feed = EventFeed(storage.events, clock, per_client=20, total=40)

    def visitor(address: int, session: int) -> str:
        return visitor_id(f"192.0.2.{address}", b"salt", f"{session:016x}")

    first = [await feed.follow(visitor(1, n), None, ALL) for n in range(2)]
    with pytest.raises(TooManyStreams, match="this address already has 2"):
        await feed.follow(visitor(1, 3), None, ALL)
    for address in range(2, 11):
        for session in range(2):
            await feed.follow(visitor(address, session), None, ALL)
    with pytest.raises(TooManyStreams, match="the web page already has 20"):
        await feed.follow(visitor(11, 0), None, ALL)
    for _ in range(20):
        await feed.follow("client", None, ALL)
    first[0].close()
    await feed.follow(visitor(11, 0), None, ALL)


async def test_the_end_of_the_process_ends_every_stream(feed: EventFeed) -> None:
    streams = [await feed.follow(f"client-{n}", None, ALL) for n in range(3)]
    waiting = [asyncio.create_task(following(stream)) for stream in streams]
    await asyncio.sleep(0)
    feed.stop()
    assert await asyncio.gather(*waiting) == [None] * 3
    late = await feed.follow("client-1", None, ALL)
    assert await following(late) is None


@pytest.mark.parametrize(
    ("trouble", "logged"),
    [
        (StoreUnavailable("away"), "events_waiting"),
        (RuntimeError("unforeseen"), "background_task_failed"),
    ],
)
async def test_the_reader_works_while_there_are_streams(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, trouble: Exception, logged: str
) -> None:
    """It survives a database that does not answer and any error, and gives each stream its beat."""

    class Ticking(HandClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            await asyncio.sleep(0)

    feed = EventFeed(storage.events, Ticking())
    reading = asyncio.create_task(feed.run())
    stream = await feed.follow("client-1", None, ALL)
    assert await following(stream) == ()
    newest = storage.events.newest
    failed: list[object] = []

    async def away(clients: object) -> dict[str, int]:
        failed.append(clients)
        raise trouble

    monkeypatch.setattr(feed.events, "newest", away)
    with capture_logs() as lines:
        async with asyncio.timeout(GENEROUS_S):
            while len(failed) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0)
    assert {line["event"] for line in lines} == {logged}
    monkeypatch.setattr(feed.events, "newest", newest)
    await post(storage)
    events: Sequence[StoredEvent] | None = ()
    while not events:
        events = await following(stream)
        assert events is not None
    assert [event.sequence for event in events] == [1]
    stream.close()
    reading.cancel()
