"""A node that is far away: a TCP proxy that passes each answer on after a delay."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

_CHUNK = 65_536


@asynccontextmanager
async def slow_node(url: str, delay_ms: float) -> AsyncIterator[str]:
    """Serve the node at `url` from another URL; bytes of an answer are `delay_ms` late.

    The proxy runs in the event loop of the caller.
    """
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_CHUNK):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def delayed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(_CHUNK):
                loop.call_later(delay_ms / 1000, writer.write, data)
            await asyncio.sleep(delay_ms / 1000)
        finally:
            writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        node_reader, node_writer = await asyncio.open_connection(parts.hostname, parts.port)
        for work in (passed_on(reader, node_writer), delayed(node_reader, writer)):
            task = asyncio.create_task(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
