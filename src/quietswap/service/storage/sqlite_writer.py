"""Connections to a SQLite file, and what their errors mean."""

import asyncio
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Body, Row, T, Value

_LOGIC = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
"""Primary result codes of faults in our SQL (https://www.sqlite.org/rescode.html)."""


_CACHE_KIB = 4 * 1024


def connect(path: Path, busy_ms: int, cache_kib: int = _CACHE_KIB) -> sqlite3.Connection:
    """Return a connection without transactions of its own; it waits `busy_ms` for a lock.

    It keeps pages of `cache_kib` KiB. The system's cache holds the file once for all connections.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")  # negative: KiB, not pages
    return connection


def is_locked(error: sqlite3.Error) -> bool:
    """Return whether another connection has a lock that the statement needs."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def translated(error: sqlite3.Error) -> Exception:
    """Return StoreUnavailable for an error of file or disk; return a fault of our SQL unchanged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF in _LOGIC:
        return error
    return StoreUnavailable(f"SQLite: {error}")


# The transaction that the body of a write sees on SQLite.


class SqliteTransaction:
    """An open transaction of `connection`. Its calls never suspend. Implements Transaction."""

    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one statement and return its rows."""
        return self._connection.execute(sql, args).fetchall()

    def run(self, body: Body[T]) -> T:
        """Run `body` without an event loop. Raises RuntimeError if it awaits anything else."""
        work: Coroutine[Any, Any, T] = body(self)
        try:
            work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        work.close()
        raise RuntimeError("a transaction may only await its own statements")


# Limits what a SQLite connection does on the event loop.
#
# A short statement takes some microseconds, less than a switch of threads. Three things could stop
# the loop: a lock (of a recovery, of a writer, or of a program that wants the file for itself),
# which the connection must not wait for, a long statement, which is interrupted, and a slow disk,
# which is met on the loop once every few seconds.

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


# SQLite writes on the event loop: those that need not wait for the disk, while they are short.
#
# The write of a quote takes less time than its handover to the writer thread and back. What cannot
# be written here within the limits of this module is undone and left to that
# thread, which can wait.

CHECKPOINT_EVERY = 100
"""Of so many writes one is left to the thread, which moves a long WAL into the file and waits for
the disk (https://www.sqlite.org/wal.html#ckpt). The thread does so after orders, too. The write
after a checkpoint begins the WAL anew and waits for the disk once, also on the loop."""
_LOOP_WRITER_CACHE_KIB = 1024


class NotOnLoop(Exception):
    """The transaction is undone: the writer thread must run it."""


class SqliteLoopWriter:
    """Writes to `path`. Only `__init__` waits for a lock, at most `lock_wait_ms`.

    `monotonic` is a clock in seconds.
    """

    def __init__(
        self, path: Path, *, lock_wait_ms: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connect(path, lock_wait_ms, _LOOP_WRITER_CACHE_KIB)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._transaction = SqliteTransaction(self._connection)
        self._time = LoopTime(self._connection, monotonic)
        self._written = 0

    def run(self, body: Body[T]) -> T:
        """Run `body` in one transaction. Raises NotOnLoop and StoreUnavailable.

        A power failure may undo it. An exception of the body rolls back and is raised unchanged.
        """
        self._written += 1
        if self._written % CHECKPOINT_EVERY == 0 or not self._time.begin():
            raise NotOnLoop
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = self._transaction.run(body)
        except sqlite3.Error as error:
            self._undo()
            if is_for_a_thread(error):
                raise NotOnLoop from error
            raise _known(error) from error
        except BaseException:
            self._undo()
            raise
        self._commit()
        self._time.end()
        return result

    def _commit(self) -> None:
        """Commit. What fails here is never repeated: it may have been written."""
        self._time.lift_limit()
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            raise _known(error) from error

    def _undo(self) -> None:
        self._time.lift_limit()
        # An error of the disk may have ended the transaction.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


def _known(error: sqlite3.Error) -> Exception:
    known = translated(error)
    if isinstance(known, StoreUnavailable):
        return StoreUnavailable(f"SQLite did not commit: {error}")
    return known


# The thread that writes to the SQLite file.
#
# All queued jobs run in one transaction, each in its own savepoint, and are committed together.
# Under load many orders share one wait for the disk.

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
