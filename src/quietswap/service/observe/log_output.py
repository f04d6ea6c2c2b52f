"""Log output to standard error, at once or buffered for some milliseconds."""

import asyncio
import atexit
import threading
from collections import deque
from typing import BinaryIO

import structlog

SOON_S = 0.02
"""Longest buffering of a line, in seconds. Each write releases the GIL: one write per request took
a quarter of the time of a short response."""


_WHOLE = 4096
"""Largest write to a pipe that is atomic, in bytes: PIPE_BUF of
https://man7.org/linux/man-pages/man7/pipe.7.html."""


class BufferedLogger(structlog.BytesLogger):
    """A structlog logger that keeps the order of lines.

    Only a killed process loses the lines of the last `SOON_S` seconds. Call `stop_buffering` before
    the process ends: a forked process does not run exit handlers.
    """

    __slots__ = ("_due", "_is_unbuffered", "_taking", "_waiting")

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._waiting: deque[bytes] = deque()
        self._taking = threading.Lock()
        self._due: asyncio.TimerHandle | None = None
        self._is_unbuffered = False
        atexit.register(self.flush)

    def msg(self, message: bytes) -> None:
        """Write the buffered lines and this line now."""
        self._waiting.append(message)
        self.flush()

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg

    def soon(self, message: bytes) -> None:
        """Write the line within `SOON_S` seconds. Call it on the event loop."""
        self._waiting.append(message)
        if self._is_unbuffered:
            self.flush()
        elif self._due is None:
            self._due = asyncio.get_running_loop().call_later(SOON_S, self._come_due)

    def stop_buffering(self) -> None:
        """Write the buffered lines, and from now on each line at once."""
        self._is_unbuffered = True
        self.flush()

    def _come_due(self) -> None:
        self._due = None
        self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
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
