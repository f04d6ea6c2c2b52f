"""The client's side of the event stream. No I/O.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from quietswap.client.errors import UnexpectedResponse
from quietswap.client.wire import decode
from quietswap.rules.contract.quotes import StreamedRoute

_LONGEST = 1 << 20
"""Bytes kept of an unfinished line."""


@dataclass(frozen=True, slots=True)
class AwaitEvent:
    """Wait up to `seconds` for an event of an order that follows `after`.

    Without `after` it does not wait: the outcome is the place of the newest event. The outcome is a
    `StreamPlace`; None if the service has no stream for this client now.
    """

    order_id: str
    after: int | None
    seconds: float

    @property
    def query(self) -> dict[str, str]:
        place = {} if self.after is None else {"after": str(self.after)}
        return {"orderId": self.order_id, **place}


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """`sequence` is where the next wait begins; `has_news` says that an event arrived."""

    sequence: int
    has_news: bool


class StreamReader:
    """Reads the text of a stream piece by piece, until it is known whether there is news."""

    def __init__(self, effect: AwaitEvent) -> None:
        self._is_opening = effect.after is None
        self._line = b""
        self._data = False
        self._has_news = False
        self._id: int | None = None
        self._sequence: int | None = None

    @property
    def place(self) -> StreamPlace | None:
        """Return the outcome so far; None before the first id of the stream."""
        return None if self._sequence is None else StreamPlace(self._sequence, self._has_news)

    def feed(self, piece: bytes) -> bool:
        """Read a piece; return whether the wait is over, also for what is no stream."""
        *lines, self._line = (self._line + piece).split(b"\n")
        for line in lines:
            self._read(line.removesuffix(b"\r"))
        is_open = self._is_opening and self._sequence is not None
        return is_open or self._has_news or len(self._line) > _LONGEST

    def _read(self, line: bytes) -> None:
        if not line:
            if self._id is not None:
                self._sequence = self._id
            self._has_news |= self._data
            self._data = False
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data = True
        elif name == b"id" and (text := value.strip()).isdigit() and len(text) <= 15:
            self._id = int(text)


class QuoteEvents:
    """Reads the text of a streamed quote: hands each route on, and keeps the answer."""

    def __init__(self, verified: Callable[[StreamedRoute], None]) -> None:
        self._verified = verified
        self._rest = b""
        self._event = b""
        self.answer: bytes | None = None
        """The body that the plain request would have; None before the last event."""

    def feed(self, piece: bytes) -> None:
        """Read a piece. Raises UnexpectedResponse for a route that cannot be read."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            name, _, value = line.removesuffix(b"\r").partition(b": ")
            if name == b"event":
                self._event = value
            elif name == b"data":
                self._take(value)

    def _take(self, data: bytes) -> None:
        if self._event == b"answer":
            self.answer = data
        elif self._event == b"route":
            try:
                self._verified(decode(data, StreamedRoute))
            except msgspec.DecodeError as error:
                raise UnexpectedResponse(f"a route cannot be read ({error})") from error
