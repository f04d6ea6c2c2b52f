"""Without a shared rate store: one process serves, the next waits a while and is refused.

With one, any number serve, but none beside a process without it.
"""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.orders.tracking.single_process import (
    PREDECESSOR_S,
    GuardedRateStore,
    SecondProcessError,
    SingleProcessGuard,
)
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.postgres_locks import SERVER, AdvisoryLeaderLock
from tests.databases import PostgresCluster
from tests.patient import open_storage
from tests.storage.examples import T0, HandClock
from tests.waiting import WITHIN_S, eventually


@pytest.fixture
async def other(url: str, storage: Storage) -> AsyncIterator[Storage]:
    """The stores of another process on the same database."""
    found = await open_storage(url, clock=HandClock())
    yield found
    await found.close()


async def test_a_second_process_waits_for_the_first_and_is_refused(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    await SingleProcessGuard(storage.serving, clock).begin(PREDECESSOR_S)
    said: list[float] = []
    with pytest.raises(SecondProcessError, match=r"storage\.redis_url is not set"):
        await SingleProcessGuard(other.serving, clock).begin(PREDECESSOR_S, said.append)
    assert said == [PREDECESSOR_S], "once, not at each look"
    assert PREDECESSOR_S <= (clock.ms - T0) / 1000 < PREDECESSOR_S + 1


@pytest.fixture
async def sharing(url: str) -> AsyncIterator[list[Storage]]:
    """The stores of two processes with a shared rate store, which is not asked here."""
    clock = HandClock()
    both = [
        await open_storage(url, clock=clock, rates_url="redis://127.0.0.1:9/0") for _ in range(2)
    ]
    yield both
    for one in both:
        await one.close()


async def test_processes_that_count_together_exclude_one_that_counts_alone(
    storage: Storage, sharing: list[Storage], clock: HandClock
) -> None:
    for one in sharing:
        await SingleProcessGuard(one.serving, clock, shared=True).begin(0)
    alone = SingleProcessGuard(storage.serving, clock)
    for one in sharing:
        with pytest.raises(SecondProcessError, match=r"storage\.redis_url is not set"):
            await alone.begin(0)
        await one.serving.release()
    await alone.begin(0)


async def test_a_process_that_counts_alone_excludes_those_that_count_together(
    storage: Storage, sharing: list[Storage], clock: HandClock
) -> None:
    await SingleProcessGuard(storage.serving, clock).begin(0)
    shared = SingleProcessGuard(sharing[0].serving, clock, shared=True)
    with pytest.raises(SecondProcessError, match=r"a process without storage\.redis_url serves"):
        await shared.begin(0)
    await storage.serving.release()
    await shared.begin(0)


class NoAnswer:
    """A lock of a database that has no connection left."""

    is_held = is_elsewhere = False

    async def acquire_or_renew(self) -> bool:
        return False

    async def release(self) -> None:
        pass


async def test_without_an_answer_only_a_process_that_counts_alone_does_not_start(
    clock: HandClock,
) -> None:
    said: list[float] = []
    await SingleProcessGuard(NoAnswer(), clock, shared=True).begin(PREDECESSOR_S, said.append)
    assert clock.ms == T0
    with pytest.raises(StoreUnavailable, match="has no connection left"):
        await SingleProcessGuard(NoAnswer(), clock).begin(PREDECESSOR_S, said.append)
    assert not said, "nobody knows of another process"


async def test_with_a_shared_rate_store_no_connection_left_is_no_other_process(
    postgres: PostgresCluster, clock: HandClock
) -> None:
    url = await postgres.empty()
    operator = await asyncpg.connect(url)
    await operator.execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 1")
    url = url.replace("postgres:@", "limited:@")
    only = await asyncpg.connect(url)
    lock = AdvisoryLeaderLock(url, SERVER, patience_s=WITHIN_S, shared=True)
    await SingleProcessGuard(lock, clock, shared=True).begin(PREDECESSOR_S)
    assert (lock.is_held, clock.ms) == (False, T0)
    await only.close()
    await eventually(lock.acquire_or_renew)
    await lock.release()
    await operator.execute("DROP ROLE limited")
    await operator.close()


async def test_a_process_that_ends_meanwhile_is_followed(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    class Ending(HandClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            await storage.serving.release()

    await SingleProcessGuard(storage.serving, clock).begin(0)
    await SingleProcessGuard(other.serving, Ending()).begin(PREDECESSOR_S)
    assert other.serving.is_held


async def test_operators_commands_and_the_tracker_do_not_meet_the_lock(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    await SingleProcessGuard(storage.serving, clock).begin(0)
    assert await other.leadership.acquire_or_renew()
    assert await other.keys.list() == []


async def test_requests_are_counted_only_while_the_lock_is_held(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    alone = SingleProcessGuard(storage.serving, clock)
    rates = GuardedRateStore(storage.rates, alone)
    with pytest.raises(StoreUnavailable, match="redis_url"):
        await rates.hit("key", 5, 60)
    await alone.begin(0)
    assert (await rates.hit("key", 5, 60)).remaining == 4
    await storage.serving.release()
    assert await other.serving.acquire_or_renew()
    with pytest.raises(StoreUnavailable, match="redis_url"):
        await rates.hit("key", 5, 60)


class RealPauses(HandClock):
    """Sleeps for a moment, so that others run."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.01)


async def test_a_lock_lost_with_its_connection_is_taken_again(postgres: PostgresCluster) -> None:
    """Many times: the server's farewell may come before a call, or between two of its messages."""
    url = await postgres.migrated()
    storage = await open_storage(url, clock=RealPauses())
    alone = SingleProcessGuard(storage.serving, RealPauses())
    await alone.begin(0)
    keeping = asyncio.create_task(alone.keep())
    operator = await asyncpg.connect(url)
    # The server may still hold a lock of the test before, in that test's database.
    held = (
        "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
        "WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )

    async def is_held_anew() -> bool:
        if keeping.done():
            keeping.result()
        holders = await operator.fetch(held)
        return storage.serving.is_held and [row["pid"] for row in holders] not in ([], lost)

    for _ in range(30):
        lost = [row["pid"] for row in await operator.fetch(held)]
        assert len(lost) == 1
        await operator.fetch("SELECT pg_terminate_backend($1)", lost[0])
        await eventually(is_held_anew)
        alone.check()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await operator.close()
    await storage.close()
