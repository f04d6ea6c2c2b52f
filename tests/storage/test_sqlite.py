"""What only SQLite has: a file, one writer thread, groups of commits."""

import asyncio
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.orders.stores import DuplicateTransaction, StoreUnavailable
from quietswap.service.storage import sqlite as database_module
from quietswap.service.storage.database import Transaction
from quietswap.service.storage.sqlite import SqliteDatabase
from tests.patient import open_storage
from tests.storage.examples import WALLET, HandClock, an_event, an_order
from tests.waiting import WITHIN_S


@pytest.fixture
async def hasty(database: SqliteDatabase, tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    """The same file, through a process that soon gives a write up."""
    found = await SqliteDatabase.open(str(tmp_path / "a.db"), patience_s=0.3, waiting=50)
    yield found
    await found.close()


async def _insert(database: SqliteDatabase, value: int) -> None:
    await database.change("INSERT INTO t VALUES (?)", value)


async def test_commits_wait_for_the_disk_unless_they_need_not(database: SqliteDatabase) -> None:
    async def pragmas(transaction: Transaction) -> tuple[int, str]:
        full = await transaction.fetch("PRAGMA synchronous")
        mode = await transaction.fetch("PRAGMA journal_mode")
        return full[0][0], mode[0][0]

    assert await database.transact(pragmas) == (2, "wal")
    assert await database.transact(pragmas, durable=False) == (1, "wal")
    together = [database.transact(pragmas, durable=n == 5) for n in range(10)]
    assert (2, "wal") in await asyncio.gather(*together), "one that waits makes its group wait"
    assert await database.transact(pragmas) == (2, "wal")


def _modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


async def test_the_file_is_its_owners_alone(database: SqliteDatabase, tmp_path: Path) -> None:
    await _insert(database, 1)
    assert _modes(tmp_path) == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}


async def test_writes_that_wait_share_one_commit(database: SqliteDatabase) -> None:
    gate = threading.Event()
    sizes: list[int] = []

    async def hold(_: Transaction) -> None:
        gate.wait(WITHIN_S)

    async def look(transaction: Transaction) -> None:
        # Rows of the same group are visible before its commit, to the writer alone.
        await transaction.fetch("INSERT INTO t VALUES (?)", len(sizes))
        sizes.append((await transaction.fetch("SELECT COUNT(*) FROM t"))[0][0])
        sizes_seen_outside.append((await database.fetch("SELECT COUNT(*) FROM t"))[0][0])

    sizes_seen_outside: list[int] = []
    held = asyncio.ensure_future(database.transact(hold))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(database.transact(look)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(held, *waiting)
    assert sizes == list(range(1, 11))
    assert sizes_seen_outside == [0] * 10


async def test_one_failure_in_a_group_is_its_own(database: SqliteDatabase) -> None:
    results = await asyncio.gather(
        *(_insert(database, value) for value in (1, 2, 1, 3)), return_exceptions=True
    )
    assert [type(result) for result in results] == [
        type(None),
        type(None),
        sqlite3.IntegrityError,
        type(None),
    ]
    assert [row[0] for row in await database.fetch("SELECT a FROM t ORDER BY a")] == [1, 2, 3]


async def test_our_own_fault_is_not_the_databases(database: SqliteDatabase) -> None:
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await database.fetch("SELECT * FROM nowhere")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await database.change("INSERT INTO nowhere VALUES (1)")


async def test_a_transaction_may_await_nothing_else(database: SqliteDatabase) -> None:
    async def body(transaction: Transaction) -> None:
        await transaction.fetch("INSERT INTO t VALUES (1)")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="only await its own"):
        await database.transact(body)
    assert await database.fetch("SELECT a FROM t") == []


async def test_a_file_locked_by_another_process_is_down_in_time(
    database: SqliteDatabase, hasty: SqliteDatabase, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await _insert(hasty, 1)
        assert await hasty.fetch("SELECT a FROM t") == []
        other.execute("ROLLBACK")
    await _insert(database, 2)
    assert await database.fetch("SELECT a FROM t") == [(2,)]


async def test_a_full_disk_fails_the_whole_group_and_passes(database: SqliteDatabase) -> None:
    async def cap(transaction: Transaction) -> None:
        pages = (await transaction.fetch("PRAGMA page_count"))[0][0]
        await transaction.fetch(f"PRAGMA max_page_count = {pages}")

    async def uncap(transaction: Transaction) -> None:
        await transaction.fetch("PRAGMA max_page_count = 1000000")

    async def big(transaction: Transaction) -> None:
        await transaction.fetch("CREATE TABLE big AS SELECT zeroblob(100000) AS b")

    await database.transact(cap)
    results = await asyncio.gather(
        _insert(database, 1), database.transact(big), return_exceptions=True
    )
    assert isinstance(results[1], StoreUnavailable)
    stored = await database.fetch("SELECT a FROM t")
    assert stored == ([(1,)] if results[0] is None else [])
    await database.transact(uncap)
    await _insert(database, 2)


async def test_a_long_queue_is_refused_at_once(database: SqliteDatabase) -> None:
    gate, begun = threading.Event(), threading.Event()

    async def hold(_: Transaction) -> None:
        begun.set()
        gate.wait(WITHIN_S)

    held = asyncio.ensure_future(database.transact(hold, bounded=False))
    await asyncio.to_thread(begun.wait, WITHIN_S)
    waiting = [asyncio.ensure_future(_insert(database, value)) for value in range(50)]
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="waiting"):
        await _insert(database, 99)
    gate.set()
    await asyncio.gather(held, *waiting)
    assert len(await database.fetch("SELECT a FROM t")) == 50


async def test_a_write_given_up_while_it_waits_never_happens(
    database: SqliteDatabase, hasty: SqliteDatabase
) -> None:
    gate, begun = threading.Event(), threading.Event()

    async def hold(_: Transaction) -> None:
        begun.set()
        gate.wait(WITHIN_S)

    held = asyncio.ensure_future(hasty.transact(hold, bounded=False))
    await asyncio.to_thread(begun.wait, WITHIN_S)
    with pytest.raises(StoreUnavailable):
        await _insert(hasty, 1)
    gate.set()
    await held
    await _insert(database, 2)
    assert await database.fetch("SELECT a FROM t") == [(2,)]


async def test_a_long_read_leaves_the_loop_free(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = threading.Event()

    def wait(_: int) -> int:
        """Be a long read: it ends only once the loop has gone on."""
        return int(passed.wait(WITHIN_S))

    def connected(*args: Any) -> sqlite3.Connection:
        connection = connect(*args)
        connection.create_function("wait", 1, wait)
        return connection

    connect = database_module.connect
    monkeypatch.setattr(database_module, "connect", connected)
    long = asyncio.ensure_future(database.scan("SELECT wait(?)", 1))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not long.done()
    passed.set()
    assert await long == [(1,)]


async def test_a_closed_database_takes_no_writes(tmp_path: Path) -> None:
    database = await SqliteDatabase.open(str(tmp_path / "b.db"), patience_s=WITHIN_S, waiting=5)
    last = asyncio.ensure_future(database.change("CREATE TABLE t (a BIGINT)"))
    await asyncio.sleep(0)
    await database.close()
    assert await last == []
    with pytest.raises(StoreUnavailable):
        await database.change("INSERT INTO t VALUES (1)")


async def test_a_path_that_cannot_be_opened_is_down(tmp_path: Path, clock: HandClock) -> None:
    with pytest.raises(StoreUnavailable, match=r"a\.db cannot be opened: No such file or d"):
        await open_storage(f"sqlite:///{tmp_path}/nowhere/a.db", clock=clock)
    (tmp_path / "text.db").write_text("this is no database, but it is long enough " * 50)
    with pytest.raises(StoreUnavailable):
        await open_storage(f"sqlite:///{tmp_path}/text.db", clock=clock)


async def test_memory_behaves_as_a_file_and_leaves_nothing(clock: HandClock) -> None:
    storage = await open_storage("sqlite:///:memory:", clock=clock)
    order = an_order()
    await storage.orders.add(order, an_event(order))
    with pytest.raises(DuplicateTransaction):
        await storage.orders.add(order, an_event(order))
    assert (await storage.orders.page("client-1", WALLET, None, 1, 0)).total == 1
    assert await storage.leadership.acquire_or_renew()
    assert isinstance(storage.database, SqliteDatabase)
    folder = storage.database.path.parent
    assert storage.database.path.exists()
    await storage.close()
    assert not folder.exists()


async def test_two_processes_on_one_file_see_each_other(tmp_path: Path, clock: HandClock) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    first, second = [await open_storage(url, clock=clock) for _ in range(2)]
    order = an_order()
    results = await asyncio.gather(
        *(each.orders.add(order, an_event(order)) for each in (first, second) * 5),
        return_exceptions=True,
    )
    assert results.count(None) == 1
    assert await second.orders.find(order.order_id) == order
    await first.close()
    await second.close()


_WRITER = """
import asyncio, sys
from tests.patient import open_storage
from tests.storage.examples import an_event, an_order

async def main():
    storage = await open_storage(sys.argv[1], clock=None)

    async def client():
        while True:
            order = an_order()
            await storage.orders.add(order, an_event(order))
            print(order.order_id, flush=True)

    await asyncio.gather(*(client() for _ in range(8)))

asyncio.run(main())
"""


async def test_what_a_killed_process_had_acknowledged_is_there(
    tmp_path: Path, clock: HandClock
) -> None:
    url = f"sqlite:///{tmp_path}/killed.db"
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WRITER, url, stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    acknowledged = [await writer.stdout.readline() for _ in range(100)]
    writer.kill()
    acknowledged += (await writer.stdout.read()).splitlines(keepends=True)
    await writer.wait()
    storage = await open_storage(url, clock=clock)
    for line in acknowledged:
        if line.endswith(b"\n"):
            assert await storage.orders.find(line.decode().strip()) is not None
    total = (await storage.orders.page("client-1", WALLET, None, 1, 0)).total
    assert (await storage.database.fetch("SELECT COUNT(*) FROM orders"))[0][0] == total >= 100
    await storage.close()
