"""Common interface of SQLite and PostgreSQL.

SQL is written once, in the common subset of both, with `?` for arguments. Every call raises
quietswap.rules.orders.stores.StoreUnavailable if there is no response within the time limit.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, Protocol, TypeVar

import msgspec

from quietswap.rules.clients import AuditEntry
from quietswap.rules.orders.stores import StoreUnavailable

Value = str | int | bytes | None
Row = Sequence[Any]
"""One row; its columns have the order of the SELECT or RETURNING list."""

T = TypeVar("T")

IN_MEMORY = ":memory:"
"""The path of a SQLite URL that names no file."""


class ForeignDatabase(Exception):
    """The SQLite file belongs to another program."""


class LockTimeout(StoreUnavailable):
    """Another transaction held a lock for longer than `lock_timeout`: nothing was done."""


class Transaction(Protocol):
    """An open transaction. Its body may await only its `fetch`."""

    @property
    def dialect(self) -> str:
        """Return `sqlite` or `postgresql`."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one statement and return its rows (empty without RETURNING)."""


Body = Callable[[Transaction], Coroutine[Any, Any, T]]
"""The work of one transaction. It must not depend on an earlier attempt."""


class Database(Protocol):
    """A database, opened once and closed once on one event loop."""

    @property
    def dialect(self) -> str:
        """Return `sqlite` or `postgresql`."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one read statement on one snapshot."""

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run a read statement with a long result, without blocking the event loop."""

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        """Run one write statement and return its RETURNING rows after the commit.

        `durable` as in `transact`.
        """

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        """Run `body` in one transaction and return its result after the commit.

        Without `bounded` it has no time limit, as migrations need. Without `durable`, SQLite does
        not wait for the disk, so that a power failure may undo the commit.

        An exception of the body rolls back and is raised unchanged. After StoreUnavailable the
        result of the commit may be unknown and must be read.
        """

    async def has_table(self, name: str) -> bool:
        """Return whether the schema has this table."""

    async def alone(self, lock: int, body: Body[T]) -> T:
        """Run `body` without a time limit while no other process holds the advisory lock `lock`.

        With PostgreSQL it is no transaction: each of its statements is committed by itself.
        """

    async def close(self) -> None:
        """Finish accepted work and close the connections."""


class Store:
    """The base of what reads and writes a part of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _fill_slot(
        self, slots_in_use: str, client_id: str, most: int, insert: str, values: Sequence[Value]
    ) -> bool:
        """Insert a row in the lowest free slot of a client; False if there is none below `most`.

        `slots_in_use` selects them; `insert` takes the slot last, and returns no row if
        another process took it meanwhile.
        """
        while True:
            rows = await self._database.fetch(slots_in_use, client_id)
            used_slots = {row[0] for row in rows}
            slot = next(number for number in count() if number not in used_slots)
            if slot >= most:
                return False
            if await self._database.change(insert, *values, slot):
                return True

    async def _change_audited(self, audit: AuditEntry | None, sql: str, *args: Value) -> bool:
        """Run a write and log it, in one transaction; return whether it changed a row."""

        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(sql, *args)
            if rows:
                await append_audit(transaction, audit)
            return bool(rows)

        return await self._database.transact(body)


async def append_audit(transaction: Transaction, entry: AuditEntry | None) -> None:
    """Append an entry in the transaction of the change itself; None appends nothing."""
    if entry is not None:
        encode = msgspec.json.encode
        texts = (encode(entry.actor).decode(), entry.event, encode(entry.details).decode())
        sql = "INSERT INTO audit_log (id, at_ms, actor, event, details) VALUES (?, ?, ?, ?, ?)"
        await transaction.fetch(sql, entry.id, entry.at_ms, *texts)


@lru_cache(maxsize=256)
def numbered(sql: str) -> str:
    """Return `sql` with `$1`, `$2`, ... for its `?`, as PostgreSQL requires.

    No literal in our SQL contains a question mark, so the text is not parsed.
    """
    first, *rest = sql.split("?")
    return first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))
