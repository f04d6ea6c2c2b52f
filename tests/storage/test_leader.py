"""The tracker's lead: one holder at a time, and the next one soon after."""

import asyncio
import sys
from pathlib import Path

import asyncpg
import pytest

from quietswap.rules.orders.stores import LeaderLock
from quietswap.service.storage.file_lock import FileLeaderLock
from quietswap.service.storage.postgres_locks import AdvisoryLeaderLock
from tests.databases import PostgresCluster
from tests.patient import open_storage
from tests.storage.examples import HandClock
from tests.waiting import WITHIN_S, eventually


def a_lock(url: str) -> AdvisoryLeaderLock:
    """Return a lock that a slow answer does not lose."""
    return AdvisoryLeaderLock(url, patience_s=WITHIN_S)


@pytest.fixture(params=["file", "advisory"])
async def rivals(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[LeaderLock, LeaderLock]:
    if request.param == "file":
        return FileLeaderLock(tmp_path / "a.db"), FileLeaderLock(tmp_path / "a.db")
    url = await request.getfixturevalue("postgres").empty()
    return a_lock(url), a_lock(url)


async def test_one_leads_until_it_gives_the_lead_up(
    rivals: tuple[LeaderLock, LeaderLock],
) -> None:
    first, second = rivals
    assert not first.is_held
    for _ in range(3):
        assert await first.acquire_or_renew()
        assert not await second.acquire_or_renew()
    assert first.is_held
    assert not second.is_held
    assert (first.is_elsewhere, second.is_elsewhere) == (False, True)
    await first.release()
    assert not first.is_held
    assert await second.acquire_or_renew()
    assert not await first.acquire_or_renew()
    await second.release()
    await first.release()


_HOLDER = """
import asyncio, sys
from tests.patient import open_storage

async def main():
    storage = await open_storage(sys.argv[1], clock=None)
    print(await storage.leadership.acquire_or_renew(), flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


async def test_the_lead_of_a_killed_process_is_free(url: str, clock: HandClock) -> None:
    storage = await open_storage(url, clock=clock)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLDER, url, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"True\n"
    assert not await storage.leadership.acquire_or_renew()
    holder.kill()
    await holder.wait()
    await eventually(storage.leadership.acquire_or_renew)
    await storage.close()


async def test_a_deleted_lock_file_is_no_lead(tmp_path: Path) -> None:
    first, second = FileLeaderLock(tmp_path / "a.db"), FileLeaderLock(tmp_path / "a.db")
    assert await first.acquire_or_renew()
    (tmp_path / "a.db.tracker").unlink()
    assert await second.acquire_or_renew()
    assert not await first.acquire_or_renew()
    await second.release()


async def test_a_folder_that_is_gone_gives_no_lead(tmp_path: Path) -> None:
    lock = FileLeaderLock(tmp_path / "nowhere" / "a.db")
    assert not await lock.acquire_or_renew()
    assert not lock.is_elsewhere


async def test_a_cut_session_is_noticed_without_asking(postgres: PostgresCluster) -> None:
    url = await postgres.empty()
    first, second = a_lock(url), a_lock(url)
    assert await first.acquire_or_renew()
    assert not await second.acquire_or_renew()
    operator = await asyncpg.connect(url)
    await operator.execute(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d "
        "ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )
    await operator.close()

    async def noticed() -> bool:
        return not first.is_held

    await eventually(noticed)
    assert await second.acquire_or_renew()
    assert not await first.acquire_or_renew()
    await second.release()
    assert await first.acquire_or_renew()
    await first.release()


async def test_nobody_leads_while_the_database_is_away() -> None:
    cluster = PostgresCluster()
    lead = a_lock(cluster.url())
    assert await lead.acquire_or_renew()
    cluster.kill()
    assert not await lead.acquire_or_renew()
    assert not lead.is_held
    assert not lead.is_elsewhere
    cluster.start()
    assert await lead.acquire_or_renew()
    await lead.release()
    cluster.close()
