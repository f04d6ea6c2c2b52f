"""The thread that writes to the SQLite file.

All queued jobs run in one transaction, each in its own savepoint, and are committed together.
Under load many orders share one wait for the disk.
"""

import asyncio
import queue
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Body, T
from quietswap.service.storage.sqlite_connection import is_locked, translated
from quietswap.service.storage.sqlite_transaction import SqliteTransaction

_GROUP = 256
"""Most jobs per commit, which limits the wait of the first job for the last one."""


@dataclass(slots=True)
class _Job:
    body: Body[Any]
    durable: bool
    bounded: bool
    future: "asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None


class _GroupLost(Exception):
    """SQLite rolled back the whole group (disk full, I/O error)."""


class SqliteWriterThread(threading.Thread):
    """Owns `connection` from `start` until `stop`; `waiting` limits its queue."""

    def __init__(
        self, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop, waiting: int
    ) -> None:
        super().__init__(name="sqlite-writer", daemon=True)
        self._connection = connection
        self._transaction = SqliteTransaction(connection)
        self._loop = loop
        self._waiting = waiting
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._waits: bool | None = None
        self._open = 0

    @property
    def is_idle(self) -> bool:
        """Return whether all writes are complete, as the event loop knows it, and none runs."""
        return not (self._open or self._stopped)

    def submit(
        self, body: Body[T], *, durable: bool = True, bounded: bool = True
    ) -> "asyncio.Future[T]":
        """Queue `body`; the future resolves after its commit.

        Without `bounded` it waits for another process's lock until the future is cancelled.
        Raises StoreUnavailable if the queue is full.
        """
        if self._stopped:
            raise StoreUnavailable("the database is closed")
        if self._queue.qsize() >= self._waiting:
            raise StoreUnavailable("too many writes are waiting for the disk")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Job(body, durable, bounded, future))
        self._open += 1
        return future

    def stop(self) -> None:
        """Commit the queue, close the connection and end the thread. This call blocks."""
        self._stopped = True
        self._queue.put(None)
        self.join()

    def run(self) -> None:
        going = True
        while going:
            group, going = self._next_group()
            if group:
                self._commit(group)
                # The event loop may be closed already.
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._deliver, group)
        self._connection.close()

    def _next_group(self) -> tuple[list[_Job], bool]:
        group: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            group.append(job)
            if len(group) >= _GROUP or self._queue.empty():
                return group, True
            job = self._queue.get()
        return group, False

    def _commit(self, group: list[_Job]) -> None:
        try:
            self._wait_for_disk(any(job.durable for job in group))
            self._begin(group)
            for job in group:
                self._run(job)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, _GroupLost) as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            # This replaces the jobs' own errors, because their transaction was rolled back.
            for job in group:
                job.error = StoreUnavailable(f"SQLite did not commit: {error}")

    def _begin(self, group: list[_Job]) -> None:
        """Take the lock. SQLite has no queue for it: a process that commits again and again, as a
        migration does, can keep it from this one for longer than the connection's busy_timeout.
        """
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                waits = any(not job.bounded and not job.future.cancelled() for job in group)
                if not (waits and is_locked(error)):
                    raise

    def _wait_for_disk(self, wanted: bool) -> None:
        """Set whether the next commits wait for the disk.

        An order must survive a power failure, because it is sent right after its commit: FULL waits
        for the disk. After a power failure with NORMAL the database is consistent, but its last
        commits may be lost (https://www.sqlite.org/pragma.html#pragma_synchronous).
        """
        if wanted is not self._waits:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._waits = wanted

    def _run(self, job: _Job) -> None:
        # A caller that timed out, even while BEGIN waited for a lock, got an unknown result. Do not
        # run its job.
        if job.future.cancelled():
            return
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = self._transaction.run(job.body)
        except Exception as error:
            if not self._connection.in_transaction:
                raise _GroupLost(str(error)) from error
            self._connection.execute("ROLLBACK TO job")
            job.error = translated(error) if isinstance(error, sqlite3.Error) else error
        self._connection.execute("RELEASE job")

    def _deliver(self, group: list[_Job]) -> None:
        self._open -= len(group)
        for job in group:
            if job.future.done():
                continue
            if job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)
