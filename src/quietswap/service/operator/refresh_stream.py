"""The event stream that lets an open page refresh itself when any process counted something.

It carries no data: a page reads itself again, with its own checks. One statement a second reads a
row for each process, so it does not depend on orders or clients. The session is checked as often.
"""

from collections.abc import Awaitable, Callable

from starlette.types import Receive, Send

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.api.event_sender import EventSender, event_sender, event_text
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
_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


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
        try:
            async with event_sender(receive, send, slow_s=_SLOW_S, headers=_HEADERS) as stream:
                await stream.write(b"retry: 3000\n\n")
                await self._follow(is_live, stream)
                await stream.end()
        except TimeoutError:
            pass  # a client that takes no data; the server closes the connection
        finally:
            self._open -= 1

    async def _follow(self, is_live: Callable[[], Awaitable[bool]], stream: EventSender) -> None:
        shown_state: int | None = None
        beat = 0
        while not stream.has_left and not self._is_stopping():
            try:
                if not await is_live():
                    await stream.write(b"event: ended\ndata: session\n\n")
                    return
                seen = await self._changes()
            except StoreUnavailable:
                seen = shown_state if shown_state is not None else 0
            if shown_state is not None and seen != shown_state:
                await stream.write(event_text("changed", 1))
            shown_state, beat = seen, beat + 1
            if beat % _BEATS == 0:
                await stream.write(b": beat\n\n")
            await self._clock.sleep(_EVERY_S)
