"""One reader of the outbox per process, and the streams of the clients that it serves.

While streams are open, the reader asks ten times a second which of their clients have new events.
So events that another process wrote arrive, too. A stream has no buffer of its own: it has a place
in its client's sequence and takes what follows from the client's latest events, or from the
database if it is too far behind. A slow stream therefore costs no memory and loses nothing.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from quietswap.rules.clients import Party, party_of
from quietswap.rules.errors.base import ServiceUnavailable
from quietswap.rules.errors.clients import EventsPruned, TooManyStreams
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tx.address import Address
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.storage.event_rows import ClientEvent, StoredWatchEvent
from quietswap.service.storage.events import EventStore

POLL_S = 0.1
"""Time between two reads while streams are open: two milliseconds of a second's work on SQLite."""
BEAT_S = 10.0
"""Time between two empty batches, so that a proxy does not take the stream for dead."""
_PULSE_S = 1.0
_LATEST = 256
"""Events of a client in memory, about 2 KB each."""
_PAGE = 200
_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The events of one order, or of one wallet; None admits all. A watch has neither."""

    order_id: str | None = None
    wallet: Address | None = None

    def admits(self, event: ClientEvent) -> bool:
        if isinstance(event, StoredWatchEvent):
            return self == EventFilter()
        return (self.order_id is None or self.order_id == event.order.order_id) and (
            self.wallet is None or self.wallet == event.wallet
        )


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The last event that a client has, and the name of the request's field that says so."""

    sequence: int
    parameter: str


class _Channel:
    """The latest events of one client, without a gap, and its open streams."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.latest: deque[ClientEvent] = deque(maxlen=_LATEST)
        self.streams: set[EventSubscription] = set()

    def add(self, events: Sequence[ClientEvent]) -> None:
        if events[0].sequence != self.newest + 1:  # pruned meanwhile
            self.latest.clear()
        self.latest.extend(events)
        self.newest = events[-1].sequence
        for stream in self.streams:
            stream.wake()

    def since(self, sequence: int) -> Sequence[ClientEvent] | None:
        """Return what follows; None if it is not in memory."""
        if sequence >= self.newest:
            return ()
        if not self.latest or self.latest[0].sequence > sequence + 1:
            return None
        return tuple(islice(self.latest, sequence + 1 - self.latest[0].sequence, None))


class EventFeed:
    """`per_client` and `total` bound the open streams of this process.

    Visitors of the web page have at most half of them, and those of one address a tenth of that.
    `run` reads until `stop`, which ends all streams.
    """

    def __init__(
        self, events: EventStore, clock: Clock, *, per_client: int = 20, total: int = 2000
    ) -> None:
        self.events = events
        self.clock = clock
        self.is_stopping = False
        self._per_client = per_client
        self._total = total
        self._open = 0
        self._visitors: Counter[str] = Counter()
        self._channels: dict[str, _Channel] = {}
        self._needed = asyncio.Event()

    async def follow(
        self, client_id: str, after: ResumePoint | None, only: EventFilter
    ) -> "EventSubscription":
        """Open a stream of the events that follow `after`; of those to come if it is None.

        Close it after use. Raises InvalidParameter for a sequence that does not exist yet,
        EventsPruned, TooManyStreams, ServiceUnavailable if all streams of the process are in use,
        and StoreUnavailable.
        """
        span = await self.events.span(client_id, 0 if after is None else after.sequence)
        start = span.newest if after is None else after.sequence
        if after is not None and start > span.newest:
            raise InvalidParameter(
                parameter=after.parameter,
                provided=str(start),
                reason=f"no event has this number yet; the newest is {span.newest}",
            )
        if span.has_gap(start):
            raise EventsPruned(provided=start, oldest=span.following)
        channel = self._channels.get(client_id)
        if channel is not None and len(channel.streams) >= self._per_client:
            raise TooManyStreams(limit=self._per_client)
        self._admit_visitor(party_of(client_id))
        if self._open >= self._total:
            text = "this process serves as many streams as it may"
            raise ServiceUnavailable(text, reason="OVERLOADED")
        if channel is None:
            channel = self._channels[client_id] = _Channel(span.newest)
        stream = EventSubscription(self, channel, client_id, start, only)
        channel.streams.add(stream)
        self._open += 1
        self._count_visitor(client_id, 1)
        observe.streams_open(self._open)
        self._needed.set()
        return stream

    def _admit_visitor(self, party: Party) -> None:
        """Raise TooManyStreams unless a visitor may have one more; a client always may."""
        if not party.is_visitors:
            return
        most = self._total // 2
        of_address = -(-most // 10)
        if self._visitors[party.member] >= of_address:
            raise TooManyStreams(limit=of_address, who="this address")
        if self._visitors.total() >= most:
            raise TooManyStreams(limit=most, who="the web page")

    def _count_visitor(self, client_id: str, change: int) -> None:
        party = party_of(client_id)
        if party.is_visitors:
            self._visitors[party.member] += change
            if not self._visitors[party.member]:
                del self._visitors[party.member]

    def forget(self, stream: "EventSubscription") -> None:
        channel = self._channels[stream.client_id]
        channel.streams.discard(stream)
        if not channel.streams:
            del self._channels[stream.client_id]
        self._open -= 1
        self._count_visitor(stream.client_id, -1)
        observe.streams_open(self._open)
        if not self._channels:
            self._needed.clear()

    def stop(self) -> None:
        """End every stream, also those that are opened later."""
        self.is_stopping = True
        for channel in self._channels.values():
            for stream in channel.streams:
                stream.wake()

    async def run(self) -> None:
        """Read new events while streams are open, and wake streams for their beat."""
        pulse_at = self.clock.monotonic()
        while True:
            await self._needed.wait()
            await self.clock.sleep(POLL_S)
            try:
                await self.poll()
            except StoreUnavailable as error:
                observe.events_waiting(str(error))
            except Exception as fault:  # noqa: BLE001  logged; the next read begins where it was
                observe.background_task_failed("events", fault)
                await self.clock.sleep(_PULSE_S)
            if self.clock.monotonic() >= pulse_at:
                pulse_at = self.clock.monotonic() + _PULSE_S
                self._wake_waiting()

    async def poll(self) -> None:
        """Read the new events of all clients that have streams. Raises StoreUnavailable."""
        newest = await self.events.newest(self._channels)
        behind = [
            (client_id, channel)
            for client_id, channel in self._channels.items()
            if newest.get(client_id, 0) > channel.newest
        ]
        await bounded_gather(behind, self._read, limit=_PARALLEL)

    async def _read(self, place: tuple[str, _Channel]) -> None:
        client_id, channel = place
        while True:
            events = await self.events.after(client_id, channel.newest, _PAGE)
            if events:
                channel.add(events)
            if len(events) < _PAGE:
                return

    def _wake_waiting(self) -> None:
        now = self.clock.monotonic()
        for channel in self._channels.values():
            for stream in channel.streams:
                if stream.beat_at <= now:
                    stream.wake()


class EventSubscription:
    """One stream: `next` until it returns None, then `close`.

    `sequence` is the place in the client's sequence: what follows was not returned yet.
    """

    def __init__(
        self, feed: EventFeed, channel: _Channel, client_id: str, start: int, only: EventFilter
    ) -> None:
        self.client_id = client_id
        self.sequence = start
        self.beat_at = feed.clock.monotonic() + BEAT_S
        self._feed = feed
        self._channel = channel
        self._only = only
        self._woken = asyncio.Event()
        self._is_closed = False

    def wake(self) -> None:
        self._woken.set()

    async def next(self) -> Sequence[ClientEvent] | None:
        """Return the next events in their order, or none of them every ten seconds.

        None is the end: the process stops, the stream was closed, the events that follow were
        pruned, or the database does not answer. The client continues at `sequence`.
        """
        while not (self._is_closed or self._feed.is_stopping):
            now = self._feed.clock.monotonic()
            if now >= self.beat_at:
                self.beat_at = now + BEAT_S
                return ()
            self._woken.clear()
            events = await self._following()
            if events is None:
                return None
            if not events:
                await self._woken.wait()
                continue
            self.sequence = events[-1].sequence
            admitted = [event for event in events if self._only.admits(event)]
            if admitted:
                return admitted
        return None

    async def _following(self) -> Sequence[ClientEvent] | None:
        """Return what follows `sequence`; None if it cannot be read any more."""
        events = self._channel.since(self.sequence)
        if events is not None:
            return events
        await asyncio.sleep(0)  # a read of SQLite does not yield
        try:
            stored = await self._feed.events.after(self.client_id, self.sequence, _PAGE)
        except StoreUnavailable as error:
            observe.events_waiting(str(error))
            return None
        is_whole = bool(stored) and stored[0].sequence == self.sequence + 1
        return stored if is_whole else None

    def close(self) -> None:
        """End the stream; a second call has no effect."""
        if not self._is_closed:
            self._is_closed = True
            self._feed.forget(self)
            self.wake()
