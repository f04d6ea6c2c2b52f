"""Reads the event stream over HTTP until there is news, the stream ends or the time is over.

A stream that breaks is no error: the caller reads the status record, which says what is wrong.
"""

import asyncio
import threading
from contextlib import suppress
from typing import Any

from pyreqwest.exceptions import RequestError
from pyreqwest.response import BaseResponse, Response

from quietswap.client.event_stream import AwaitEvent, StreamPlace, StreamReader

_SLICE_S = 0.25
"""Longest time until a signal is handled that the system gave to another thread, in s."""
_CLOSE_S, _CANCELS = 1.0, 20
"""Longest wait in s for the connection to close after an interruption, and tries to close it."""


def read_events(request: Any, effect: AwaitEvent) -> StreamPlace | None:
    """Send the request of an asynchronous client, and return the outcome of the wait. Blocks.

    A blocking read ignores Ctrl-C until the next bytes come. Therefore another thread reads, and an
    exception here ends it and closes the connection. The thread makes its event loop itself: Ctrl-C
    is raised in the main thread, also in the middle of the making of one.
    """
    reading: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[StreamPlace | None]]] = []
    is_left, ended = threading.Event(), threading.Event()

    async def read() -> None:
        task = asyncio.create_task(read_events_async(request, effect))
        reading.append((asyncio.get_running_loop(), task))
        if is_left.is_set():
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # `task.result` raises it below

    def run() -> None:
        asyncio.run(read())
        ended.set()

    def cancel() -> None:
        for loop, task in reading:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(task.cancel)

    try:
        threading.Thread(target=run, name="quietswap-events", daemon=True).start()
        while not ended.wait(_SLICE_S):
            pass
    finally:
        is_left.set()
        for _ in range(_CANCELS):  # one that comes between two reads may be lost
            if ended.is_set():
                break
            cancel()
            ended.wait(_CLOSE_S / _CANCELS)
    [(_, task)] = reading
    return task.result()


async def read_events_async(request: Any, effect: AwaitEvent) -> StreamPlace | None:
    reader = StreamReader(effect)
    with suppress(RequestError, ValueError):  # ValueError: a header that is no text
        async with request as response:
            await _read(response, reader)
    return reader.place


async def _read(response: Response, reader: StreamReader) -> None:
    while is_stream(response) and (piece := await response.body_reader.read_chunk()):
        if reader.feed(bytes(piece)):
            return


def is_stream(response: BaseResponse) -> bool:
    media = str(response.headers.get("content-type", ""))
    return response.status == 200 and media.startswith("text/event-stream")
