"""Reads of one moment are one statement of SQLite."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from quietswap.orders.stores import StoreUnavailable
from quietswap.storage.database import BatchedRead, Row, Value
from quietswap.storage.sqlite.database import SqliteDatabase

SUMS = BatchedRead(
    one="SELECT a + ?1 FROM t",
    many="",
    many_as_json="""
SELECT json_group_array(json_array(w.key, t.a + json_extract(w.value, '$[0]')))
FROM json_each(?) w CROSS JOIN t
""",
)


async def test_reads_of_one_moment_are_one_statement(database: SqliteDatabase) -> None:
    await database.change("INSERT INTO t VALUES (10), (20)")
    statements: list[str] = []
    plain = database._reader.fetch

    async def fetch(sql: str, args: Sequence[Value]) -> Sequence[Row]:
        statements.append(sql)
        return await plain(sql, args)

    database._reader.fetch = fetch  # type: ignore[method-assign]
    found = await asyncio.gather(*(database.look_up(SUMS, value) for value in (1, 2, 1)))
    assert [[row[0] for row in rows] for rows in found] == [[11, 21], [12, 22], [11, 21]]
    assert statements == [SUMS.many_as_json]
    assert [tuple(row) for row in await database.look_up(SUMS, 5)] == [(15,), (25,)]
    assert [tuple(row) for row in await database.look_up(SUMS, 6, alone=True)] == [(16,), (26,)]
    assert statements[1:] == [SUMS.one] * 2


async def test_reads_beyond_the_limit_are_refused_at_once(database: SqliteDatabase) -> None:
    await database.change("INSERT INTO t VALUES (10)")
    reading = [asyncio.ensure_future(database.look_up(SUMS, value)) for value in range(500)]
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="too many reads"):
        await database.look_up(SUMS, 1)
    assert [rows[0][0] for rows in await asyncio.gather(*reading)] == list(range(10, 510))


async def test_reads_of_a_stuck_disk_are_down_in_time(tmp_path: Path) -> None:
    stuck = asyncio.Event()

    async def never(_sql: str, _args: Sequence[Value]) -> Sequence[Row]:
        await stuck.wait()
        raise AssertionError

    hasty = await SqliteDatabase.open(str(tmp_path / "a.db"), patience_s=0.3, waiting=50)
    hasty._reader.fetch = never  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable, match="did not answer a read in time"):
        await hasty.look_up(SUMS, 1)
    await hasty.close()
