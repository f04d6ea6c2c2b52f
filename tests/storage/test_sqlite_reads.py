"""What stops a SQLite read does not stop the event loop."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.loop_time import IN_THREADS_S, SLOW_S
from quietswap.service.storage.sqlite_connection import connect
from quietswap.service.storage.sqlite_reader import SqliteReader
from tests.storage.examples import HandClock
from tests.waiting import WITHIN_S

_COUNT = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) "
_LONG = _COUNT + "SELECT SUM(i) FROM n"
_MANY = 100_000
"""Rows of a read that takes longer than the loop has time for."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with closing(connect(path, 0)) as connection:
        connection.execute("CREATE TABLE t (a BIGINT)")
        connection.execute("INSERT INTO t VALUES (7)")
    return path


class Monotonic:
    """A clock of which each look may take a while."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.look_takes_s = 0.0

    def __call__(self) -> float:
        self.clock.ms += round(1000 * self.look_takes_s)
        return self.clock.monotonic()


@pytest.fixture
def monotonic() -> Monotonic:
    return Monotonic()


@pytest.fixture
async def reader(file: Path, monotonic: Monotonic) -> AsyncIterator[SqliteReader]:
    found = SqliteReader(
        file,
        patience_s=WITHIN_S,
        waiting=2,
        lock_wait_ms=round(1000 * WITHIN_S),
        monotonic=monotonic,
    )
    yield found
    found.close()


async def on_loop(reader: SqliteReader) -> bool:
    """Return whether a read is complete without another turn of the loop."""
    reading = asyncio.ensure_future(reader.fetch("SELECT a FROM t", ()))
    await asyncio.sleep(0)
    done = reading.done()
    assert [tuple(row) for row in await reading] == [(7,)]
    return done


async def test_a_locked_file_is_waited_for_in_a_thread(file: Path, reader: SqliteReader) -> None:
    assert await on_loop(reader)
    with locked(file):
        reading = asyncio.ensure_future(reader.fetch("SELECT a FROM t", ()))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not reading.done()
    assert [tuple(row) for row in await reading] == [(7,)]
    assert await on_loop(reader)


async def test_a_file_that_stays_locked_is_away(file: Path) -> None:
    reader = SqliteReader(file, patience_s=WITHIN_S, waiting=2, lock_wait_ms=1)
    with locked(file), pytest.raises(StoreUnavailable, match="locked"):
        await reader.fetch("SELECT a FROM t", ())
    reader.close()


async def test_a_writer_is_never_waited_for(file: Path, reader: SqliteReader) -> None:
    writer = connect(file, 0)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO t VALUES (8)")
    assert await on_loop(reader)
    writer.execute("ROLLBACK")
    writer.close()


async def test_a_long_read_goes_on_in_a_thread(reader: SqliteReader) -> None:
    reading = asyncio.ensure_future(reader.fetch(_LONG, (_MANY,)))
    await asyncio.sleep(0)
    assert not reading.done()
    assert await on_loop(reader)
    assert [tuple(row) for row in await reading] == [(_MANY * (_MANY + 1) // 2,)]


async def test_many_short_reads_are_no_long_one(reader: SqliteReader) -> None:
    for _ in range(300):
        reading = asyncio.ensure_future(reader.fetch(_LONG, (100,)))
        await asyncio.sleep(0)
        assert reading.done()
        await reading


async def test_after_a_slow_read_threads_read_for_a_while(
    reader: SqliteReader, monotonic: Monotonic
) -> None:
    monotonic.look_takes_s = SLOW_S + 0.001
    assert await on_loop(reader), "nobody knows before"
    monotonic.look_takes_s = 0
    assert not await on_loop(reader)
    monotonic.clock.ms += round(1000 * IN_THREADS_S)
    assert await on_loop(reader), "one read tries the disk again"
    assert await on_loop(reader)


async def test_reads_that_wait_for_the_threads_are_bounded(
    reader: SqliteReader, file: Path
) -> None:
    with locked(file):
        reading = [asyncio.ensure_future(reader.fetch("SELECT a FROM t", ())) for _ in range(9)]
        done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        refused = await asyncio.gather(*done, return_exceptions=True)
        assert all("too many reads" in str(error) for error in refused)
    results = await asyncio.gather(*reading, return_exceptions=True)
    assert all(isinstance(one, StoreUnavailable) or one == [(7,)] for one in results)
    assert [(7,)] in results


async def test_our_own_fault_is_not_the_disks(reader: SqliteReader) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await reader.fetch("SELECT a FROM nowhere", ())
    with pytest.raises(StoreUnavailable, match="readonly"):
        await reader.fetch("INSERT INTO t VALUES (9)", ())


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Lock the file for the length of a `with` block.

    With WAL a reader meets a lock only during a recovery. Without it, any writer may lock it.
    """
    with closing(connect(file, 0)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")
