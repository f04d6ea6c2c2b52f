"""Schema migrations: numbered SQL files (`migrations/0001_first.sql` and so on).

Each file runs once, in one transaction with the row that records it. If several processes start at
the same time, one of them runs it.

A step whose file begins with `-- expands` leaves everything as it was for the release before, which
may run, and be started again, on the new schema. Such steps are recorded in `schema_expansions`,
which a release does not compare with what it knows; all others in `schema_version`.

In a PostgreSQL with data a step takes its locks within `_LOCK_S` or gives them up and tries again,
so that no request waits behind it for longer. Its indexes are built afterwards, concurrently.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Database, LockTimeout, Transaction

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_ONLY = {"sqlite": "-- sqlite:", "postgresql": "-- postgresql:"}
_EXPANDS = "-- expands"
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+)")
_NEW_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")
_LOCK_S = 1
_LOCK_TRIES = 120
_PAUSE_S = 1.0
_LOCK = 0x7175_6965_7473
"""Number of the advisory lock for one migration at a time: `quiets` in ASCII."""

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TEXT NOT NULL
)
"""
_EXPANSIONS = """
CREATE TABLE IF NOT EXISTS schema_expansions (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TEXT NOT NULL
)
"""
_PENDING = "CREATE TABLE IF NOT EXISTS schema_indexes (statement TEXT PRIMARY KEY)"
"""Indexes of recorded steps that are not built yet."""
_APPLIED = "(version, name, applied_at) VALUES (?, ?, CAST(CURRENT_TIMESTAMP AS TEXT))"


class SchemaTooNew(Exception):
    """A later release migrated the database. This release could damage it."""


class SchemaTooOld(Exception):
    """The database needs `quietswap migrate`."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: `version` counts from 1 without gaps."""

    version: int
    name: str
    text: str

    @property
    def expands(self) -> bool:
        """Return whether the release before runs on the schema after this step."""
        return self.text.startswith(_EXPANDS)

    def statements(self, dialect: str) -> list[str]:
        """Return its statements for `sqlite` or `postgresql`.

        A statement ends with a semicolon at the end of a line. A line that starts with
        `-- postgresql:` or `-- sqlite:` is SQL for that database only. Other comments are removed.
        """
        lines = []
        for line in self.text.splitlines():
            text = line.removeprefix(_ONLY[dialect])
            if not text.lstrip().startswith("--"):
                lines.append(text)
        parts = re.split(r";[ \t]*$", "\n".join(lines), flags=re.MULTILINE)
        return [part.strip() for part in parts if part.strip()]


@cache
def known() -> tuple[Migration, ...]:
    """Return all steps of this release, in order."""
    files = resources.files("quietswap.service.storage").joinpath("migrations").iterdir()
    steps = (
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in files
        if (match := _FILE.fullmatch(file.name))
    )
    return tuple(sorted(steps, key=lambda step: step.version))


async def current_version(database: Database) -> int:
    """Return the schema's version; 0 without our tables. PostgreSQL may have those of others.

    Expansions of a later release do not count.
    """
    version = await _newest(database, "schema_version")
    expanded = await _newest(database, "schema_expansions") if version else 0
    return max(version, min(expanded, known()[-1].version))


async def _newest(database: Database, table: str) -> int:
    if not await database.has_table(table):
        return 0
    rows = await database.fetch(f"SELECT COALESCE(MAX(version), 0) FROM {table}")  # noqa: S608
    return int(rows[0][0])


async def check(database: Database) -> None:
    """Check the schema version. Raises SchemaTooNew and SchemaTooOld."""
    version = await current_version(database)
    latest = known()[-1].version
    if version > latest:
        raise SchemaTooNew(
            f"the database has schema {version}, this release knows {latest}: use a newer release"
        )
    if version < latest:
        raise SchemaTooOld(
            f"the database has schema {version}, this release needs {latest}: run quietswap migrate"
        )
    if await _has_pending(database):
        raise SchemaTooOld("the database lacks indexes of its schema: run quietswap migrate")


async def migrate(database: Database, steps: Sequence[Migration] | None = None) -> list[str]:
    """Run the missing migrations and return their names, oldest first.

    Raises SchemaTooNew without a change of the schema. A failed migration does not undo the ones
    before it. An empty database gets all of them in one transaction: another process sees no
    schema, or this one.
    """
    start = await current_version(database)
    ahead = [step for step in (known() if steps is None else steps) if step.version > start]
    groups = [ahead] if start == 0 else [[step] for step in ahead]
    applied = []
    for group in groups:
        applied += await _patiently(database, group, in_use=start > 0)
        await _build_indexes(database)
    if not groups:
        await _build_indexes(database)
    if steps is None:
        await check(database)
    return applied


async def _patiently(database: Database, steps: Sequence[Migration], *, in_use: bool) -> list[str]:
    """Apply steps; where requests use the tables, give waiting locks up and try again."""
    for _ in range(_LOCK_TRIES):
        try:
            return await _apply(database, steps, in_use=in_use and database.dialect == "postgresql")
        except LockTimeout:
            await asyncio.sleep(_PAUSE_S)
    raise StoreUnavailable(
        f"PostgreSQL: a lock for {steps[0].name} was not free within {_LOCK_TRIES} tries: see"
        " pg_stat_activity for transactions that stay open"
    )


async def _apply(database: Database, steps: Sequence[Migration], *, in_use: bool) -> list[str]:
    """Run steps in one transaction, without those that another process ran before."""

    async def body(transaction: Transaction) -> list[str]:
        if database.dialect == "postgresql":
            await transaction.fetch("SELECT pg_advisory_xact_lock(?)", _LOCK)
        if in_use:
            await transaction.fetch(f"SET LOCAL lock_timeout = '{_LOCK_S}s'")
        tables = ("schema_version", _TABLE), ("schema_expansions", _EXPANSIONS)
        for _, create in tables:
            await transaction.fetch(create)
        lasts = [
            (await transaction.fetch(f"SELECT COALESCE(MAX(version), 0) FROM {table}"))[0][0]  # noqa: S608
            for table, _ in tables
        ]
        missing = [step for step in steps if step.version > max(lasts)]
        for step in missing:
            await _run(transaction, step, in_use=in_use)
        return [f"{step.version:04}_{step.name}" for step in missing]

    return await database.transact(body, bounded=False)


async def _run(transaction: Transaction, step: Migration, *, in_use: bool) -> None:
    statements = step.statements(transaction.dialect)
    new = {match[1] for text in statements if (match := _NEW_TABLE.match(text))}
    for text in statements:
        later = in_use and _INDEX.match(text) and not any(f" ON {table} " in text for table in new)
        if later:
            await transaction.fetch(_PENDING)
            sql = "INSERT INTO schema_indexes (statement) VALUES (?) ON CONFLICT DO NOTHING"
            await transaction.fetch(sql, text)
        else:
            await transaction.fetch(text)
    table = "schema_expansions" if step.expands else "schema_version"
    await transaction.fetch(f"INSERT INTO {table} {_APPLIED}", step.version, step.name)


_TO_BUILD = "SELECT statement FROM schema_indexes ORDER BY statement"


async def _has_pending(database: Database) -> bool:
    is_possible = database.dialect == "postgresql" and await database.has_table("schema_indexes")
    return is_possible and bool(await database.fetch(_TO_BUILD))


async def _build_indexes(database: Database) -> None:
    """Build what steps have left to do, while others read and write the tables.

    An index whose building was interrupted is there and invalid, so it is dropped first.
    """

    async def build(session: Transaction) -> None:
        for [statement] in await session.fetch(_TO_BUILD):
            match = _INDEX.match(statement)
            assert match is not None
            name = match[1]
            await session.fetch(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            concurrently = f"INDEX CONCURRENTLY {name}"
            await session.fetch(statement.replace(f"INDEX {name}", concurrently, 1))
            await session.fetch("DELETE FROM schema_indexes WHERE statement = ?", statement)

    if await _has_pending(database):
        await database.alone(_LOCK, build)
