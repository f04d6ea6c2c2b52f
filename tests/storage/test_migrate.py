"""The schema grows from any older state, with its data, and a newer one is refused."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import asyncpg
import pytest

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.storage import migrate
from quietswap.service.storage.database import Database, Value, numbered
from quietswap.service.storage.factory import Storage, migrate_storage
from quietswap.service.storage.order_rows import COLUMNS, EVENT_COLUMNS, event_values
from quietswap.service.storage.order_rows import fixed_values as fixed
from quietswap.service.storage.order_rows import moving_values as moving
from quietswap.service.storage.quotes import STORED, quote_values
from tests.databases import PostgresCluster
from tests.patient import open_database, open_storage
from tests.storage.examples import T0, HandClock, a_quote, an_event, an_order
from tests.waiting import eventually

_ALL = [f"{step.version:04}_{step.name}" for step in migrate.known()]


def test_steps_count_from_one_without_gaps() -> None:
    versions = [step.version for step in migrate.known()]
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= 2


def test_a_line_for_postgresql_runs_there_only() -> None:
    text = "-- why\nSELECT 1;\n-- postgresql: SELECT 'a;b';\n-- more\nSELECT\n  2;\n"
    step = migrate.Migration(1, "x", text)
    assert step.statements("sqlite") == ["SELECT 1", "SELECT\n  2"]
    assert step.statements("postgresql") == ["SELECT 1", "SELECT 'a;b'", "SELECT\n  2"]


def test_question_marks_become_numbers() -> None:
    assert numbered("a = ? AND b = ? LIMIT ?") == "a = $1 AND b = $2 LIMIT $3"
    assert numbered("SELECT 1") == "SELECT 1"


async def test_an_empty_database_takes_all_steps_once(empty_database: Database) -> None:
    assert await migrate.current_version(empty_database) == 0
    with pytest.raises(migrate.SchemaTooOld, match="quietswap migrate"):
        await migrate.check(empty_database)
    assert await migrate.migrate(empty_database) == _ALL
    assert await migrate.migrate(empty_database) == []
    await migrate.check(empty_database)


async def test_processes_that_start_together_share_the_work(empty_url: str) -> None:
    taken = await asyncio.gather(*(migrate_storage(empty_url) for _ in range(5)))
    assert sorted(name for names in taken for name in names) == _ALL


async def test_a_newer_schema_is_refused_and_left_alone(url: str, clock: HandClock) -> None:
    await migrate_storage(url)
    database = await open_database(url)
    await database.change("INSERT INTO schema_version VALUES (9999, 'future', 'later')")
    await database.close()
    with pytest.raises(migrate.SchemaTooNew, match="9999"):
        await open_storage(url, clock=clock)
    with pytest.raises(migrate.SchemaTooNew, match="9999"):
        await migrate_storage(url)


async def test_a_step_that_fails_leaves_nothing(empty_database: Database) -> None:
    bad = migrate.Migration(1, "bad", "CREATE TABLE half (a BIGINT);\nSELECT * FROM nowhere;\n")
    with pytest.raises(Exception, match="nowhere"):
        await migrate.migrate(empty_database, [bad])
    assert not await empty_database.has_table("half")
    assert await migrate.current_version(empty_database) == 0


async def insert(
    database: Database, table: str, columns: Sequence[str], row: Sequence[Value]
) -> None:
    """Insert a row as the first release did: the owner was its key, and no result was stored."""
    later = _LATER if table == "orders" else frozenset()
    old = {name: value for name, value in zip(columns, row, strict=True) if name not in later}
    names = ", ".join(old).replace("client_id", "key_id")
    marks = ", ".join("?" for _ in old)
    await database.change(f"INSERT INTO {table} ({names}) VALUES ({marks})", *old.values())


_LATER = {
    "source", "received", "received_issue", "delivered_bps", "refund_status", "refund_wei",
    "refund_tx", "usd_cents", "quote_id", "relay_answer", "deadline_s",
    "reference", "reference_wei", "second_tier", "fee_cap", "priority_fee", "base_fee",
    "fullness_bps", "builder", "conversion",
}  # fmt: skip
"""Columns of `orders` that the first release did not have."""


async def test_data_of_the_first_release_survives(empty_url: str, clock: HandClock) -> None:
    """Orders stored under schema 1 are served, moved and relieved of their bytes."""
    live = an_order(client_id="key-1")
    over = an_order(client_id="key-1", status=OrderStatus.CONFIRMED, watched=False)
    silent = an_order(client_id="key-1", status=OrderStatus.FAILED, watched=False, created_at_ms=T0)
    database = await open_database(empty_url)
    await migrate.migrate(database, migrate.known()[:1])
    for order in (live, over, silent):
        await insert(database, "orders", COLUMNS, (*fixed(order), *moving(order), order.version))
        await database.change("INSERT INTO order_bytes VALUES (?, ?)", order.order_id, order.raw)
        await database.change(
            "INSERT INTO order_counts VALUES (?, ?, ?, 1)",
            order.client_id,
            order.wallet,
            order.status.value,
        )
    await database.change(
        f"INSERT INTO order_events (version, {EVENT_COLUMNS}) VALUES (0, ?, ?, ?, ?, ?, ?)",
        *event_values(an_event(over, at_ms=T0 + 77)),
    )
    quote = a_quote(client_id="key-1")
    await insert(database, "quotes", STORED, quote_values(quote))
    await database.change("INSERT INTO api_keys VALUES ('key-1', 'a wallet', ?, ?, NULL)", b"1", T0)
    await database.close()

    assert await migrate_storage(empty_url) == _ALL[1:]
    storage = await open_storage(empty_url, clock=clock)
    assert await storage.keys.find(b"1") == ApiKey("key-1", "a wallet", T0, None, "key-1")
    assert await storage.clients.list() == [Client("key-1", "a wallet", T0)]
    assert await storage.quotes.by_id("key-1", quote.quote_id) == quote
    assert await storage.orders.find(live.order_id) == live
    page = await storage.orders.page("key-1", live.wallet, None, 10, 0)
    assert page.total == 3
    assert {one.order_id for one in page.orders} == {o.order_id for o in (live, over, silent)}
    assert await storage.orders.drop_raw(T0 + 77, limit=10) == 1
    assert await storage.orders.find(silent.order_id) == replace(silent, raw=None)
    assert await storage.orders.drop_raw(T0 + 78, limit=10) == 1
    assert await storage.orders.find(over.order_id) == replace(over, raw=None)
    assert await storage.orders.update(replace(live, status=OrderStatus.SUBMITTED), None)
    await storage.close()


async def test_every_key_becomes_a_client_and_no_row_of_an_order_is_written(
    empty_database: Database,
) -> None:
    await migrate.migrate(empty_database, migrate.known()[:6])
    for name, revoked in (("a", None), ("b", T0 + 9)):
        await empty_database.change(
            "INSERT INTO api_keys VALUES (?, 'same name', ?, ?, ?)",
            f"key-{name}", name.encode(), T0, revoked,
        )  # fmt: skip
        order = an_order(client_id=f"key-{name}")
        values = (*fixed(order), *moving(order), order.version)
        await insert(empty_database, "orders", COLUMNS, values)
    place = "ctid, xmin" if empty_database.dialect == "postgresql" else "rowid"
    rows = f"SELECT CAST(({place}) AS TEXT) FROM orders ORDER BY order_id"
    before = await empty_database.fetch(rows)
    await migrate.migrate(empty_database)
    assert [tuple(r) for r in await empty_database.fetch(rows)] == [tuple(r) for r in before]
    owned = (
        "SELECT c.id, c.name, k.id FROM clients c JOIN api_keys k ON k.client_id = c.id ORDER BY 1"
    )
    assert [tuple(row) for row in await empty_database.fetch(owned)] == [
        ("key-a", "same name", "key-a"),
        ("key-b", "same name", "key-b"),
    ]


_LAST = migrate.known()[-1].version


@pytest.fixture
async def busy(
    postgres: PostgresCluster, clock: HandClock
) -> AsyncIterator[tuple[Storage, asyncpg.Connection]]:
    """A database that serves, and a connection whose transaction has read and written orders."""
    url = await postgres.migrated()
    storage, other = await open_storage(url, clock=clock), await asyncpg.connect(url)
    await storage.orders.add(order := an_order(), an_event(order))
    await other.execute("BEGIN")
    await other.execute("UPDATE orders SET version = version")
    yield storage, other
    await other.close()
    await storage.close()


async def test_a_step_stops_no_request_behind_an_open_transaction(
    busy: tuple[Storage, asyncpg.Connection],
) -> None:
    """It would wait for that transaction, and each request for it."""
    storage, other = busy
    step = migrate.Migration(_LAST + 1, "wider", "ALTER TABLE orders ADD COLUMN wider BIGINT;\n")
    work = asyncio.create_task(migrate.migrate(storage.database, [step]))
    for _ in range(30):
        new = an_order()
        await storage.orders.add(new, an_event(new))
        assert await storage.orders.find(new.order_id) == new
        await asyncio.sleep(0.1)
    assert not work.done()
    await other.execute("COMMIT")
    assert await work == [f"{_LAST + 1:04}_wider"]
    await storage.database.fetch("SELECT wider FROM orders")


async def test_an_index_is_built_while_orders_are_written(
    busy: tuple[Storage, asyncpg.Connection],
) -> None:
    storage, other = busy
    text = "-- expands\nCREATE INDEX orders_again ON orders (order_id)\n    WHERE watched = 1;\n"
    step = migrate.Migration(_LAST + 1, "again", text)
    work = asyncio.create_task(migrate.migrate(storage.database, [step]))
    sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('orders_again')"

    async def begun() -> bool:
        return [row[0] for row in await storage.database.fetch(sql)] == [False]

    await eventually(begun)
    with pytest.raises(migrate.SchemaTooOld, match="lacks indexes"):
        await migrate.check(storage.database)
    new = an_order()
    await storage.orders.add(new, an_event(new))
    work.cancel()  # a migration that is interrupted leaves an invalid index
    await asyncio.gather(work, return_exceptions=True)
    await other.execute("COMMIT")
    assert await migrate.migrate(storage.database, []) == []
    assert [row[0] for row in await storage.database.fetch(sql)] == [True]


_EXPANDING = re.compile(
    r"CREATE TABLE |CREATE INDEX |ALTER TABLE \w+ SET \(|"
    r"ALTER TABLE \w+ ADD COLUMN \w+ \w+(?! NOT NULL$)( NOT NULL DEFAULT .+| DEFAULT .+)?$"
)


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_step_that_expands_only_adds(dialect: str) -> None:
    """The release before writes rows without the new columns, and knows no new table."""
    steps = [step for step in migrate.known() if step.expands]
    assert steps
    for step in steps:
        for statement in step.statements(dialect):
            assert _EXPANDING.match(" ".join(statement.split())), statement


async def test_an_expansion_of_a_later_release_is_no_reason_to_refuse(
    url: str, clock: HandClock
) -> None:
    """That release is rolled back: its expansions stay, and this one starts again."""
    await migrate_storage(url)
    later = migrate.Migration(9999, "later", "-- expands\nCREATE TABLE later (a BIGINT);\n")
    database = await open_database(url)
    await migrate.migrate(database, [later])
    await database.close()
    storage = await open_storage(url, clock=clock)
    await storage.ping()
    await storage.close()
    assert await migrate_storage(url) == []
