"""The writer on the event loop by itself: what is undone, and when it leaves the loop alone."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage import loop_time
from quietswap.service.storage.database import Transaction
from quietswap.service.storage.loop_time import IN_THREADS_S, SLOW_S
from quietswap.service.storage.sqlite_connection import connect
from quietswap.service.storage.sqlite_loop_writer import NotOnLoop, SqliteLoopWriter
from tests.storage.test_sqlite_loop_writes import Refused, add
from tests.storage.test_sqlite_reads import Monotonic


@pytest.fixture
def monotonic() -> Monotonic:
    return Monotonic()


def new_writer(path: Path, monotonic: Monotonic) -> SqliteLoopWriter:
    """Return a writer to a new file with the table `t`."""
    with closing(connect(path, 0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a BIGINT)")
    return SqliteLoopWriter(path, lock_wait_ms=0, monotonic=monotonic)


@pytest.fixture
def writer(tmp_path: Path, monotonic: Monotonic) -> Iterator[SqliteLoopWriter]:
    found = new_writer(tmp_path / "w.db", monotonic)
    yield found
    found.close()


def test_after_a_slow_write_the_loop_is_left_alone_for_a_while(
    writer: SqliteLoopWriter, monotonic: Monotonic
) -> None:
    monotonic.look_takes_s = SLOW_S + 0.001
    assert writer.run(add) == 1, "nobody knows before"
    monotonic.look_takes_s = 0
    with pytest.raises(NotOnLoop):
        writer.run(add)
    monotonic.clock.ms += round(1000 * IN_THREADS_S)
    assert writer.run(add) == 1, "one write tries the disk again"
    assert writer.run(add) == 1


def test_what_is_interrupted_is_undone_at_any_step(
    tmp_path: Path, monotonic: Monotonic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted COMMIT may be done: repeated, it would write twice."""
    monkeypatch.setattr(loop_time, "_STEPS", 1)
    writer = new_writer(tmp_path / "w.db", monotonic)
    done, interrupted = 0, 0
    with closing(connect(tmp_path / "w.db", 0)) as other:
        for steps in range(1, 200):
            monkeypatch.setattr(loop_time, "_INTERRUPTED_AT", steps)
            try:
                done += writer.run(add)
            except NotOnLoop:
                interrupted += 1
            assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (done,)
    writer.close()
    assert done > 100
    assert interrupted > 5


def test_a_body_that_fails_is_undone_at_any_step(
    tmp_path: Path, monotonic: Monotonic, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(transaction: Transaction) -> None:
        await add(transaction)
        raise Refused

    monkeypatch.setattr(loop_time, "_STEPS", 1)
    writer = new_writer(tmp_path / "w.db", monotonic)
    with closing(connect(tmp_path / "w.db", 0)) as other:
        for steps in range(1, 200):
            monkeypatch.setattr(loop_time, "_INTERRUPTED_AT", steps)
            with pytest.raises((Refused, NotOnLoop)):
                writer.run(refused)
            other.execute("BEGIN IMMEDIATE")  # the lock is free
            assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)
            other.execute("ROLLBACK")
    writer.close()


def test_a_full_disk_is_away_and_passes(writer: SqliteLoopWriter) -> None:
    async def cap(transaction: Transaction) -> None:
        [[pages]] = await transaction.fetch("PRAGMA page_count")
        await transaction.fetch(f"PRAGMA max_page_count = {pages}")

    async def large(transaction: Transaction) -> None:
        await transaction.fetch("CREATE TABLE big AS SELECT zeroblob(100000) AS b")

    writer.run(cap)
    with pytest.raises(StoreUnavailable, match=r"did not commit: .*full"):
        writer.run(large)
    assert writer.run(add) == 1
