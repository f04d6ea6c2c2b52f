"""A small HTTP/1.1 server for the parts of the sandbox, each with its faults on its own port.

The faults need half a body, one byte at a time, or a closed socket instead of an answer. ASGI
servers cannot send these. aiohttp can, at 135 µs of CPU per request; this server takes 70 µs
(Starlette on uvicorn: 125 to 270 µs). A handler returns an `HttpResponse`, or a `Delivery` that
writes to the connection itself. Request bodies need a Content-Length. There is no TLS, upgrade or
pipelining.
"""

import asyncio
import contextlib
import errno
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from http.client import responses
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from quietswap.sandbox.faults import ActiveFaults, Fault

MAX_BODY = 8 * 1024 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_TIMEOUT_S = 10
_DRIP_S = 0.05
_HUGE = 64 * 1024 * 1024
_BOMB_MEGABYTES = 256
_CHUNK = b" " * 65536


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. Header names are lower case. The first value of a query name counts."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
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
    """The bytes are not a request that this server supports; the argument is the status."""


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
        except _BadRequest as error:
            return await _send(writer, HttpResponse(error.args[0]))
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


async def _hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()  # returns when the peer closes the connection


async def _time_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(_hang(reader, writer), _TIMEOUT_S)


async def _drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HttpResponse().head(length=1_000_000_000))
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(_DRIP_S)


async def _huge_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HttpResponse().head(length=_HUGE + 2) + b'"')
    for _sent in range(_HUGE // len(_CHUNK)):
        writer.write(_CHUNK)
        await writer.drain()
    writer.write(b'"')
    await writer.drain()


async def close_silently(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _halve(
    reply: HttpResponse, _: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(reply.head() + reply.body[: len(reply.body) // 2])
    await writer.drain()


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    """Return a gzip file (RFC 1952) of spaces, built from copies of one flushed block."""
    blanks = b" " * 1_048_576
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(_BOMB_MEGABYTES):
        checksum = zlib.crc32(blanks, checksum)
    size = (_BOMB_MEGABYTES * len(blanks)) & 0xFFFFFFFF
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    tail = checksum.to_bytes(4, "little") + size.to_bytes(4, "little")
    return head + block * _BOMB_MEGABYTES + packer.flush() + tail


_PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"
_INSTEAD: dict[str, Callable[[Fault], Answer]] = {
    "hang": lambda _: _hang,
    "timeout": lambda _: _time_out,
    "drip": lambda _: _drip,
    "huge_body": lambda _: _huge_body,
    "500": lambda _: HttpResponse(500, b"Internal Server Error", "text/plain"),
    "429": lambda _: HttpResponse(429, b"error code: 1015", "text/plain", (("Retry-After", "2"),)),
    "html": lambda fault: HttpResponse(fault.number, _PAGE, "text/html; charset=UTF-8"),
    "garbage": lambda _: HttpResponse(200, b'{"code":0,"data":{"amountOut":"1\xff\xfe'),
    "redirect": lambda _: HttpResponse(
        302, headers=(("Location", "http://127.0.0.1:9/elsewhere"),)
    ),
    "gzip_bomb": lambda _: HttpResponse(200, _bomb(), headers=(("Content-Encoding", "gzip"),)),
    "deep_json": lambda _: HttpResponse(200, b"[" * 100_000 + b"]" * 100_000),
}
"""Faults whose answer replaces the part's."""


def _with_faults(part: str, active_faults: ActiveFaults, handler: Handler) -> Handler:
    """Return `handler` with the HTTP fault that is active for `part` at each request."""

    async def answer(request: HttpRequest) -> Answer:
        fault = active_faults.of(part)
        if fault is None:
            return await handler(request)
        if fault.kind in _INSTEAD:
            return _INSTEAD[fault.kind](fault)
        reply = await handler(request)
        if fault.kind == "delay":
            await asyncio.sleep(fault.number / 1000)
        if fault.kind == "half_answer" and isinstance(reply, HttpResponse):
            return partial(_halve, reply)
        return reply

    return answer


@dataclass(eq=False)
class ComponentServer:
    """Serves `handler` with the active faults of `name`.

    The fault `down` closes the port. The same port is used again afterwards.
    """

    name: str
    active_faults: ActiveFaults
    handler: Handler
    port: int = 0
    yields: bool = False

    def __post_init__(self) -> None:
        handler = _with_faults(self.name, self.active_faults, self.handler)
        self._server = HttpServer(handler, self.port, yields=self.yields)
        self._moves: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._is_wanted = False

    @property
    def url(self) -> str:
        return self._server.url

    async def start(self) -> str:
        """Listen, unless the part is `down` from the start, and return the URL."""
        await self._server.start()
        self._is_wanted = True
        self.active_faults.listen(self._changed)
        await self._settle()
        return self._server.url

    async def stop(self) -> None:
        self._is_wanted = False
        await self.settled()
        await self._settle()

    async def settled(self) -> None:
        """Wait until every earlier change of faults has taken effect on the port."""
        await asyncio.gather(*self._moves)

    def _changed(self, part: str, _: Fault | None) -> None:
        if part == self.name and self._is_wanted:
            move = asyncio.create_task(self._settle())
            self._moves.add(move)
            move.add_done_callback(self._moves.discard)

    async def _settle(self) -> None:
        async with self._turn:
            if self._is_wanted and not self.active_faults.shows(self.name, "down"):
                await self._server.start()
            else:
                await self._server.stop()
