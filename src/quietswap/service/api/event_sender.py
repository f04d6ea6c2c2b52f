"""Server-sent events: their text, and how a stream of them is sent.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from quietswap.service.api.json import Receive, Send, until_disconnected

EVENT_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
)
ROUTE_EVENT, ANSWER_EVENT = "route", "answer"
"""The events of a quote: a verified route, and at the end what the plain request would answer."""
_encode = msgspec.json.Encoder().encode


def event_text(event: str, data: object, sequence: int | None = None) -> bytes:
    """Return one event as text, with its number. Its JSON has no line break."""
    place = b"" if sequence is None else b"id: %d\n" % sequence
    return b"%bevent: %b\ndata: %b\n\n" % (place, event.encode(), _encode(data))


class EventSender:
    """An open stream. Its client may have left, or be too slow for more of it."""

    def __init__(self, send: Send, slow_s: float) -> None:
        self._send = send
        self._slow_s = slow_s
        self.has_left = False

    async def write(self, text: bytes) -> None:
        """Send text. Raises TimeoutError if the client takes none of it for `slow_s` seconds."""
        async with asyncio.timeout(self._slow_s):
            await self._send({"type": "http.response.body", "body": text, "more_body": True})

    async def end(self) -> None:
        """End the stream: its client opens another one at the last event that it has."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


@asynccontextmanager
async def event_sender(
    receive: Receive,
    send: Send,
    *,
    slow_s: float,
    headers: Sequence[tuple[bytes, bytes]] = (),
    on_leave: Callable[[], None] = lambda: None,
) -> AsyncGenerator[EventSender]:
    """Open a stream; `on_leave` is called when its client has gone."""
    sender = EventSender(send, slow_s)

    async def watch() -> None:
        await until_disconnected(receive)
        sender.has_left = True
        on_leave()

    leaving = asyncio.create_task(watch())
    try:
        start = [*EVENT_STREAM, *headers]
        await send({"type": "http.response.start", "status": 200, "headers": start})
        yield sender
    finally:
        leaving.cancel()
