"""The event stream that lets an open page refresh itself when any process counted something.

It carries no data: a page reads itself again, with its own checks. One statement a second reads a
row for each process, so it does not depend on orders or clients. The session is checked as often.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Send

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.base.clock import Clock
from quietswap.service.operator.page import (
    SECURITY_HEADERS,
)

MOST_STREAMS = 50
"""Open streams of one process."""
_EVERY_S = 1.0
_BEATS = 10
"""Polls between two lines that keep the connection open."""
_SLOW_S = 15.0
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
    *((name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
]


class OperatorStream:
    """Counts the open streams of this process and serves each."""

    def __init__(
        self,
        changes: Callable[[], Awaitable[int]],
        is_stopping: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._changes = changes
        self._is_stopping = is_stopping
        self._clock = clock
        self._open = 0

    @property
    def is_full(self) -> bool:
        """Return whether no further stream is served."""
        return self._open >= MOST_STREAMS

    async def serve(
        self, is_live: Callable[[], Awaitable[bool]], receive: Receive, send: Send
    ) -> None:
        """Send `changed` after each change until the session, the client or the process ends."""
        self._open += 1
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            await _send(send, b"retry: 3000\n\n")
            await self._follow(is_live, leaving, send)
            await send(_body(b"", more=False))
        except TimeoutError:
            pass  # a client that takes no data; the server closes the connection
        finally:
            self._open -= 1
            leaving.cancel()

    async def _follow(
        self, is_live: Callable[[], Awaitable[bool]], leaving: "asyncio.Task[None]", send: Send
    ) -> None:
        known: int | None = None
        beat = 0
        while not leaving.done() and not self._is_stopping():
            try:
                if not await is_live():
                    await _send(send, b"event: ended\ndata: session\n\n")
                    return
                seen = await self._changes()
            except StoreUnavailable:
                seen = known if known is not None else 0
            if known is not None and seen != known:
                await _send(send, b"event: changed\ndata: 1\n\n")
            known, beat = seen, beat + 1
            if beat % _BEATS == 0:
                await _send(send, b": beat\n\n")
            await self._clock.sleep(_EVERY_S)


async def _send(send: Send, text: bytes) -> None:
    async with asyncio.timeout(_SLOW_S):
        await send(_body(text, more=True))


def _body(text: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": more}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
