"""A small HTTP/1.1 server that can also misbehave, for the parts of the sandbox.

A server library refuses to send what the faults need: half a body, one byte a second, nothing at
all, a closed socket instead of an answer. Here a handler returns a `Reply`, or a `Delivery` that
writes to the connection itself. Request bodies need a Content-Length; TLS, upgrades and pipelining
are left out.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MAX_BODY = 8 * 1024 * 1024
_REASONS = {
    200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large",
    422: "Unprocessable Content", 429: "Too Many Requests", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """One request; header names are lower case, repeated query names keep the first value."""

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
class Reply:
    """A complete answer; `headers` come in addition to Content-Type and Content-Length."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, length: int | None = None, *, close: bool = False) -> bytes:
        """Return the status line and headers, announcing `length` bytes (default: the body's)."""
        lines = [f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Status')}"]
        lines.append(f"Content-Type: {self.content_type}")
        lines.append(f"Content-Length: {len(self.body) if length is None else length}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += ["Connection: close"] if close else []
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return `value` as JSON."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Reply(status, body, headers=tuple((headers or {}).items()))


Delivery = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Reads and writes whatever it wants on the connection, which is closed afterwards."""
Answer = Reply | Delivery
Handler = Callable[[Request], Awaitable[Answer]]


class _BadRequest(Exception):
    """The bytes on the connection are not a request this server reads."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Server:
    """One handler on one loopback port. Raises OSError on start when the port is taken."""

    def __init__(self, handler: Handler, port: int = 0) -> None:
        self._handler = handler
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def port(self) -> int:
        """The port, known once started."""
        return self._port

    @property
    def url(self) -> str:
        """The base URL without a trailing slash."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> str:
        """Listen and return the URL; a port of 0 becomes a free one and is kept after a stop."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = int(self._server.sockets[0].getsockname()[1])
        return self.url

    async def stop(self) -> None:
        """Stop listening and end every connection; `start` may be called again."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        connections = dict(self._connections)
        for task, writer in connections.items():
            writer.transport.abort()  # ends it even where a library swallows the cancellation
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
            pass  # the peer left, or stop() was called: either way only the socket is left to close
        finally:
            self._connections.pop(task, None)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; False when the connection is to be closed."""
        try:
            request = await _read(reader)
        except _BadRequest as fault:
            writer.write(Reply(fault.status).head(close=True))
            await writer.drain()
            return False
        if request is None:
            return False
        answer = await self._handler(request)
        if not isinstance(answer, Reply):
            await answer(reader, writer)
            return False
        close = request.headers.get("connection", "").lower() == "close"
        writer.write(answer.head(close=close) + answer.body)
        await writer.drain()
        return not close


async def _read(reader: asyncio.StreamReader) -> Request | None:
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
    return Request(parts[0], target.path, query, headers, await _body(reader, headers))


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise _BadRequest(411)
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        raise _BadRequest(400)
    if int(length) > MAX_BODY:
        raise _BadRequest(413)
    return await reader.readexactly(int(length))
