"""Copy of a SQLite file into an empty PostgreSQL database.

One transaction contains all rows. The file is not changed.
"""

import asyncio
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage import migrate
from quietswap.service.storage.database import IN_MEMORY, Transaction
from quietswap.service.storage.database_urls import BadDatabaseUrl, is_embedded
from quietswap.service.storage.factory import open_database
from quietswap.service.storage.file_lock import FileLeaderLock
from quietswap.service.storage.sqlite import SqliteDatabase

TABLES = (
    "clients",
    "api_keys",
    "quotes",
    "orders",
    "order_bytes",
    "order_events",
    "order_counts",
    "wallet_rpc_tokens",
    "events",
    "event_counters",
    "webhooks",
    "webhook_deliveries",
    "client_limits",
    "client_usage",
    "web_sessions",
    "audit_log",
    "operators",
    "operator_sessions",
    "paused_sources",
    "operator_figures",
    "service_processes",
    "relay_health",
    "watches",
    "watch_events",
)
_ROWS = 500
"""Rows per INSERT: PostgreSQL takes at most 65 535 arguments per statement."""


class CannotCopy(Exception):
    """The file or the database cannot be copied; the message contains the reason."""


async def copy_storage(source_url: str, target_url: str) -> dict[str, int]:
    """Copy all rows from a SQLite file to an empty PostgreSQL; return the number by table.

    The database and, for an older schema, a copy of the file are migrated first. The file itself is
    not changed: the release that wrote it can still open it. Raises CannotCopy, BadDatabaseUrl,
    StoreUnavailable, SchemaTooNew and ForeignDatabase.
    """
    if not is_embedded(source_url, "--from") or is_embedded(target_url):
        raise BadDatabaseUrl("copying goes from sqlite:///file to a storage.url of postgresql://")
    path = _existing(source_url.removeprefix("sqlite:///"))
    try:
        source = await open_database(source_url)
    except StoreUnavailable as error:
        raise CannotCopy(f"--from: {error}") from error
    locks = [FileLeaderLock(path), FileLeaderLock(path, "server")]
    try:
        if not all([await lock.acquire_or_renew() for lock in locks]):
            raise CannotCopy(f"a process still serves from {path}: stop it first")
        assert isinstance(source, SqliteDatabase)
        if await migrate.current_version(source) == migrate.known()[-1].version:
            return await _fill(source, target_url)
        return await _fill_from_copy(path, target_url)
    finally:
        for lock in locks:
            await lock.release()
        await source.close()


async def _fill_from_copy(source: Path, target_url: str) -> dict[str, int]:
    """Migrate a copy of the source, in a folder beside it, and copy from that."""
    with ExitStack() as stack:
        try:
            place = stack.enter_context(TemporaryDirectory(prefix="quietswap-", dir=source.parent))
            copy = await _migrated_copy(source, Path(place, "copy.sqlite3"))
        except (OSError, sqlite3.Error, StoreUnavailable) as error:
            reason = getattr(error, "strerror", None) or error
            raise CannotCopy(
                f"--from: {source} has an older schema, and no migrated copy of it can be made in "
                f"{source.parent}: {reason}"
            ) from error
        try:
            return await _fill(copy, target_url)
        finally:
            await copy.close()


async def _migrated_copy(source: Path, file: Path) -> SqliteDatabase:
    await asyncio.to_thread(_back_up, source, file)
    copy = await open_database(f"sqlite:///{file}")
    assert isinstance(copy, SqliteDatabase)
    try:
        await migrate.migrate(copy)
    except BaseException:
        await copy.close()
        raise
    return copy


def _back_up(source: Path, file: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(file)) as new:
        old.backup(new)


def _existing(name: str) -> Path:
    """Return the path of an existing file, because `open_database` would create a missing one."""
    path = Path(name)
    if name == IN_MEMORY or not path.is_file():
        raise CannotCopy(f"there is no file {path}")
    return path


async def _fill(source: SqliteDatabase, target_url: str) -> dict[str, int]:
    target = await open_database(target_url, connections=1)

    async def body(transaction: Transaction) -> dict[str, int]:
        for table in TABLES:
            if table == "audit_log":  # the migration of the new database stands there already
                continue
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
    following = f"SELECT rowid, {names} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608
    while rows := await source.fetch(following, last, _ROWS):
        marks = ", ".join([f"({', '.join('?' for _ in columns)})"] * len(rows))
        sql = f"INSERT INTO {table} ({names}) VALUES {marks}"  # noqa: S608
        await transaction.fetch(sql, *(value for _, *row in rows for value in row))
        copied, last = copied + len(rows), rows[-1][0]
    return copied
