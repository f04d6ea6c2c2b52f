"""Standard error as a place for lines: each at once, or many together a moment later."""

import asyncio
import atexit
import threading
from collections import deque
from typing import BinaryIO

import structlog

SOON_S = 0.02
"""How long a line may wait for others. Each write lets another thread have the interpreter: a line
for each request by itself cost a quarter of the time of a short answer."""

_WHOLE = 4096
"""Bytes that several processes may write to one pipe without tearing each other's apart: PIPE_BUF
of https://man7.org/linux/man-pages/man7/pipe.7.html."""


class Lines(structlog.BytesLogger):
    """A structlog logger whose lines come out in the order they were given in.

    Only a process that is killed loses those of the last `SOON_S` seconds. One that is about to end
    says so by `hurry`: a forked process ends without the interpreter's farewell.
    """

    __slots__ = ("_due", "_hurries", "_taking", "_waiting")

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._waiting: deque[bytes] = deque()
        self._taking = threading.Lock()
        self._due: asyncio.TimerHandle | None = None
        self._hurries = False
        atexit.register(self.flush)

    def msg(self, message: bytes) -> None:
        """Write the line now, behind those that wait."""
        self._waiting.append(message)
        self.flush()

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg

    def soon(self, message: bytes) -> None:
        """Write the line with others within `SOON_S` seconds; call it on the event loop."""
        self._waiting.append(message)
        if self._hurries:
            self.flush()
        elif self._due is None:
            self._due = asyncio.get_running_loop().call_later(SOON_S, self._come_due)

    def hurry(self) -> None:
        """Write what waits, and from now on every line at once."""
        self._hurries = True
        self.flush()

    def _come_due(self) -> None:
        self._due = None
        self.flush()

    def flush(self) -> None:
        """Write what waits."""
        with self._taking:
            block = b""
            for _ in range(len(self._waiting)):
                line = self._waiting.popleft()
                if block and len(block) + len(line) + 2 > _WHOLE:
                    super().msg(block)
                    block = b""
                block = block + b"\n" + line if block else line
            if block:
                super().msg(block)
