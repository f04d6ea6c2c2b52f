"""The shutdown of a process: its trigger and its order.

The server waits for every connection to end before it sends the shutdown message of the lifespan.
With a client that sends one byte a minute, this process would keep the leader lock until it is
killed. So the application handles the signal, too.

The server's command imports this module before it forks its workers, so it must not import
`quietswap.service.observe`: metrics are per process.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import Receive


REQUESTS_S = 6.0
"""Time for running requests after the signal: a quote ends within 3 s, a submission within 5 s."""
KILLED_AFTER_S = 9
"""The server then kills a process that has not ended, so a shutdown takes at most ten seconds."""


def run_until_end(
    stack: AsyncExitStack,
    work: Coroutine[Any, Any, None],
    at_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run `work` in a task until the end of `stack`, then cancel it and call `at_end`."""
    task = asyncio.create_task(work)

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if at_end is not None:
            await at_end()

    stack.push_async_callback(stop)


def signalled() -> asyncio.Event:
    """Return an event that SIGTERM or SIGINT sets, in addition to the server's own handling.

    This handler does not replace the server's: asyncio's file descriptor is written for any handler
    (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd). Outside the main thread
    the event is never set: only the main thread can install signal handlers.
    """
    event = asyncio.Event()
    if threading.current_thread() is not threading.main_thread():
        return event
    loop = asyncio.get_running_loop()

    def note(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(event.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return event


async def until_stopped(receive: "Receive", stop_tracking: Callable[[], Awaitable[None]]) -> None:
    """Return when the tracker has released its lock and requests had their time to end.

    `receive` is the lifespan's. Its next message says that every connection has ended.
    """
    shutdown = asyncio.ensure_future(receive())
    signal_received = asyncio.create_task(signalled().wait())
    await asyncio.wait({shutdown, signal_received}, return_when=asyncio.FIRST_COMPLETED)
    stopping = asyncio.ensure_future(stop_tracking())
    await asyncio.wait({shutdown}, timeout=REQUESTS_S)
    await stopping
    shutdown.cancel()
    signal_received.cancel()
