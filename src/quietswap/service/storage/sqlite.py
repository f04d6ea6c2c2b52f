"""SQLite: short reads and writes on the event loop, writes that last in a thread.

A write that must last waits for the disk, so it uses the thread of `sqlite_writer_thread`, which
commits groups. In WAL mode, readers and the writer do not block each other
(https://www.sqlite.org/wal.html).
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
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
from quietswap.service.storage.sqlite_connection import connect, is_locked, translated
from quietswap.service.storage.sqlite_loop_writer import NotOnLoop, SqliteLoopWriter
from quietswap.service.storage.sqlite_reader import SqliteReader
from quietswap.service.storage.sqlite_writer_thread import SqliteWriterThread

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
            reason = getattr(error, "strerror", None) or error
            raise StoreUnavailable(f"the SQLite file {file} cannot be opened: {reason}") from error
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
