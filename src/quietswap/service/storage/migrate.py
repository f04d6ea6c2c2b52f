"""Schema migrations: numbered SQL files (`migrations/0001_first.sql` and so on).

Each file runs once, in one transaction with its row in `schema_version`. If several processes start
at the same time, one of them runs it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from quietswap.service.storage.database import Database, Transaction

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_ONLY = {"sqlite": "-- sqlite:", "postgresql": "-- postgresql:"}
_LOCK = 0x7175_6965_7473
"""Number of the advisory lock for one migration at a time: `quiets` in ASCII."""

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (
    version BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at TEXT NOT NULL
)
"""
_APPLIED = """
INSERT INTO schema_version (version, name, applied_at)
VALUES (?, ?, CAST(CURRENT_TIMESTAMP AS TEXT))
"""


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
    """Return the schema's version; 0 without our tables. PostgreSQL may have those of others."""
    if not await database.has_table("schema_version"):
        return 0
    rows = await database.fetch("SELECT COALESCE(MAX(version), 0) FROM schema_version")
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


async def migrate(database: Database, steps: Sequence[Migration] | None = None) -> list[str]:
    """Run the missing migrations and return their names, oldest first.

    Raises SchemaTooNew without a change of the schema. A failed migration does not undo the ones
    before it. An empty database gets all of them in one transaction: another process sees no
    schema, or this one.
    """
    start = await current_version(database)
    ahead = [step for step in (known() if steps is None else steps) if step.version > start]
    groups = [ahead] if start == 0 else [[step] for step in ahead]
    taken = [name for group in groups for name in await _apply(database, group)]
    if steps is None:
        await check(database)
    return taken


async def _apply(database: Database, steps: Sequence[Migration]) -> list[str]:
    """Run steps in one transaction, without those that another process ran before."""

    async def body(transaction: Transaction) -> list[str]:
        if database.dialect == "postgresql":
            await transaction.fetch("SELECT pg_advisory_xact_lock(?)", _LOCK)
        await transaction.fetch(_TABLE)
        [[last]] = await transaction.fetch("SELECT COALESCE(MAX(version), 0) FROM schema_version")
        missing = [step for step in steps if step.version > last]
        for step in missing:
            for statement in step.statements(database.dialect):
                await transaction.fetch(statement)
            await transaction.fetch(_APPLIED, step.version, step.name)
        return [f"{step.version:04}_{step.name}" for step in missing]

    return await database.transact(body, bounded=False)
