"""A tiny HTTP server on a loopback port that answers whatever a test tells it to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field


@dataclass
class Answer:
    """`hang` keeps the connection open without a word; `cut` ends it in the middle of the body.

    `until` is waited for before the answer, also if the client goes away.
    """

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    hang: bool = False
    cut: bool = False
    until: asyncio.Event | None = None


@dataclass
class Request:
    """What the server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeWeb:
    """The server; `answer` is called for each request and may be replaced at any time."""

    answer: Callable[[Request], Answer]
    url: str = ""
    requests: list[Request] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        gone = (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError)
        with contextlib.suppress(*gone):
            while await self._one(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.split(": ", 1) for line in lines if line)
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(method, path, headers, body)
        self.requests.append(request)
        answer = self.answer(request)
        if answer.until is not None:
            await answer.until.wait()
        if answer.hang:
            await reader.read()
            return False
        sent = answer.body[: len(answer.body) // 2] if answer.cut else answer.body
        writer.write(
            f"HTTP/1.1 {answer.status} X\r\ncontent-type: {answer.content_type}\r\n"
            f"content-length: {len(answer.body)}\r\n\r\n".encode()
            + sent
        )
        await writer.drain()
        return not answer.cut


@contextlib.asynccontextmanager
async def serving(answer: Callable[[Request], Answer]) -> AsyncIterator[FakeWeb]:
    """Run a server until the block ends."""
    web = FakeWeb(answer)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(web.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    web.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield web
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
