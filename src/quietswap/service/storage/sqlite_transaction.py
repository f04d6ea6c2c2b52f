"""The transaction that the body of a write sees on SQLite."""

import sqlite3
from collections.abc import Coroutine, Sequence
from typing import Any

from quietswap.service.storage.database import Body, Row, T, Value


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
