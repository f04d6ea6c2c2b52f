"""The node that is far away: what goes through it arrives whole, in order, and late."""

import asyncio
import time
from contextlib import suppress
from itertools import pairwise

from benchmarks.speed.slow_node import slow_node
from quietswap.http_client import HttpClient
from tests.waiting import WITHIN_S

DELAY_MS = 200


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request with its own body, in several pieces."""
    with suppress(asyncio.IncompleteReadError):  # the connection ends between two requests
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % length)
            for start, end in pairwise((*range(0, length, 1_000), length)):
                writer.write(body[start:end])
                await writer.drain()
    writer.close()


async def test_answers_are_whole_and_late() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    http = HttpClient()
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with slow_node(url, DELAY_MS) as slow:
        for text in (b"1", bytes(range(256)) * 1_000):
            began = time.monotonic()
            reply = await http.post(slow, text, timeout_s=WITHIN_S)
            assert reply.body == text
            assert time.monotonic() - began >= DELAY_MS / 1000
    await http.close()
    server.close()
