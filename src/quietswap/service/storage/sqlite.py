"""SQLite: short reads and writes on the event loop, writes that last in a thread.

A write that must last waits for the disk, so it uses the thread of
`sqlite_writer`, which commits groups. In WAL mode, readers and the writer do not block each other (https://www.sqlite.org/wal.html).
"""

import asyncio
import fcntl
import os
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import (
    IN_MEMORY,
    Body,
    ForeignDatabase,
    Row,
    T,
    Transaction,
    Value,
)
from quietswap.service.storage.sqlite_writer import (
    LoopTime,
    NotOnLoop,
    SqliteLoopWriter,
    SqliteWriterThread,
    connect,
    is_for_a_thread,
    is_locked,
    translated,
)

# SQLite reads: at once on the event loop while they are short, otherwise in threads.
#
# No read waits for a writer. What else could stop the loop has a limit
# (`quietswap.service.storage.sqlite_writer`).

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


_WAL_RETRY_S = 0.01

_VERSION_COLUMNS = {"version", "name", "applied_at"}
"""Of `schema_version` (quietswap.service.storage.migrate), a name that other programs use, too."""

_SCAN_WAIT_MS = 250
"""Longest wait of a scan for a lock, which exists only during the recovery after a crash."""


@dataclass(slots=True)
class SqliteDatabase:
    """A file that processes of one host can share. Implements Database."""

    path: Path
    reader: SqliteReader
    writer: SqliteWriterThread
    loop_writer: SqliteLoopWriter
    folder: "tempfile.TemporaryDirectory[str] | None"
    patience_s: float
    dialect: ClassVar[str] = "sqlite"

    @classmethod
    async def open(cls, path: str, *, patience_s: float, waiting: int) -> "SqliteDatabase":
        """Open or create the file with mode 0600, because it contains signed transactions.

        `:memory:` is a file in a temporary folder that `close` deletes, so that it behaves as any
        file. `patience_s` limits a call in seconds, `waiting` the number of queued writes, and of
        queued reads. Raises StoreUnavailable if the file cannot be opened, after half of
        `patience_s` if another process keeps it locked. Raises ForeignDatabase, and writes nothing
        of its own, if it is one of another program.
        """
        folder = tempfile.TemporaryDirectory(prefix="quietswap-") if path == IN_MEMORY else None
        file = Path(folder.name, "memory.db") if folder else Path(path)
        try:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            # The wait for a lock is shorter than the call's limit, so that its result is known.
            connection = connect(file, int(500 * patience_s))
            _refuse_foreign(connection, file)
            await _use_wal(connection, patience_s / 2)
            reader = SqliteReader(file, patience_s=patience_s, waiting=waiting)
            loop_writer = SqliteLoopWriter(file, lock_wait_ms=int(500 * patience_s))
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise StoreUnavailable(f"the SQLite file {file} cannot be opened: {why}") from error
        writer = SqliteWriterThread(connection, asyncio.get_running_loop(), waiting)
        writer.start()
        return cls(file, reader, writer, loop_writer, folder, patience_s)

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        return await self.reader.fetch(sql, args)

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        return await asyncio.to_thread(self._scan, sql, args)

    def _scan(self, sql: str, args: Sequence[Value]) -> Sequence[Row]:
        try:
            with closing(connect(self.path, _SCAN_WAIT_MS)) as connection:
                return connection.execute(sql, args).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        async def one_statement(transaction: Transaction) -> Sequence[Row]:
            return await transaction.fetch(sql, *args)

        return await self.transact(one_statement, durable=durable)

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        if bounded and not durable and self.writer.is_idle:
            with suppress(NotOnLoop):
                return self.loop_writer.run(body)
        outcome = self.writer.submit(body, durable=durable, bounded=bounded)
        try:
            async with asyncio.timeout(self.patience_s if bounded else None):
                return await outcome
        except TimeoutError as error:
            raise StoreUnavailable("the SQLite file did not take a write in time") from error

    async def alone(self, lock: int, body: Body[T]) -> T:
        return await self.transact(body, bounded=False)

    async def has_table(self, name: str) -> bool:
        sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(await self.fetch(sql, name))

    async def close(self) -> None:
        await asyncio.to_thread(self.writer.stop)
        self.loop_writer.close()
        self.reader.close()
        if self.folder:
            self.folder.cleanup()


def _refuse_foreign(connection: sqlite3.Connection, file: Path) -> None:
    """Raise ForeignDatabase if the file has tables, but not ours. Raises sqlite3.Error."""
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        return
    columns = {row[1] for row in connection.execute("PRAGMA table_info(schema_version)")}
    if not columns >= _VERSION_COLUMNS:
        connection.close()
        raise ForeignDatabase(
            f"the SQLite file {file} has no tables of quietswap: it is one of another program"
        )


async def _use_wal(connection: sqlite3.Connection, patience_s: float) -> None:
    """Set WAL mode, which the file keeps. Raises sqlite3.Error.

    Only the first process changes the mode. Another one that tries meanwhile fails at once,
    whatever its busy_timeout: it upgrades a read lock
    (https://www.sqlite.org/c3ref/busy_handler.html).
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() >= until:
                raise
        await asyncio.sleep(_WAL_RETRY_S)


# File locks of a SQLite database: one process tracks its orders, one process serves from it.


class FileLeaderLock:
    """A lock on `<file>.<purpose>`. The system releases it when the process ends.

    flock belongs to the open file, not to the process (https://man7.org/linux/man-pages/man2/
    flock.2.html), so that two instances in one process exclude each other too. A `shared` lock
    excludes only those that are not.
    """

    def __init__(
        self, database_file: Path, purpose: str = "tracker", *, shared: bool = False
    ) -> None:
        self._path = database_file.with_name(f"{database_file.name}.{purpose}")
        self._mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._file: int | None = None
        self.is_elsewhere = False

    @property
    def is_held(self) -> bool:
        return self._file is not None

    async def acquire_or_renew(self) -> bool:
        if self._file is not None and not self._is_in_place(self._file):
            await self.release()
        if self._file is None:
            self._file = self._lock()
        return self._file is not None

    async def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_in_place(self, file: int) -> bool:
        """Whether the path still names the locked file, which may have been deleted."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except OSError:
            return False

    def _lock(self) -> int | None:
        self.is_elsewhere = False
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(file, self._mode | fcntl.LOCK_NB)
        except OSError as error:
            self.is_elsewhere = isinstance(error, BlockingIOError)
            os.close(file)
            return None
        return file
