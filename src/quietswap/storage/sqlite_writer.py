"""The one thread that writes to the SQLite file.

Whatever waits is run in one transaction, each piece inside a savepoint of its own, and committed
together: under load many orders share one wait for the disk, and a lone order waits for one.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from quietswap.ports.stores import StoreDown
from quietswap.storage.database import Body, Row, T, Transaction, Value

_GROUP = 256
"""Most pieces of work in one commit, so that the first does not wait long for the last."""

_LOGIC = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH}
"""Primary result codes that are our own fault (https://www.sqlite.org/rescode.html)."""


def translated(error: sqlite3.Error) -> Exception:
    """Return StoreDown for what the file or disk did, and a fault of our own SQL unchanged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF in _LOGIC:
        return error
    return StoreDown(f"SQLite: {error}")


@dataclass(slots=True)
class _Job:
    body: Body[Any]
    durable: bool
    future: "asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None


class _GroupLost(Exception):
    """SQLite rolled the whole group back by itself (disk full, I/O error)."""


class _Inside:
    """The Transaction handed to bodies: its calls are ready at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        return self._connection.execute(sql, args).fetchall()


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits only `_Inside`, which never suspends, to its end at once."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("a transaction may only await its own statements")


class Writer(threading.Thread):
    """Owns `connection` from `start` until `stop`; `waiting` bounds its queue."""

    def __init__(
        self, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop, waiting: int
    ) -> None:
        super().__init__(name="sqlite-writer", daemon=True)
        self._connection = connection
        self._inside: Transaction = _Inside(connection)
        self._loop = loop
        self._waiting = waiting
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._waits: bool | None = None

    def submit(self, body: Body[T], *, durable: bool = True) -> "asyncio.Future[T]":
        """Queue `body`; the future resolves after its commit. Raises StoreDown when full."""
        if self._stopped:
            raise StoreDown("the database is closed")
        if self._queue.qsize() >= self._waiting:
            raise StoreDown("too many writes are waiting for the disk")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Job(body, durable, future))
        return future

    def stop(self) -> None:
        """Commit what is queued, close the connection and end the thread (blocks)."""
        self._stopped = True
        self._queue.put(None)
        self.join()

    def run(self) -> None:
        """Work until `stop`."""
        going = True
        while going:
            group, going = self._next_group()
            if group:
                self._commit(group)
                # The loop can be gone, and with it everyone who waited.
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(_deliver, group)
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
            self._connection.execute("BEGIN IMMEDIATE")
            for job in group:
                self._run(job)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, _GroupLost) as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            # Also for those that ended in an error of their own: what they saw is undone.
            for job in group:
                job.error = StoreDown(f"SQLite did not commit: {error}")

    def _wait_for_disk(self, wanted: bool) -> None:
        """Let the next commits wait for the disk, or not.

        An order must survive a power cut once it is stored, since it is sent right after: FULL
        makes a commit wait, the groups make that cheap. NORMAL leaves a whole database, too, but
        perhaps without its last commits (https://www.sqlite.org/pragma.html#pragma_synchronous).
        """
        if wanted is not self._waits:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._waits = wanted

    def _run(self, job: _Job) -> None:
        # Whoever gave up (even while BEGIN waited for a lock) was told that nothing is known: then
        # it is better that nothing happens.
        if job.future.cancelled():
            return
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = _finish(job.body(self._inside))
        except Exception as error:
            if not self._connection.in_transaction:
                raise _GroupLost(str(error)) from error
            self._connection.execute("ROLLBACK TO job")
            job.error = translated(error) if isinstance(error, sqlite3.Error) else error
        self._connection.execute("RELEASE job")


def _deliver(group: list[_Job]) -> None:
    for job in group:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
