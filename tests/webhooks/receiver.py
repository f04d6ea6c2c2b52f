"""A receiver of webhooks on loopback, whose answers a test chooses."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer(status: int, *headers: str) -> bytes:
    """Return a complete answer without a body."""
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Length: 0", *headers, "", ""]
    return "\r\n".join(lines).encode()


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its first line, headers with names in lower case, and body."""

    line: str
    headers: dict[str, str]
    body: bytes
    server_name: str | None = None


Answering = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def always(raw: bytes) -> Answering:
    """Return the behaviour that answers these bytes and closes."""

    async def answering(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)

    return answering


@dataclass(slots=True)
class Receiver:
    """Counts connections, keeps complete requests and answers them."""

    port: int = 0
    connections: int = 0
    requests: list[Received] = field(default_factory=list)
    answering: Answering = field(default_factory=lambda: always(OK))
    names: list[str | None] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
            headers = {n.lower(): v.strip() for n, _, v in (x.partition(":") for x in lines)}
            body = await reader.readexactly(int(headers["content-length"]))
            name = self.names[-1] if self.names else None
            self.requests.append(Received(first, headers, body, name))
            await self.answering(self.requests[-1], writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def receiving(
    context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    """Serve on a free port; with `context` by TLS."""
    receiver = Receiver()
    if context:
        context.sni_callback = lambda _socket, name, _context: receiver.names.append(name)
    server = await asyncio.start_server(receiver.serve, host, 0, ssl=context)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
