"""A primary with a standby: after a failover nothing comes from the server that was demoted."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from quietswap.service.storage.factory import Storage
from quietswap.service.storage.postgres_locks import AdvisoryLeaderLock
from tests import patient
from tests.databases import PostgresCluster
from tests.storage.examples import HandClock, an_event, an_order
from tests.waiting import WITHIN_S, wait_until


@dataclass
class Pair:
    """A primary and its standby; `url` names both, as the documentation says."""

    primary: PostgresCluster
    standby: PostgresCluster
    url: str

    def fail_over(self) -> None:
        """Fence the primary, which goes on answering reads, and promote its standby."""
        wait_until(lambda: self.standby.has_all_of(self.primary), "the standby does not follow")
        self.primary.demote()
        self.standby.promote()


@pytest.fixture
def pair() -> Iterator[Pair]:
    primary = PostgresCluster()
    url = asyncio.run(primary.migrated())
    standby = primary.standby()
    both = f"{url},{standby.folder}&target_session_attrs=read-write"
    yield Pair(primary, standby, both)
    standby.close()
    primary.close()


@pytest.fixture
async def storage(pair: Pair, clock: HandClock) -> AsyncIterator[Storage]:
    storage = await patient.open_storage(pair.url, clock=clock, connections=4)
    # All connections are made before the failover.
    await asyncio.gather(*(storage.database.fetch("SELECT pg_sleep(0.2)") for _ in range(4)))
    yield storage
    await storage.close()


async def test_every_call_after_a_failover_is_answered_by_the_new_primary(
    storage: Storage, pair: Pair
) -> None:
    before, after = an_order(), an_order()
    await storage.orders.add(before, an_event(before))
    await asyncio.to_thread(pair.fail_over)
    await storage.orders.add(after, an_event(after))
    reads = [storage.orders.find(order.order_id) for _ in range(20) for order in (before, after)]
    assert await asyncio.gather(*reads) == [before, after] * 20
    await storage.ping()


async def test_a_process_that_only_reads_leaves_the_demoted_primary(
    storage: Storage, pair: Pair, clock: HandClock
) -> None:
    """Another process writes; the connections of this one see no error by themselves."""
    await asyncio.to_thread(pair.fail_over)
    other, order = await patient.open_storage(pair.url, clock=clock), an_order()
    await other.orders.add(order, an_event(order))
    reads = await asyncio.gather(*(storage.orders.find(order.order_id) for _ in range(20)))
    assert reads == [order] * 20
    await other.close()


async def test_a_server_that_is_read_only_from_the_start_is_read(
    pair: Pair, clock: HandClock
) -> None:
    """A URL of one host names that server; nothing is fresher than it."""
    await asyncio.to_thread(pair.primary.demote)
    alone = pair.url.partition(",")[0]
    storage = await patient.open_storage(alone, clock=clock)
    assert await storage.orders.find("ord_unknown") is None
    await storage.close()


async def test_the_lead_moves_to_the_new_primary(pair: Pair) -> None:
    """A lock on the demoted primary excludes nobody who asks the new one."""
    first = AdvisoryLeaderLock(pair.url, patience_s=WITHIN_S)
    second = AdvisoryLeaderLock(pair.url, patience_s=WITHIN_S)
    assert await first.acquire_or_renew()
    await asyncio.to_thread(pair.fail_over)
    assert await second.acquire_or_renew()
    assert not await first.acquire_or_renew()
    assert first.is_elsewhere
    assert await second.acquire_or_renew()
    await first.release()
    await second.release()
