"""Processes that start on one SQLite file wait for each other; a full disk is seen."""

import asyncio
import multiprocessing
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage import migrate
from quietswap.service.storage.sqlite import SqliteDatabase
from tests.api.scripted_use_cases import HandClock
from tests.patient import open_storage
from tests.waiting import LONG_S, WITHIN_S

_PROCESSES = 3
_ROUNDS = 20
_ALL = [f"{step.version:04}_{step.name}" for step in migrate.known()]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


@pytest.fixture
def other(file: str) -> Iterator[sqlite3.Connection]:
    """A process that is about to write to the file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


async def test_a_new_file_that_another_process_changes_is_waited_for(
    file: str, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    opening = asyncio.create_task(SqliteDatabase.open(file, patience_s=WITHIN_S, waiting=5))
    await asyncio.sleep(0)
    assert not opening.done()
    other.execute("COMMIT")
    database = await opening
    assert await database.fetch("PRAGMA journal_mode") == [("wal",)]
    await database.close()


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
async def test_a_file_that_stays_locked_cannot_be_opened(
    file: str, other: sqlite3.Connection, lock: str
) -> None:
    other.execute(lock)
    with pytest.raises(StoreUnavailable, match="cannot be opened: database is locked"):
        await SqliteDatabase.open(file, patience_s=0.1, waiting=5)


async def test_a_migration_waits_for_one_that_takes_longer_than_a_call(
    file: str, other: sqlite3.Connection
) -> None:
    patience_s = 0.1
    database = await SqliteDatabase.open(file, patience_s=patience_s, waiting=5)
    other.execute("BEGIN IMMEDIATE")
    migrating = asyncio.create_task(migrate.migrate(database))
    with pytest.raises(StoreUnavailable):
        await database.change("CREATE TABLE t (a BIGINT)")
    done, _ = await asyncio.wait({migrating}, timeout=3 * patience_s)
    assert not done
    other.execute("COMMIT")
    assert await migrating == _ALL
    await database.close()


async def test_a_migration_that_is_stopped_does_not_wait_for_the_lock(
    file: str, other: sqlite3.Connection
) -> None:
    database = await SqliteDatabase.open(file, patience_s=0.1, waiting=5)
    other.execute("BEGIN IMMEDIATE")
    migrating = asyncio.create_task(migrate.migrate(database))
    await asyncio.sleep(0)
    migrating.cancel()
    await asyncio.wait({migrating})
    async with asyncio.timeout(WITHIN_S):
        await database.close()
    other.execute("COMMIT")
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_processes_that_create_a_file_together_all_use_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    together = context.Barrier(_PROCESSES)
    files = [str(tmp_path / f"{number}.db") for number in range(_ROUNDS)]
    processes = [context.Process(target=_use, args=(files, together)) for _ in range(_PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(LONG_S)
    assert [process.exitcode for process in processes] == [0] * _PROCESSES


def _use(files: list[str], together: Barrier) -> None:
    async def use(file: str) -> None:
        database = await SqliteDatabase.open(file, patience_s=WITHIN_S, waiting=5)
        await migrate.migrate(database)
        await database.close()

    try:
        for file in files:
            together.wait(LONG_S)
            asyncio.run(use(file))
    except StoreUnavailable:
        together.abort()  # the other processes end, too
        raise


async def test_a_full_disk_is_away_for_the_probe(file: str) -> None:
    """An UPDATE that changes nothing writes no page, and so passes on a full disk."""
    storage = await open_storage(f"sqlite:///{file}", clock=HandClock())
    await storage.ping()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
    try:
        with pytest.raises(StoreUnavailable, match="SQLite did not commit"):
            await storage.ping()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    await storage.ping()
    await storage.close()
