"""A database that is watched, and the orders kept of it."""

import asyncio
from collections.abc import Awaitable, Sequence

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Body, Database, Row, T, Value
from tests.waiting import eventually


class Watched:
    """A database that counts what is read of it, and holds reads or the ends of writes back."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect
        self.reads = 0
        self.writes: list[str] = []
        """`change` is one round trip to PostgreSQL, `transact` several."""
        self.held = 0
        """Reads whose rows are there and whose delivery waits."""
        self.open = asyncio.Event()
        self.open.set()
        self.loses_answers = False
        self.come_true = asyncio.Event()
        self.late: list[asyncio.Task[object]] = []

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        return await self._delivered(self._database.fetch(sql, *args))

    async def _delivered(self, read: Awaitable[T]) -> T:
        self.reads += 1
        found = await read
        self.held += 1
        await self.open.wait()
        self.held -= 1
        return found

    async def hold(self, reads: int) -> None:
        """Return as soon as so many reads have their rows and wait for `open`."""

        async def there() -> bool:
            return self.held == reads

        await eventually(there)

    async def alone(self, lock: int, body: Body[T]) -> T:
        return await self._database.alone(lock, body)

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        return await self._database.scan(sql, *args)

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        self.writes.append("change")
        return await self._database.change(sql, *args, durable=durable)

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        self.writes.append("transact")
        work = self._database.transact(body, bounded=bounded, durable=durable)
        if not self.loses_answers:
            return await work
        self.late.append(asyncio.create_task(self._later(work)))
        raise StoreUnavailable("nobody knows what became of it")

    async def _later(self, work: object) -> None:
        await self.come_true.wait()
        await work  # type: ignore[misc]

    async def has_table(self, name: str) -> bool:
        return await self._database.has_table(name)

    async def close(self) -> None:
        await self._database.close()
