"""Writes that need not wait for the disk are made on the event loop, and never stop it."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Transaction
from quietswap.service.storage.sqlite import SqliteDatabase
from quietswap.service.storage.sqlite_connection import connect
from quietswap.service.storage.sqlite_loop_writer import CHECKPOINT_EVERY
from quietswap.service.storage.sqlite_writer_thread import SqliteWriterThread
from tests.waiting import WITHIN_S

_LONG = "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) "
_LONG += "SELECT i FROM n"
_MANY = 100_000
"""Rows of a write that takes longer than the loop has time for."""


async def add(transaction: Transaction, value: int = 1) -> int:
    await transaction.fetch("INSERT INTO t VALUES (?)", value)
    return value


async def on_loop(database: SqliteDatabase, *, durable: bool = False, bounded: bool = True) -> bool:
    """Return whether a write is complete without another turn of the loop."""
    [[number]] = await database.fetch("SELECT COALESCE(MAX(a), 0) + 1 FROM t")

    async def body(transaction: Transaction) -> int:
        return await add(transaction, number)

    writing = asyncio.ensure_future(database.transact(body, durable=durable, bounded=bounded))
    await asyncio.sleep(0)
    done = writing.done()
    assert await writing == number
    assert (await database.fetch("SELECT MAX(a) FROM t")) == [(number,)]
    return done


async def test_only_what_may_be_lost_and_is_short_is_written_there(
    database: SqliteDatabase,
) -> None:
    assert await on_loop(database)
    assert not await on_loop(database, durable=True)
    assert not await on_loop(database, bounded=False)


async def test_a_locked_file_is_waited_for_in_the_thread(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    with closing(connect(tmp_path / "a.db", 0)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.ensure_future(database.transact(add, durable=False))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not writing.done(), "the loop goes on: only then can the lock be released here"
        other.execute("COMMIT")
        assert await writing == 1
    assert await on_loop(database)


async def test_the_loop_waits_for_neither_lock_nor_disk(database: SqliteDatabase) -> None:
    async def settings(transaction: Transaction) -> list[int]:
        names = ("busy_timeout", "wal_autocheckpoint", "synchronous")
        return [(await transaction.fetch(f"PRAGMA {name}"))[0][0] for name in names]

    assert await on_loop(database)
    normal = 1
    assert await database.transact(settings, durable=False) == [0, 0, normal]


async def test_the_thread_is_idle_when_its_results_are_delivered(tmp_path: Path) -> None:
    """A write that it has taken may wait for a lock. One on the loop would overtake it."""
    thread = SqliteWriterThread(connect(tmp_path / "a.db", 0), asyncio.get_running_loop(), 5)
    held, gate = threading.Event(), threading.Event()

    async def hold(_: Transaction) -> None:
        held.set()
        assert gate.wait(WITHIN_S)

    thread.start()
    try:
        assert thread.is_idle
        first = thread.submit(hold)
        assert await asyncio.to_thread(held.wait, WITHIN_S)
        assert not thread.is_idle, "its queue is empty"
        thread.submit(hold).cancel()
        gate.set()
        await first
        await thread.submit(hold)
        assert thread.is_idle
    finally:
        gate.set()
        await asyncio.to_thread(thread.stop)
    assert not thread.is_idle


async def test_it_is_written_after_what_waits(database: SqliteDatabase) -> None:
    held, gate = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def hold(_: Transaction) -> None:
        loop.call_soon_threadsafe(held.set)
        assert asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(WITHIN_S)

    async def newest(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.fetch("SELECT a FROM t")]

    first = asyncio.ensure_future(database.transact(hold))
    await held.wait()
    second = asyncio.ensure_future(database.transact(add))
    third = asyncio.ensure_future(database.transact(newest, durable=False))
    await asyncio.sleep(0)
    assert not third.done()
    gate.set()
    assert await asyncio.gather(first, second, third) == [None, 1, [1]]


async def test_a_long_one_is_undone_and_repeated_in_the_thread(database: SqliteDatabase) -> None:
    tries = 0

    async def long(transaction: Transaction) -> int:
        nonlocal tries
        tries += 1
        await add(transaction, 0)
        await transaction.fetch(_LONG, _MANY)
        return tries

    writing = asyncio.ensure_future(database.transact(long, durable=False))
    await asyncio.sleep(0)
    assert not writing.done()
    assert await writing == 2
    assert await database.fetch("SELECT COUNT(*), MAX(a) FROM t") == [(_MANY + 1, _MANY)]


class Refused(Exception):
    """What a body may raise."""


async def test_a_body_that_fails_leaves_nothing(database: SqliteDatabase) -> None:
    async def refused(transaction: Transaction) -> None:
        await add(transaction)
        raise Refused

    async def twice(transaction: Transaction) -> None:
        await add(transaction)
        await add(transaction)

    async def wrong(transaction: Transaction) -> None:
        await add(transaction)
        await transaction.fetch("INSERT INTO nowhere VALUES (1)")

    async def waits(transaction: Transaction) -> None:
        await add(transaction)
        await asyncio.sleep(0)

    for body, error in (
        (refused, Refused),
        (twice, sqlite3.IntegrityError),
        (wrong, sqlite3.OperationalError),
        (waits, RuntimeError),
    ):
        with pytest.raises(error):
            await database.transact(body, durable=False)
        assert await database.fetch("SELECT a FROM t") == []
    assert await on_loop(database)


async def test_a_closed_database_takes_none(tmp_path: Path) -> None:
    database = await SqliteDatabase.open(str(tmp_path / "b.db"), patience_s=WITHIN_S, waiting=5)
    await database.change("CREATE TABLE t (a BIGINT)")
    await database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.transact(add, durable=False)


async def test_one_while_it_closes_is_written(tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    database = await SqliteDatabase.open(str(path), patience_s=WITHIN_S, waiting=5)
    await database.change("CREATE TABLE t (a BIGINT)")
    gate = threading.Event()
    with ThreadPoolExecutor(1) as busy:
        busy.submit(gate.wait, WITHIN_S)
        asyncio.get_running_loop().set_default_executor(busy)
        closing_it = asyncio.ensure_future(database.close())
        await asyncio.sleep(0)
        try:
            assert await database.transact(add, durable=False) == 1
        finally:
            gate.set()
            await closing_it
    with closing(connect(path, 0)) as connection:
        assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]


async def test_the_wal_does_not_grow_for_ever(database: SqliteDatabase, tmp_path: Path) -> None:
    """Without the thread it would hold every page that was ever written: 40 MB."""

    async def large(transaction: Transaction) -> None:
        await transaction.fetch("INSERT INTO big VALUES (?)", bytes(10_000))

    await database.change("CREATE TABLE big (b BLOB)")
    for _ in range(20 * CHECKPOINT_EVERY):
        await database.transact(large, durable=False)
    assert (tmp_path / "a.db-wal").stat().st_size < 12_000_000
    assert await database.fetch("SELECT COUNT(*) FROM big") == [(20 * CHECKPOINT_EVERY,)]
