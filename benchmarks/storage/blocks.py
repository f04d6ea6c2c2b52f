"""Blocks that an insert writes to SQLite's log: a commit's cost without the time of the disk."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.storage import calls
from benchmarks.storage.calls import Side
from benchmarks.storage.figures import timed
from quietswap.service.storage.sqlite import SqliteDatabase

_ORDERS, _ROUNDS = 48, 9
_FRAME_BYTES = 4_096 + 24
"""A block in the log, with its header (https://www.sqlite.org/fileformat.html#the_write_ahead_log)."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Median blocks that one insert writes, with `at_once` callers."""

    at_once: int
    small: float
    large: float


async def inserted_blocks(small: Side, large: Side, at_once: int) -> Blocks:
    """Count the blocks of both databases."""
    return Blocks(at_once, await _median(small, at_once), await _median(large, at_once))


async def _median(side: Side, at_once: int) -> float:
    database = side.storage.database
    assert isinstance(database, SqliteDatabase)
    log = Path(f"{database.path}-wal")
    found = []
    with closing(sqlite3.connect(database.path)) as connection:
        for _ in range(_ROUNDS):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            before = _size(log)
            await timed(calls.inserts(side, _ORDERS), at_once)
            found.append((_size(log) - before) / _FRAME_BYTES / _ORDERS)
    return median(found)


def _size(file: Path) -> int:
    return file.stat().st_size
