"""SQLite: reads on the event loop, writes in one thread that commits in groups.

An indexed read takes some microseconds, less than any hop to a thread. A write waits for the disk,
so all writes go through `quietswap.storage.sqlite_writer`. In WAL mode readers and the writer never
wait for each other (https://www.sqlite.org/wal.html).
"""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from quietswap.ports.stores import StoreDown
from quietswap.storage.database import Body, Row, T, Transaction, Value
from quietswap.storage.sqlite_writer import Writer, translated

IN_MEMORY = ":memory:"

_READ_WAIT_MS = 250
"""How long a read may wait for a lock: readers meet one only while a crashed file is recovered."""


class SqliteDatabase:
    """One file, several processes at most on one machine. Implements Database."""

    dialect = "sqlite"

    def __init__(
        self, path: Path, writer: Writer, patience_s: float, folder: "_Folder | None"
    ) -> None:
        self.path = path
        self._reader = _connect(path, _READ_WAIT_MS)
        self._reader.execute("PRAGMA query_only = 1")
        self._writer = writer
        self._patience_s = patience_s
        self._folder = folder

    @classmethod
    async def open(cls, path: str, *, patience_s: float, waiting: int) -> "SqliteDatabase":
        """Open or create the file, readable by its owner alone: it holds signed transactions.

        `:memory:` means a private temporary folder that goes when the database is closed, so that
        it behaves exactly as a file does. `patience_s` bounds a write in seconds, `waiting` how
        many writes may queue. Raises StoreDown when the file cannot be opened.
        """
        folder = _Folder(prefix="quietswap-") if path == IN_MEMORY else None
        file = Path(folder.name, "memory.db") if folder else Path(path)
        try:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
            # The lock of another process is given up before the caller is, so that both agree.
            connection = _connect(file, int(500 * patience_s))
            connection.execute("PRAGMA journal_mode = WAL")
        except (OSError, sqlite3.Error) as error:
            raise StoreDown(f"the SQLite file cannot be opened: {error}") from error
        writer = Writer(connection, asyncio.get_running_loop(), waiting)
        writer.start()
        return cls(file, writer, patience_s, folder)

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        try:
            return self._reader.execute(sql, args).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        return await asyncio.to_thread(self._scan, sql, args)

    def _scan(self, sql: str, args: Sequence[Value]) -> Sequence[Row]:
        try:
            with closing(_connect(self.path, _READ_WAIT_MS)) as connection:
                return connection.execute(sql, args).fetchall()
        except sqlite3.Error as error:
            raise translated(error) from error

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        async def one_statement(transaction: Transaction) -> Sequence[Row]:
            return await transaction.fetch(sql, *args)

        return await self.transact(one_statement, durable=durable)

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        outcome = self._writer.submit(body, durable=durable)
        try:
            async with asyncio.timeout(self._patience_s if bounded else None):
                return await outcome
        except TimeoutError as error:
            raise StoreDown("the SQLite file did not take a write in time") from error

    async def has_table(self, name: str) -> bool:
        sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(await self.fetch(sql, name))

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.stop)
        self._reader.close()
        if self._folder:
            self._folder.cleanup()


_Folder = tempfile.TemporaryDirectory[str]


def _connect(path: Path, busy_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
    connection.execute("PRAGMA cache_size = -65536")  # 64 MiB keeps the upper index pages at hand
    return connection
