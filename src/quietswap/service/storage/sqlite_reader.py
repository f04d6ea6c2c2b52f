"""SQLite reads: at once on the event loop while they are short, otherwise in threads.

No read waits for a writer. What else could stop the loop has a limit
(`quietswap.service.storage.loop_time`).
"""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import (
    Row,
    Value,
)
from quietswap.service.storage.loop_time import LoopTime, is_for_a_thread
from quietswap.service.storage.sqlite_connection import connect, translated

_LOCK_WAIT_MS = 250
"""Longest wait of a read for a lock, in a thread."""
_THREADS = 2


@dataclass(slots=True)
class _Read:
    sql: str
    args: Sequence[Value]
    future: "Future[Sequence[Row]]" = field(default_factory=Future)


class SqliteReader:
    """Reads `path`. `waiting` limits the queue of the threads, `patience_s` the time of its reads.

    `monotonic` is a clock in seconds.
    """

    def __init__(
        self,
        path: Path,
        *,
        patience_s: float,
        waiting: int,
        lock_wait_ms: int = _LOCK_WAIT_MS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._patience_s = patience_s
        self._waiting = waiting
        self._lock_wait_ms = lock_wait_ms
        self._queue: queue.SimpleQueue[_Read | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._connection = self._connect(lock_wait_ms)
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._time = LoopTime(self._connection, monotonic)

    async def fetch(self, sql: str, args: Sequence[Value]) -> Sequence[Row]:
        """Run one statement. Raises StoreUnavailable."""
        if not self._time.begin():
            return await self._in_thread(sql, args)
        try:
            rows = self._connection.execute(sql, args).fetchall()
        except sqlite3.Error as error:
            if is_for_a_thread(error):
                return await self._in_thread(sql, args)
            raise translated(error) from error
        self._time.end()
        return rows

    def close(self) -> None:
        """Close the connections; reads in the queue fail."""
        self._connection.close()
        for _ in self._threads:
            self._queue.put(None)

    async def _in_thread(self, sql: str, args: Sequence[Value]) -> Sequence[Row]:
        if self._queue.qsize() >= self._waiting:
            raise StoreUnavailable("too many reads are waiting for the disk")
        if not self._threads:
            self._threads = [self._started() for _ in range(_THREADS)]
        read = _Read(sql, args)
        self._queue.put(read)
        try:
            async with asyncio.timeout(self._patience_s):
                return await asyncio.wrap_future(read.future)
        except TimeoutError as error:
            raise StoreUnavailable("the SQLite file did not answer a read in time") from error

    def _started(self) -> threading.Thread:
        """Return a thread that nobody waits for: it may be stuck at the disk."""
        thread = threading.Thread(target=self._serve, name="sqlite-reader", daemon=True)
        thread.start()
        return thread

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (read := self._queue.get()) is not None:
            if not read.future.set_running_or_notify_cancel():  # its caller gave up
                continue
            with suppress(RuntimeError):  # the loop is closed
                try:
                    connection = connection or self._connect(self._lock_wait_ms)
                    read.future.set_result(connection.execute(read.sql, read.args).fetchall())
                except sqlite3.Error as error:
                    read.future.set_exception(translated(error))
        if connection is not None:
            connection.close()

    def _connect(self, wait_ms: int) -> sqlite3.Connection:
        connection = connect(self._path, wait_ms)
        connection.execute("PRAGMA query_only = 1")
        return connection
