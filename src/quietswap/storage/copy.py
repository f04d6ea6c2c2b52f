"""From one SQLite file to an empty PostgreSQL: for the day on which the file is outgrown.

All or nothing: one transaction holds every row, and the file is left as it was.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from quietswap.ports.stores import StoreDown
from quietswap.storage import migrate
from quietswap.storage.database import Database, Row, Transaction
from quietswap.storage.leader import FileLead
from quietswap.storage.open import BadDatabaseUrl, is_embedded, open_database
from quietswap.storage.sqlite import IN_MEMORY, SqliteDatabase

TABLES = ("api_keys", "quotes", "orders", "order_bytes", "order_events", "order_counts")
_ROWS = 500
"""Rows of one INSERT: PostgreSQL takes at most 65 535 arguments in one statement."""


class CannotCopy(Exception):
    """The file or the database is not in a state to be copied; the message says why."""


async def copy_storage(source_url: str, target_url: str) -> dict[str, int]:
    """Copy everything from a SQLite file into a PostgreSQL without rows; return rows by table.

    Both are brought to this release's schema first. Raises CannotCopy, BadDatabaseUrl, StoreDown
    and SchemaTooNew.
    """
    if not is_embedded(source_url, "--from") or is_embedded(target_url):
        raise BadDatabaseUrl("copying goes from sqlite:///file to a storage.url of postgresql://")
    path = _existing(source_url.removeprefix("sqlite:///"))
    try:
        source = await open_database(source_url)
    except StoreDown as error:
        raise CannotCopy(f"--from: {error}") from error
    locks = [FileLead(path), FileLead(path, "server")]
    try:
        if not all([await lock.hold() for lock in locks]):
            raise CannotCopy(f"a process still serves from {path}: stop it first")
        await migrate.migrate(source)
        assert isinstance(source, SqliteDatabase)
        return await _fill(source, target_url)
    finally:
        for lock in locks:
            await lock.release()
        await source.close()


def _existing(name: str) -> Path:
    """Return the path of a file: opening a missing one would make it."""
    path = Path(name)
    if name == IN_MEMORY or not path.is_file():
        raise CannotCopy(f"there is no file {path}")
    return path


async def _fill(source: SqliteDatabase, target_url: str) -> dict[str, int]:
    target = await open_database(target_url, connections=1)

    async def body(transaction: Transaction) -> dict[str, int]:
        for table in TABLES:
            if await transaction.fetch(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608
                raise CannotCopy(f"the new database is not empty: {table} has rows")
        return {table: await _copy(source, transaction, table) for table in TABLES}

    try:
        await migrate.migrate(target)
        return await target.transact(body, bounded=False)
    finally:
        await target.close()


async def _copy(source: SqliteDatabase, transaction: Transaction, table: str) -> int:
    columns = [row[1] for row in await source.fetch(f"PRAGMA table_info({table})")]
    names, copied, last = ", ".join(columns), 0, 0
    while rows := await _after(source, table, names, last):
        marks = ", ".join([f"({', '.join('?' for _ in columns)})"] * len(rows))
        await transaction.fetch(
            f"INSERT INTO {table} ({names}) VALUES {marks}",  # noqa: S608
            *_values(rows),
        )
        copied, last = copied + len(rows), rows[-1][0]
    return copied


async def _after(source: Database, table: str, names: str, last: int) -> Sequence[Row]:
    """Return the next rows in the order they lie in the file, each with its place before it."""
    sql = f"SELECT rowid, {names} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608
    return await source.fetch(sql, last, _ROWS)


def _values(rows: Sequence[Row]) -> Iterator[str | int | bytes | None]:
    for row in rows:
        yield from row[1:]
