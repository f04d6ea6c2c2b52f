"""What the repositories need from a database: the same few calls on SQLite and PostgreSQL.

SQL is written once, in the common part of both, with `?` for arguments. Every call raises
quietswap.ports.stores.StoreDown when there is no answer within the database's bound.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar

Value = str | int | bytes | None
Row = Sequence[Any]
"""One row, its columns in the order of the SELECT or RETURNING list."""

T = TypeVar("T")


class Transaction(Protocol):
    """An open transaction: what its body may use, and nothing else may be awaited in it."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one statement and return its rows (none without RETURNING)."""


Body = Callable[[Transaction], Coroutine[Any, Any, T]]
"""The work of one transaction. It must not depend on anything it did in an earlier attempt."""


class Database(Protocol):
    """A database that is opened once and closed once, on one event loop."""

    @property
    def dialect(self) -> str:
        """Return `sqlite` or `postgresql`."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Read: one statement sees one snapshot."""

    async def scan(self, sql: str, *args: Value) -> Sequence[Row]:
        """Read a result that may be long, without holding up the event loop."""

    async def change(self, sql: str, *args: Value, durable: bool = True) -> Sequence[Row]:
        """Write by one statement and return what it says after RETURNING, once committed.

        `durable` as in `transact`.
        """

    async def transact(self, body: Body[T], *, bounded: bool = True, durable: bool = True) -> T:
        """Run `body` in one transaction and return its result, once committed.

        Unbounded it may last as long as it likes: migrations do. What need not be `durable` a power
        cut may take back, though nothing else can: an embedded database then waits for no disk.

        Any exception of the body rolls back and comes out unchanged. StoreDown at the very end can
        leave it open whether the database had committed: only a look afterwards tells.
        """

    async def has_table(self, name: str) -> bool:
        """Return whether the schema has this table."""

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""


@lru_cache(maxsize=256)
def numbered(sql: str) -> str:
    """Return `sql` with its `?` marks as PostgreSQL's `$1`, `$2`, and so on.

    No literal of ours contains a question mark, so the text need not be parsed.
    """
    first, *rest = sql.split("?")
    return first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))
