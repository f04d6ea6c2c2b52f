"""A small HTTP/1.1 server for the parts of the sandbox.

The faults need half a body, one byte at a time, or a closed socket instead of an answer. ASGI
servers cannot send these. aiohttp can, at 135 µs of CPU per request; this server takes 70 µs
(Starlette on uvicorn: 125 to 270 µs). A handler returns a `Reply`, or a `Delivery` that writes to
the connection itself. Request bodies need a Content-Length. There is no TLS, upgrade or pipelining.
"""

import asyncio
import contextlib
import errno
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MAX_BODY = 8 * 1024 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. Header names are lower case. The first value of a query name counts."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        """Return the body as JSON. Raises ValueError when it is not."""
        try:
            return json.loads(self.body)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete answer; `headers` come in addition to Content-Type and Content-Length."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, length: int | None = None, *, close: bool = False) -> bytes:
        """Return the status line and headers for `length` bytes (default: the body's length)."""
        lines = [
            f"HTTP/1.1 {self.status} {responses.get(self.status, 'Status')}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body) if length is None else length}",
            *(f"{name}: {value}" for name, value in self.headers),
            *(["Connection: close"] if close else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def json_reply(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return `value` as JSON."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return HttpResponse(status, body, headers=tuple((headers or {}).items()))


Delivery = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Uses the connection directly. The server closes it afterwards."""
Answer = HttpResponse | Delivery
Handler = Callable[[HttpRequest], Awaitable[Answer]]

_FOREIGN = json_reply({"error": "Host and Origin must be localhost, 127.0.0.1 or [::1]"}, 403)


def is_loopback(host: str) -> bool:
    """Whether a Host header, with or without a port, names this machine."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "0"
    return name.lower() in _LOOPBACK and port.isascii() and port.isdecimal()


def _is_foreign(request: HttpRequest) -> bool:
    """Whether a page of another site sent it. Browser extensions have other `Origin` schemes."""
    scheme, _, page = request.headers.get("origin", "").partition("://")
    is_page = scheme in {"http", "https", "null"}
    return not is_loopback(request.headers.get("host", "")) or (is_page and not is_loopback(page))


class _BadRequest(Exception):
    """The bytes on the connection are not a request that this server supports."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class HttpServer:
    """One handler on one loopback port.

    A request whose Host is not loopback is answered with 403, against DNS rebinding. So is a
    request whose `Origin` is another site, because a page can send it without reading the answer.
    With `yields`, the first start takes a free port when `port` is in use.
    """

    def __init__(self, handler: Handler, port: int = 0, *, yields: bool = False) -> None:
        self._handler = handler
        self.port = port
        self._yields = yields
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        """The base URL without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> str:
        """Listen, unless it does so already, and return the URL.

        Port 0 becomes a free port, which a restart keeps. Raises OSError when the port is in use.
        """
        if self._server is not None:
            return self.url
        try:
            self._server = await self._listen()
        except OSError as error:
            if not self._yields or error.errno != errno.EADDRINUSE:
                raise
            self.port = 0
            self._server = await self._listen()
        self._yields = False
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self.url

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", self.port)

    async def stop(self) -> None:
        """Stop listening and close every connection. `start` may be called again."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        connections = dict(self._connections)
        for task, writer in connections.items():
            writer.transport.abort()  # needed where a library suppresses the cancellation
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the peer closed the connection, or `stop` was called
        finally:
            self._connections.pop(task, None)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request. Return False when the connection must be closed."""
        try:
            request = await _read(reader)
        except _BadRequest as fault:
            return await _send(writer, HttpResponse(fault.status))
        if request is None:
            return False
        if _is_foreign(request):
            return await _send(writer, _FOREIGN)
        answer = await self._handler(request)
        if not isinstance(answer, HttpResponse):
            await answer(reader, writer)
            return False
        close = request.headers.get("connection", "").lower() == "close"
        return await _send(writer, answer, close=close)


async def _send(writer: asyncio.StreamWriter, reply: HttpResponse, *, close: bool = True) -> bool:
    """Send a complete answer. Return False when the connection must be closed."""
    writer.write(reply.head(close=close) + reply.body)
    await writer.drain()
    return not close


async def _read(reader: asyncio.StreamReader) -> HttpRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise _BadRequest(400) from error
        return None
    except asyncio.LimitOverrunError as error:
        raise _BadRequest(431) from error
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    parts = first.split(" ")
    if len(parts) != 3:
        raise _BadRequest(400)
    headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
    target = urlsplit(parts[1])
    query: dict[str, str] = {}
    for name, value in parse_qsl(target.query, keep_blank_values=True):
        query.setdefault(name, value)
    return HttpRequest(parts[0], target.path, query, headers, await _body(reader, headers))


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise _BadRequest(411)
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise _BadRequest(400)
    if int(length) > MAX_BODY:
        raise _BadRequest(413)
    return await reader.readexactly(int(length))
