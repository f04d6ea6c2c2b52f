"""A raw HTTP server on a loopback port that misbehaves on demand and keeps what it was sent."""

import asyncio
import contextlib
import gzip
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from quietswap.service.base.http_client import HttpClient

_GONE = (asyncio.IncompleteReadError, ConnectionError)


@dataclass
class Reply:
    """One answer. `chunks` replaces `body` and is sent without a length, `pause` seconds apart;
    `then` is what happens after it: keep, close, hang."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = "application/json"
    chunks: Iterator[bytes] | None = None
    pause: float = 0.0
    length: int | None = None
    then: str = "keep"
    silent: bool = False

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Whatever"]
        if self.content_type is not None:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.chunks is None:
            lines.append(f"Content-Length: {self.length or len(self.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def js(value: Any, status: int = 200, **headers: str) -> Reply:
    """Return a JSON answer; header names with underscores for hyphens."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(json.dumps(value).encode(), status, named)


HTML = b"<!DOCTYPE html><html><title>Just a moment...</title></html>"


def page(status: int = 200) -> Reply:
    """Return a web page."""
    return Reply(HTML, status, content_type="text/html; charset=utf-8")


def zipped(body: bytes) -> Reply:
    """Return a body compressed as far as gzip goes."""
    return Reply(gzip.compress(body, 9), headers={"Content-Encoding": "gzip"})


SILENCE = Reply(silent=True)
"""It takes the request and never answers."""
HANG_UP = Reply(silent=True, then="close")
"""It takes the request and closes the connection."""


@dataclass
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Upstream:
    """The server: `replies` are given in order, one per request."""

    replies: deque[Reply] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0
    sent: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def will(self, *replies: Reply) -> "Upstream":
        self.replies = deque(replies)
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            with contextlib.suppress(*_GONE):
                while await self._one(reader, writer):
                    pass
        finally:
            self.at_once -= 1  # before the close, which lets the client open the next one
            self.left.set()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.asked.append(await _read(reader))
        self.came.set()
        reply = self.replies.popleft()
        if not reply.silent:
            await self._send(writer, reply)
        if reply.then == "hang" or (reply.silent and reply.then == "keep"):
            await reader.read()
        return reply.then == "keep" and reply.chunks is None and not reply.silent

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        writer.write(reply.head() + (reply.body if reply.chunks is None else b""))
        await writer.drain()
        for chunk in reply.chunks or ():
            writer.write(chunk)
            self.sent += len(chunk)
            await writer.drain()
            await asyncio.sleep(reply.pause)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    url = urlsplit(target)
    return Asked(
        method, url.path, parse_qsl(url.query, strict_parsing=bool(url.query)), headers, body
    )


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Upstream]:
    """Run an upstream until the block ends."""
    upstream = Upstream()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(upstream.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def flat_memory(most: int = 24 * 2**20) -> Iterator[None]:
    """Fail when the process, at any moment of the block, holds `most` bytes more than before it."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak there was
    before = _memory("VmRSS")
    yield
    grown = _memory("VmHWM") - before
    assert grown < most, f"{grown / 2**20:.0f} MiB were needed"


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with listening() as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(user_agent="quietswap-test")
    yield client
    await client.close()
