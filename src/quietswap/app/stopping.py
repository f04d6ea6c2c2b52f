"""Stopping a process: who has asked for it, and what happens in which order.

The server itself first waits for every connection to end, and only then tells the application. A
client that sends a byte a minute would so keep the lead of the tracker from the next process, until
this one is killed. So the application listens for the signal, too.

The server's command imports this module before it forks its workers: nothing that counts
(`quietswap.observe`) may be imported here.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType

from quietswap.api.asgi import Receive

REQUESTS_S = 6.0
"""How long requests may go on after the signal: a quote ends within 3 s, a submission within 5."""
KILLED_AFTER_S = 9
"""When the server kills a process that has not ended; all is to be over within ten seconds."""


def signalled() -> asyncio.Event:
    """Return an event that is set by SIGTERM or SIGINT, beside whatever the server does then.

    asyncio learns of signals through a file descriptor that is written whatever the handler is
    (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd), so the server's own
    handling stays. Outside the main thread no signal can be heard.
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


async def until_stopped(receive: Receive, stop_tracking: Callable[[], Awaitable[None]]) -> None:
    """Return when the process is to end: the tracker has handed over, requests have had their time.

    `receive` is the lifespan's, whose next message says that every connection has ended.
    """
    told = asyncio.ensure_future(receive())
    heard = asyncio.create_task(signalled().wait())
    await asyncio.wait({told, heard}, return_when=asyncio.FIRST_COMPLETED)
    handing_over = asyncio.ensure_future(stop_tracking())
    await asyncio.wait({told}, timeout=REQUESTS_S)
    await handing_over
    told.cancel()
    heard.cancel()
