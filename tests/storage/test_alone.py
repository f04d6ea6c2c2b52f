"""Without a shared rate store: one process serves, the next waits a while and is refused."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from quietswap.ports.stores import StoreDown
from quietswap.services.serve_alone import PREDECESSOR_S, NotAlone, ServeAlone, SoleRates
from quietswap.storage.open import Storage, open_storage
from tests.databases import PostgresCluster
from tests.storage.examples import T0, HandClock, eventually


@pytest.fixture
async def other(url: str, storage: Storage) -> AsyncIterator[Storage]:
    """The stores of another process on the same database."""
    found = await open_storage(url, clock=HandClock())
    yield found
    await found.close()


async def test_a_second_process_waits_for_the_first_and_is_refused(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    await ServeAlone(storage.alone, clock).begin(PREDECESSOR_S)
    with pytest.raises(NotAlone, match=r"storage\.redis_url is not set"):
        await ServeAlone(other.alone, clock).begin(PREDECESSOR_S)
    assert PREDECESSOR_S <= (clock.ms - T0) / 1000 < PREDECESSOR_S + 1


async def test_a_process_that_ends_meanwhile_is_followed(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    class Ending(HandClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            await storage.alone.release()

    await ServeAlone(storage.alone, clock).begin(0)
    await ServeAlone(other.alone, Ending()).begin(PREDECESSOR_S)
    assert other.alone.is_held


async def test_operators_commands_and_the_tracker_do_not_meet_the_lock(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    await ServeAlone(storage.alone, clock).begin(0)
    assert await other.leadership.hold()
    assert await other.keys.list() == []


async def test_requests_are_counted_only_while_the_lock_is_held(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    alone = ServeAlone(storage.alone, clock)
    rates = SoleRates(storage.rates, alone)
    with pytest.raises(StoreDown, match="redis_url"):
        await rates.hit("key", 5, 60)
    await alone.begin(0)
    assert (await rates.hit("key", 5, 60)).remaining == 4
    await storage.alone.release()
    assert await other.alone.hold()
    with pytest.raises(StoreDown, match="redis_url"):
        await rates.hit("key", 5, 60)


class RealPauses(HandClock):
    """Sleeps for a moment, so that others run."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.01)


async def test_a_lock_lost_with_its_connection_is_taken_again(postgres: PostgresCluster) -> None:
    url = await postgres.migrated()
    storage = await open_storage(url, clock=RealPauses())
    alone = ServeAlone(storage.alone, RealPauses())
    await alone.begin(0)
    keeping = asyncio.create_task(alone.keep())
    operator = await asyncpg.connect(url)
    cut = (
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d "
        "ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )
    held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"
    lost = [row["pid"] for row in await operator.fetch(held)]
    assert len(lost) == 1
    await operator.fetch(cut)

    async def is_held_anew() -> bool:
        holders = await operator.fetch(held)
        return storage.alone.is_held and [row["pid"] for row in holders] not in ([], lost)

    await eventually(is_held_anew)
    alone.check()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await operator.close()
    await storage.close()
