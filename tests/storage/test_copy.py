"""A file that was outgrown moves into PostgreSQL: all of it, or nothing."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from quietswap.domain.order import Status
from quietswap.ports.stores import ApiKey, DuplicateTransaction
from quietswap.storage import copy, migrate
from quietswap.storage.copy import TABLES, CannotCopy, copy_storage
from quietswap.storage.leader import FileLead
from quietswap.storage.open import BadDatabaseUrl, open_database, open_storage
from tests.databases import PostgresCluster
from tests.orders import told
from tests.storage.examples import T0, WALLET, HandClock, a_quote, an_event, an_order

KEY = ApiKey("key-1", "a wallet", T0, None)


@pytest.fixture
def old(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/old.db"


@pytest.fixture
async def new(postgres: PostgresCluster) -> str:
    return await postgres.empty()


async def rows(url: str, sql: str) -> list[tuple[object, ...]]:
    database = await open_database(url)
    try:
        return [tuple(row) for row in await database.fetch(sql)]
    finally:
        await database.close()


async def test_everything_is_there_and_goes_on(
    old: str, new: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_ROWS", 3)
    orders = [an_order() for _ in range(7)]
    dead = an_order(status=Status.FAILED, watched=False)
    quote = a_quote()
    storage = await open_storage(old, clock=clock)
    await storage.keys.add(KEY, b"hash")
    await storage.quotes.save(quote)
    for order in (*orders, dead):
        await storage.orders.add(order, an_event(order))
    moved = replace(orders[0], status=Status.SUBMITTED)
    assert await storage.orders.update(moved, an_event(moved, "accepted"))
    before = [told(await storage.orders.page("key-1", WALLET, s, 200, 0)) for s in (None, *Status)]
    open_before = await storage.orders.watched()
    diary = await storage.orders.events(moved.order_id)
    await storage.close()

    copied = await copy_storage(old, new)
    assert copied == {
        "api_keys": 1, "quotes": 1, "orders": 8, "order_bytes": 8, "order_events": 9,
        "order_counts": 3,
    }  # fmt: skip
    storage = await open_storage(new, clock=clock)
    assert await storage.keys.find(b"hash") == KEY
    assert await storage.quotes.by_id("key-1", quote.quote_id) == quote
    after = [told(await storage.orders.page("key-1", WALLET, s, 200, 0)) for s in (None, *Status)]
    assert after == before
    assert await storage.orders.watched() == open_before
    assert await storage.orders.events(moved.order_id) == diary
    again = replace(an_order(), tx_hash=orders[1].tx_hash)
    with pytest.raises(DuplicateTransaction):
        await storage.orders.add(again, an_event(again))
    assert await storage.orders.update(replace(orders[1], status=Status.SUBMITTED), None)
    submitted = (await storage.orders.page("key-1", WALLET, Status.SUBMITTED, 1, 0)).total
    assert submitted == 2
    await storage.close()


async def test_a_file_of_the_first_release_is_brought_forward_first(old: str, new: str) -> None:
    database = await open_database(old)
    await migrate.migrate(database, migrate.known()[:1])
    await database.change("INSERT INTO order_bytes VALUES ('order-1', X'02')")
    await database.close()
    assert (await copy_storage(old, new))["order_bytes"] == 1
    assert await rows(new, "SELECT order_id, raw FROM order_bytes") == [("order-1", b"\x02")]


async def test_a_copy_that_breaks_in_the_middle_leaves_nothing(old: str, new: str) -> None:
    database = await open_database(old)
    await migrate.migrate(database)
    await database.change("INSERT INTO api_keys VALUES ('key-1', 'good', X'01', 1, NULL)")
    await database.change(
        "INSERT INTO order_counts VALUES ('key-1', ?, 'pending', 1)", "no text in PostgreSQL: \0"
    )
    await database.close()
    with pytest.raises(Exception, match="0x00"):
        await copy_storage(old, new)
    assert await rows(new, "SELECT * FROM api_keys") == []


async def test_a_database_with_rows_is_refused_and_left_alone(
    old: str, new: str, clock: HandClock
) -> None:
    storage = await open_storage(old, clock=clock)
    await storage.keys.add(KEY, b"hash")
    await storage.close()
    await copy_storage(old, new)
    with pytest.raises(CannotCopy, match="not empty: api_keys"):
        await copy_storage(old, new)
    assert len(await rows(new, "SELECT * FROM api_keys")) == 1


@pytest.mark.parametrize("purpose", ["server", "tracker"])
async def test_a_file_that_is_served_from_is_refused(
    old: str, new: str, purpose: str, tmp_path: Path
) -> None:
    await asyncio.to_thread((tmp_path / "old.db").touch)
    serving = FileLead(tmp_path / "old.db", purpose)
    assert await serving.hold()
    with pytest.raises(CannotCopy, match="still serves"):
        await copy_storage(old, new)
    await serving.release()
    assert await copy_storage(old, new) == dict.fromkeys(TABLES, 0)


async def test_what_is_no_file_or_no_postgresql_is_refused(
    old: str, new: str, tmp_path: Path
) -> None:
    with pytest.raises(CannotCopy, match="there is no file"):
        await copy_storage(old, new)
    assert not await asyncio.to_thread((tmp_path / "old.db").exists)
    for source, target in ((new, new), (old, old), (new, old)):
        with pytest.raises(BadDatabaseUrl, match="copying goes from"):
            await copy_storage(source, target)


async def test_no_table_is_forgotten(old: str) -> None:
    database = await open_database(old)
    await migrate.migrate(database)
    await database.close()
    tables = await rows(old, "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert {name for (name,) in tables} == {*TABLES, "schema_version"}
