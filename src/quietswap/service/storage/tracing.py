"""A database whose calls are spans of the request's trace. Used only if traces are enabled."""

from collections.abc import Sequence

from quietswap.service import observe
from quietswap.service.storage.database import Body, Database, Row, T, Value


class TracedDatabase:
    """Implements Database. A span names the kind of call, never the SQL or its values."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        return await observe.in_span("database", self._database.fetch(sql, *args), call="fetch")

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        return await observe.in_span("database", self._database.scan(sql, *args), call="scan")

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        work = self._database.change(sql, *args, durable=durable)
        return await observe.in_span("database", work, call="change")

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        work = self._database.transact(body, bounded=bounded, durable=durable)
        return await observe.in_span("database", work, call="transact")

    async def has_table(self, name: str) -> bool:
        return await self._database.has_table(name)

    async def alone(self, lock: int, body: Body[T]) -> T:
        return await self._database.alone(lock, body)

    async def close(self) -> None:
        await self._database.close()
