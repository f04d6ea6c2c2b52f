"""A server of one part of the sandbox: a handler with its faults on its own port."""

import asyncio
import contextlib
import zlib
from collections.abc import Callable
from functools import lru_cache

from quietswap.sandbox.faults import ActiveFaults, Fault
from quietswap.sandbox.http_server import (
    Answer,
    Delivery,
    Handler,
    HttpRequest,
    HttpResponse,
    HttpServer,
)

# The HTTP faults as bytes on the wire, and the wrapper that adds them to a handler.


_TIMEOUT_S = 10
_DRIP_S = 0.05
_HUGE = 64 * 1024 * 1024
_BOMB_MEGABYTES = 256
_CHUNK = b" " * 65536


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
    """Close the connection without an answer."""
    writer.transport.abort()


def halved(reply: HttpResponse) -> Delivery:
    """Return a delivery that announces the full length and sends the first half of the body."""

    async def deliver(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply.head() + reply.body[: len(reply.body) // 2])
        await writer.drain()

    return deliver


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


def _page(status: int) -> HttpResponse:
    page = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"
    return HttpResponse(status, page, "text/html; charset=UTF-8")


_INSTEAD: dict[str, Callable[[Fault], Answer]] = {
    "hang": lambda _: _hang,
    "timeout": lambda _: _time_out,
    "drip": lambda _: _drip,
    "huge_body": lambda _: _huge_body,
    "500": lambda _: HttpResponse(500, b"Internal Server Error", "text/plain"),
    "429": lambda _: HttpResponse(429, b"error code: 1015", "text/plain", (("Retry-After", "2"),)),
    "html": lambda fault: _page(fault.number),
    "garbage": lambda _: HttpResponse(200, b'{"code":0,"data":{"amountOut":"1\xff\xfe'),
    "redirect": lambda _: HttpResponse(
        302, headers=(("Location", "http://127.0.0.1:9/elsewhere"),)
    ),
    "gzip_bomb": lambda _: HttpResponse(200, _bomb(), headers=(("Content-Encoding", "gzip"),)),
    "deep_json": lambda _: HttpResponse(200, b"[" * 100_000 + b"]" * 100_000),
}
"""Faults whose answer replaces the part's."""


def with_http_faults(part: str, active_faults: ActiveFaults, handler: Handler) -> Handler:
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
            return halved(reply)
        return reply

    return answer


class ComponentServer:
    """Serves `handler` with the active faults of `name`.

    The fault `down` closes the port. The same port is used again afterwards.
    """

    def __init__(
        self,
        name: str,
        active_faults: ActiveFaults,
        handler: Handler,
        port: int = 0,
        *,
        yields: bool = False,
    ) -> None:
        self.name = name
        self._active_faults = active_faults
        self._server = HttpServer(
            with_http_faults(name, active_faults, handler), port, yields=yields
        )
        self._moves: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._is_wanted = False

    @property
    def url(self) -> str:
        """The base URL, known once started."""
        return self._server.url

    async def start(self) -> str:
        """Listen, unless the part is `down` from the start, and return the URL."""
        await self._server.start()
        self._is_wanted = True
        self._active_faults.listen(self._changed)
        await self._settle()
        return self.url

    async def stop(self) -> None:
        """Stop listening permanently."""
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
            if self._is_wanted and not self._active_faults.shows(self.name, "down"):
                await self._server.start()
            else:
                await self._server.stop()
