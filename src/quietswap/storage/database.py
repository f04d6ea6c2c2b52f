"""Common interface of SQLite and PostgreSQL.

SQL is written once, in the common subset of both, with `?` for arguments. Every call raises
quietswap.ports.stores.StoreUnavailable if there is no response within the time limit.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar

Value = str | int | bytes | None
Row = Sequence[Any]
"""One row; its columns have the order of the SELECT or RETURNING list."""

T = TypeVar("T")

IN_MEMORY = ":memory:"
"""The path of a SQLite URL that names no file."""


class ForeignDatabase(Exception):
    """The SQLite file belongs to another program."""


class Transaction(Protocol):
    """An open transaction. Its body may await only its `fetch`."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one statement and return its rows (empty without RETURNING)."""


Body = Callable[[Transaction], Coroutine[Any, Any, T]]
"""The work of one transaction. It must not depend on an earlier attempt."""


@dataclass(frozen=True, slots=True)
class BatchedRead:
    """A short read that concurrent calls share: one statement answers them all.

    `one` is SQLite's statement of one call. `many` is PostgreSQL's: it takes an array for each
    argument, with an element for each call, and returns the rows of all calls. The number of the
    call, as WITH ORDINALITY counts, stands before the other columns.

    `many_as_json` is SQLite's: it takes a JSON array with an array of arguments for each call, and
    returns one JSON array of rows, in one row. The index of the call stands before the other
    columns. Without it SQLite answers each call alone.
    """

    one: str
    many: str
    at_once: int = 256
    """Most calls of one statement."""
    many_as_json: str | None = None


class Database(Protocol):
    """A database, opened once and closed once on one event loop."""

    @property
    def dialect(self) -> str:
        """Return `sqlite` or `postgresql`."""

    async def fetch(self, sql: str, *args: Value) -> Sequence[Row]:
        """Run one read statement on one snapshot."""

    async def look_up(self, read: BatchedRead, *args: Value, alone: bool = False) -> Sequence[Row]:
        """Run a read on a snapshot that is not older than the call; `alone` in no batch."""

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

    async def close(self) -> None:
        """Finish accepted work and close the connections."""


@lru_cache(maxsize=256)
def numbered(sql: str) -> str:
    """Return `sql` with `$1`, `$2`, ... for its `?`, as PostgreSQL requires.

    No literal in our SQL contains a question mark, so the text is not parsed.
    """
    first, *rest = sql.split("?")
    return first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))
