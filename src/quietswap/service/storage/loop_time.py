"""Limits what a SQLite connection does on the event loop.

A short statement takes some microseconds, less than a switch of threads. Three things could stop
the loop: a lock (of a recovery, of a writer, or of a program that wants the file for itself),
which the connection must not wait for, a long statement, which is interrupted, and a slow disk,
which is met on the loop once every few seconds.
"""

import sqlite3
import sys
import time
from collections.abc import Callable

_STEPS = 100_000
"""Steps of SQLite's machine, about a millisecond. A page of history takes some thousand. Each
prepared statement counts its own, on from its last run."""
_INTERRUPTED_AT = 2
"""After so many times `_STEPS` the work is interrupted on the loop. The first may be reached early,
because of the runs before."""
SLOW_S = 0.05
"""What took longer on the loop met a slow disk, or a stopped machine."""
IN_THREADS_S = 5.0
"""Time after that in which the loop is left alone."""
_NOT_HERE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT}
"""Primary result codes of what a thread repeats (https://www.sqlite.org/rescode.html)."""


class LoopTime:
    """The limits of one connection. `monotonic` is a clock in seconds."""

    def __init__(
        self, connection: sqlite3.Connection, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = monotonic
        self._calls_left = 0
        self._began = 0.0
        self._free_from: float | None = None
        connection.set_progress_handler(self._stop_what_is_long, _STEPS)

    def begin(self) -> bool:
        """Return whether the connection may be used on the loop now."""
        self._began = self._now()
        if self._free_from is not None:
            if self._began < self._free_from:
                return False
            self._free_from = None
        self._calls_left = _INTERRUPTED_AT
        return True

    def lift_limit(self) -> None:
        """Interrupt nothing until the next `begin`: a COMMIT can be interrupted when it is done,
        and an interrupted ROLLBACK leaves the lock taken.
        """
        self._calls_left = sys.maxsize

    def end(self) -> None:
        """Note that the work that has begun is complete."""
        ended = self._now()
        if ended - self._began > SLOW_S:
            self._free_from = ended + IN_THREADS_S

    def _stop_what_is_long(self) -> int:
        """Return whether to interrupt."""
        self._calls_left -= 1
        return self._calls_left <= 0


def is_for_a_thread(error: sqlite3.Error) -> bool:
    """Return whether a thread, which can wait, should repeat what failed."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_HERE
