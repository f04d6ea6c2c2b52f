"""What only PostgreSQL has: a server that can go away, hang, or have too few connections."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import asyncpg
import pytest

from quietswap.rules.errors.clients import OpenOrderLimitExceeded
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.database import Transaction
from quietswap.service.storage.database_urls import BadDatabaseUrl
from quietswap.service.storage.factory import Storage, open_storage
from quietswap.service.storage.migrate import SchemaTooOld
from quietswap.service.storage.postgres import PostgresDatabase
from tests import patient
from tests.databases import PostgresCluster
from tests.storage.examples import WALLET, HandClock, an_event, an_order
from tests.waiting import WITHIN_S, eventually


@pytest.fixture(scope="module")
def fragile() -> Iterator[PostgresCluster]:
    """A cluster of this module's own, to be killed."""
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


@pytest.fixture
async def storage(fragile: PostgresCluster, clock: HandClock) -> AsyncIterator[Storage]:
    storage = await patient.open_storage(await fragile.migrated(), clock=clock, connections=3)
    yield storage
    await storage.close()


@pytest.fixture
async def hasty(fragile: PostgresCluster, clock: HandClock) -> AsyncIterator[Storage]:
    """Stores that soon give a call up, whose three connections are made."""
    url, found = await fragile.migrated(), list[Storage]()

    async def opened() -> bool:
        with suppress(StoreUnavailable):
            found.append(await open_storage(url, clock=clock, connections=3, patience_s=0.5))
        return bool(found)

    await eventually(opened)
    yield found[0]
    await found[0].close()


async def _down(storage: Storage, calls: int = 1) -> None:
    """Every call is given up: without that, those behind a hanging one would wait for hours."""
    results = await asyncio.gather(
        *(storage.orders.page("client-1", WALLET, None, 1, 0) for _ in range(calls)),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {StoreUnavailable}


async def _back(storage: Storage) -> None:
    async def answers() -> bool:
        with suppress(StoreUnavailable):
            await storage.ping()
            return True
        return False

    await eventually(answers)


async def test_killed_and_back(storage: Storage, fragile: PostgresCluster) -> None:
    order, later = an_order(), an_order()
    await storage.orders.add(order, an_event(order))
    fragile.kill()
    await _down(storage, calls=20)
    with pytest.raises(StoreUnavailable):
        await storage.orders.add(later, an_event(later))
    with pytest.raises(StoreUnavailable):
        await storage.ping()
    fragile.start()
    await storage.ping()
    assert await storage.orders.find(order.order_id) == order
    await storage.orders.add(later, an_event(later))
    assert (await storage.orders.page("client-1", WALLET, None, 1, 0)).total == 2


async def test_killed_in_the_middle_of_work(storage: Storage, fragile: PostgresCluster) -> None:
    """Whatever was acknowledged is there afterwards, with counters that agree."""
    acknowledged = []
    stop = asyncio.Event()

    async def client() -> None:
        while not stop.is_set():
            order = an_order()
            try:
                await storage.orders.add(order, an_event(order))
            except StoreUnavailable:
                return
            acknowledged.append(order)

    clients = [asyncio.ensure_future(client()) for _ in range(6)]

    async def some() -> bool:
        return len(acknowledged) > 20

    await eventually(some)
    fragile.kill()
    await asyncio.wait_for(asyncio.gather(*clients), WITHIN_S)
    fragile.start()
    assert acknowledged
    for order in acknowledged:
        assert await storage.orders.find(order.order_id) == order
    total = (await storage.orders.page("client-1", WALLET, None, 1, 0)).total
    rows = await storage.database.fetch("SELECT COUNT(*) FROM orders")
    assert total == rows[0][0] >= len(acknowledged)


async def test_a_slow_database_is_given_up_and_its_work_ended(
    hasty: Storage, fragile: PostgresCluster
) -> None:
    with pytest.raises(StoreUnavailable):
        await hasty.database.fetch("SELECT pg_sleep(36000)")
    operator = await asyncpg.connect(fragile.url())
    sql = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(36%' AND pid <> $1"

    async def ended() -> bool:
        return not await operator.fetchval(sql, operator.get_server_pid())

    await eventually(ended)
    await operator.close()
    await _back(hasty)


async def test_a_full_pool_makes_callers_wait_only_so_long(hasty: Storage) -> None:
    sleeping: set[int] = set()

    async def sleeper(number: int) -> None:
        async def sleep(transaction: Transaction) -> None:
            sleeping.add(number)
            await transaction.fetch("SELECT pg_sleep(36000)")

        while True:
            with suppress(StoreUnavailable):  # the connection was not made in time
                await hasty.database.transact(sleep, bounded=False)

    async def full() -> bool:
        return len(sleeping) == 3

    sleepers = [asyncio.ensure_future(sleeper(number)) for number in range(3)]
    await eventually(full)
    await _down(hasty, calls=30)
    for each in sleepers:
        each.cancel()
    await asyncio.gather(*sleepers, return_exceptions=True)
    await _back(hasty)


async def test_a_closed_database_answers_nothing(fragile: PostgresCluster) -> None:
    database = await PostgresDatabase.open(
        fragile.url(), connections=1, patience_s=WITHIN_S, waiting=9
    )
    await database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.fetch("SELECT 1")


async def test_a_long_queue_is_refused_at_once(fragile: PostgresCluster) -> None:
    database = await PostgresDatabase.open(
        fragile.url(), connections=1, patience_s=WITHIN_S, waiting=10
    )
    calls = [asyncio.ensure_future(database.fetch("SELECT pg_sleep(0.02)")) for _ in range(10)]
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="waiting"):
        await database.fetch("SELECT 1")
    await asyncio.gather(*calls)
    assert (await database.fetch("SELECT 1"))[0][0] == 1
    await database.close()


async def test_a_cancelled_transaction_leaves_no_trace(storage: Storage) -> None:
    entered = asyncio.Event()

    async def body(transaction: Transaction) -> None:
        await transaction.fetch("INSERT INTO schema_version VALUES (77, 'x', 'y')")
        entered.set()
        await transaction.fetch("SELECT pg_sleep(30)")

    work = asyncio.ensure_future(storage.database.transact(body))
    await entered.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    count = "SELECT COUNT(*) FROM schema_version WHERE version = 77"
    results = await asyncio.gather(*(storage.database.fetch(count) for _ in range(6)))
    assert {rows[0][0] for rows in results} == {0}


async def test_our_own_fault_is_not_the_databases(storage: Storage) -> None:
    with pytest.raises(asyncpg.UndefinedTableError):
        await storage.database.fetch("SELECT * FROM nowhere")
    with pytest.raises(asyncpg.DataError, match="expected str"):
        await storage.database.fetch("SELECT 1 FROM orders WHERE order_id = ?", 5)
    with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
        await storage.database.fetch("SELECT 1 FROM orders WHERE order_id = ?", "a", "b")
    await storage.ping()


async def test_a_schema_that_was_not_migrated_is_refused(
    fragile: PostgresCluster, clock: HandClock
) -> None:
    with pytest.raises(SchemaTooOld, match="quietswap migrate"):
        await open_storage(await fragile.empty(), clock=clock)


async def test_a_server_that_is_not_there_is_down_at_once(clock: HandClock) -> None:
    with pytest.raises(StoreUnavailable):
        await open_storage("postgresql://nobody@127.0.0.1:1/none", clock=clock)


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite:///", "orders.db", ""])
async def test_other_urls_are_refused(url: str, clock: HandClock) -> None:
    with pytest.raises(BadDatabaseUrl, match="sqlite:///"):
        await open_storage(url, clock=clock)


@pytest.mark.parametrize(
    "password", ["pa#ss", "p@s#x", "123/secret", "p/w", "12?ss", "p@s?t=1", "p@ss"]
)
async def test_a_password_that_would_be_shown_as_the_host_is_refused(
    password: str, clock: HandClock
) -> None:
    with pytest.raises(BadDatabaseUrl, match="%23 for #") as refused:
        await open_storage(f"postgresql://user:{password}@127.0.0.1/name", clock=clock)
    assert password not in str(refused.value)


async def test_a_body_that_raises_keeps_its_connection(storage: Storage) -> None:
    """A client at its limit would otherwise make the pool log in again for each refusal."""

    async def backend(transaction: Transaction) -> object:
        return (await transaction.fetch("SELECT pg_backend_pid()"))[0][0]

    async def refuse(transaction: Transaction) -> None:
        await transaction.fetch("SELECT 1")
        raise OpenOrderLimitExceeded(limit=1)

    async def backends() -> set[object]:
        return {await storage.database.transact(backend) for _ in range(9)}

    before = await backends()
    for _ in range(9):
        with pytest.raises(OpenOrderLimitExceeded):
            await storage.database.transact(refuse)
    assert await backends() == before
