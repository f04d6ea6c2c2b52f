"""Every test that asks for `storage`, `empty_database` or `watched` runs on both databases."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from quietswap.service.storage.database import Database
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.sqlite import SqliteDatabase
from tests.databases import PostgresCluster, RedisServer
from tests.patient import open_database, open_storage
from tests.storage.examples import HandClock
from tests.storage.watched import Watched
from tests.waiting import WITHIN_S


@pytest.fixture(scope="package")
def postgres() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


@pytest.fixture(scope="package")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with the current schema (SQLite: not created yet)."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/quietswap.db"
    return await request.getfixturevalue("postgres").migrated()


@pytest.fixture(params=["sqlite", "postgresql"])
async def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/empty.db"
    return await request.getfixturevalue("postgres").empty()


@pytest.fixture
async def storage(url: str, clock: HandClock) -> AsyncIterator[Storage]:
    """The stores, with a patience that a busy machine does not exhaust."""
    storage = await open_storage(url, clock=clock)
    yield storage
    await storage.close()


@pytest.fixture
async def other(url: str, storage: Storage, clock: HandClock) -> AsyncIterator[Storage]:
    """The stores of another process on the same database."""
    found = await open_storage(url, clock=clock)
    yield found
    await found.close()


@pytest.fixture
async def empty_database(empty_url: str) -> AsyncIterator[Database]:
    database = await open_database(empty_url)
    yield database
    await database.close()


@pytest.fixture
async def watched(url: str, clock: HandClock) -> AsyncIterator[Watched]:
    # A SQLite file gets its schema here.
    await (await open_storage(url, clock=clock)).close()
    database = Watched(await open_database(url))
    yield database
    await database.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    """SQLite with the table `t`."""
    database = await SqliteDatabase.open(str(tmp_path / "a.db"), patience_s=WITHIN_S, waiting=50)
    await database.change("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    # A file that lacks this table is one of another program.
    await database.change("CREATE TABLE schema_version (version INT, name TEXT, applied_at TEXT)")
    yield database
    await database.close()
