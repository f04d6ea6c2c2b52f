"""The tracker's lead: one holder at a time, and the next one soon after."""

import asyncio
import sys
from pathlib import Path

import asyncpg
import pytest

from quietswap.ports.stores import Leadership
from quietswap.storage.leader import FileLead
from quietswap.storage.open import open_storage
from quietswap.storage.postgres_leader import AdvisoryLead
from tests.databases import PostgresCluster
from tests.storage.examples import HandClock, eventually


@pytest.fixture(params=["file", "advisory"])
async def rivals(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Leadership, Leadership]:
    if request.param == "file":
        return FileLead(tmp_path / "a.db"), FileLead(tmp_path / "a.db")
    url = await request.getfixturevalue("postgres").empty()
    return AdvisoryLead(url), AdvisoryLead(url)


async def test_one_leads_until_it_gives_the_lead_up(
    rivals: tuple[Leadership, Leadership],
) -> None:
    first, second = rivals
    assert not first.is_held
    for _ in range(3):
        assert await first.hold()
        assert not await second.hold()
    assert first.is_held
    assert not second.is_held
    await first.release()
    assert not first.is_held
    assert await second.hold()
    assert not await first.hold()
    await second.release()
    await first.release()


_HOLDER = """
import asyncio, sys
from quietswap.storage.open import open_storage

async def main():
    storage = await open_storage(sys.argv[1], clock=None)
    print(await storage.leadership.hold(), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_the_lead_of_a_killed_process_is_free(url: str, clock: HandClock) -> None:
    storage = await open_storage(url, clock=clock)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLDER, url, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"True\n"
    assert not await storage.leadership.hold()
    holder.kill()
    await holder.wait()
    await eventually(storage.leadership.hold)
    await storage.close()


async def test_a_deleted_lock_file_is_no_lead(tmp_path: Path) -> None:
    first, second = FileLead(tmp_path / "a.db"), FileLead(tmp_path / "a.db")
    assert await first.hold()
    (tmp_path / "a.db.tracker").unlink()
    assert await second.hold()
    assert not await first.hold()
    await second.release()


async def test_a_folder_that_is_gone_gives_no_lead(tmp_path: Path) -> None:
    assert not await FileLead(tmp_path / "nowhere" / "a.db").hold()


async def test_a_cut_session_is_noticed_without_asking(postgres: PostgresCluster) -> None:
    url = await postgres.empty()
    first, second = AdvisoryLead(url), AdvisoryLead(url)
    assert await first.hold()
    assert not await second.hold()
    operator = await asyncpg.connect(url)
    await operator.execute(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d "
        "ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )
    await operator.close()

    async def noticed() -> bool:
        return not first.is_held

    await eventually(noticed)
    assert await second.hold()
    assert not await first.hold()
    await second.release()
    assert await first.hold()
    await first.release()


async def test_nobody_leads_while_the_database_is_away() -> None:
    cluster = PostgresCluster()
    lead = AdvisoryLead(cluster.url())
    assert await lead.hold()
    cluster.kill()
    assert not await lead.hold()
    assert not lead.is_held
    cluster.start()
    assert await lead.hold()
    await lead.release()
    cluster.close()
