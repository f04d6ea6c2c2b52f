"""A file that was outgrown moves into PostgreSQL: all of it, or nothing."""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quietswap.rules.clients import (
    ApiKey,
    AuditEntry,
    Client,
    ClientLimits,
    DayUsage,
    WebSessionBounds,
    day_of,
)
from quietswap.rules.operator.figures import Figure, Measure
from quietswap.rules.operator.operators import Operator, PausedSource, ProcessReport
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.stores import DuplicateTransaction
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.rules.watches import Watch
from quietswap.service.storage import migrate, sqlite_to_postgres
from quietswap.service.storage.database_urls import BadDatabaseUrl
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.file_lock import FileLeaderLock
from quietswap.service.storage.sqlite_to_postgres import TABLES, CannotCopy, copy_storage
from quietswap.service.web.sessions import WebSessions
from tests.databases import PostgresCluster
from tests.patient import open_database, open_storage
from tests.storage.examples import T0, WALLET, HandClock, a_quote, an_event, an_order
from tests.storage.test_watches import a_watch
from tests.storage.test_webhooks import a_delivery, a_webhook
from tests.stored_orders import told

CLIENT = Client("client-1", "a company", T0)
KEY = ApiKey("key-1", "a wallet", T0, None, CLIENT.id)
OPERATOR = Operator("opr_1", "alice", T0)
PAUSED = PausedSource("velora", T0, "alice", "maintenance")
TOKEN = WalletRpcToken("rpc_1", CLIENT.id, "", frozenset({WALLET}), "refuse", T0, None, KEY.id)


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


async def _store_for_pages(storage: Storage, clock: HandClock, entry: AuditEntry) -> None:
    await WebSessions(storage.web_sessions, clock, WebSessionBounds(1, 1)).begin("192.0.2.1")
    await storage.operators.add(OPERATOR, b"operator", replace(entry, id="aud_2"))
    assert await storage.operators.begin_session(OPERATOR.id, b"session", T0, T0 + 9)
    assert await storage.paused_sources.pause(PAUSED, replace(entry, id="aud_3"))
    await storage.relay_health.write("MEV Blocker", T0)
    figure = Figure(Measure.SOURCE_MS, "velora", "", 100)
    await storage.figures.record({figure: 1}, ProcessReport("host:1", T0, 1, {}))


async def _store_what_is_told(storage: Storage) -> Sequence[Watch]:
    assert await storage.webhooks.add(a_webhook(1), 1)
    await storage.webhooks.record_test(a_delivery(1), enable=False)
    for number in (1, 2):
        assert await storage.watches.add(a_watch(number), 2)
    assert await storage.watches.meet("wat_1", 7, T0)
    return await storage.watches.list("client-1", 9, 0)


async def _check_what_is_told(storage: Storage, watches: Sequence[Watch]) -> None:
    assert await storage.webhooks.list("client-1") == [a_webhook(1)]
    assert await storage.webhooks.deliveries("whk_0001", 9, 0) == [a_delivery(1)]
    assert await storage.watches.list("client-1", 9, 0) == watches


async def test_everything_is_there_and_goes_on(
    old: str, new: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_to_postgres, "_ROWS", 3)
    orders = [an_order() for _ in range(7)]
    dead = an_order(status=OrderStatus.FAILED, watched=False)
    quote = a_quote()
    storage = await open_storage(old, clock=clock)
    await storage.keys.add(KEY, b"hash", CLIENT)
    await storage.quotes.save(quote)
    await storage.rpc_tokens.add(TOKEN, b"token")
    limits = ClientLimits(quotes_per_day=5, wallets=frozenset({WALLET}))
    entry = AuditEntry("aud_1", T0, {"user": "root"}, "client_limited", {"client": CLIENT.id})
    await storage.clients.change_limits(CLIENT.id, lambda _: limits, lambda *_: entry)
    for order in (*orders, dead):
        await storage.orders.add(order, an_event(order))
    moved = replace(orders[0], status=OrderStatus.SUBMITTED)
    assert await storage.orders.update(moved, an_event(moved, "relay_accepted"))
    await _store_for_pages(storage, clock, entry)
    watches = await _store_what_is_told(storage)
    before = [
        told(await storage.orders.page("client-1", WALLET, s, 200, 0)) for s in (None, *OrderStatus)
    ]
    open_before = await storage.orders.watched()
    diary = await storage.orders.events(moved.order_id)
    await storage.close()

    copied = await copy_storage(old, new)
    assert copied == {
        "clients": 2, "api_keys": 2, "web_sessions": 1, "quotes": 1, "orders": 8, "order_bytes": 8,
        "order_events": 9, "order_counts": 3, "wallet_rpc_tokens": 1, "events": 1,
        "event_counters": 1, "webhooks": 1, "webhook_deliveries": 1, "client_limits": 1,
        "client_usage": 1, "audit_log": 3, "operators": 1, "operator_sessions": 1,
        "paused_sources": 1, "operator_figures": 1, "service_processes": 1, "relay_health": 1,
        "watches": 2, "watch_events": 1,
    }  # fmt: skip
    storage = await open_storage(new, clock=clock)
    assert await storage.keys.find(b"hash") == replace(KEY, limits=limits)
    await _check_what_is_told(storage, watches)
    assert (await storage.audit.list(0, 10))[0] == entry
    assert await storage.operators.session(b"session", T0) is not None
    assert await storage.paused_sources.list() == [PAUSED]
    assert await storage.usage.day(CLIENT.id, day_of(T0)) == DayUsage(1, 8, 0)
    assert await storage.clients.list() == [CLIENT]
    assert await storage.quotes.by_id("client-1", quote.quote_id) == quote
    assert await storage.rpc_tokens.find(b"token") == TOKEN
    after = [
        told(await storage.orders.page("client-1", WALLET, s, 200, 0)) for s in (None, *OrderStatus)
    ]
    assert after == before
    assert await storage.orders.watched() == open_before
    assert await storage.orders.events(moved.order_id) == diary
    again = replace(an_order(), tx_hash=orders[1].tx_hash)
    with pytest.raises(DuplicateTransaction):
        await storage.orders.add(again, an_event(again))
    assert await storage.orders.update(replace(orders[1], status=OrderStatus.SUBMITTED), None)
    submitted = (await storage.orders.page("client-1", WALLET, OrderStatus.SUBMITTED, 1, 0)).total
    assert submitted == 2
    await storage.close()


async def test_a_file_of_the_first_release_is_brought_forward_first(old: str, new: str) -> None:
    database = await open_database(old)
    await migrate.migrate(database, migrate.known()[:1])
    await database.change("INSERT INTO order_bytes VALUES ('order-1', X'02')")
    await database.close()
    assert (await copy_storage(old, new))["order_bytes"] == 1
    assert await rows(new, "SELECT order_id, raw FROM order_bytes") == [("order-1", b"\x02")]
    with pytest.raises(CannotCopy, match="not empty: order_bytes"):
        await copy_storage(old, new)
    versions = await rows(old, "SELECT version FROM schema_version")
    assert versions == [(1,)], "the first release can still open it"


async def test_a_disk_without_room_for_the_copy_is_named(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_source: Path, _file: Path) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    database = await open_database(old)
    await migrate.migrate(database, migrate.known()[:1])
    await database.close()
    monkeypatch.setattr(sqlite_to_postgres, "_back_up", full)
    with pytest.raises(CannotCopy, match=f"made in {tmp_path}: database or disk is full"):
        await copy_storage(old, new)
    assert not await asyncio.to_thread(lambda: list(tmp_path.glob("quietswap-*")))


async def test_a_copy_that_breaks_in_the_middle_leaves_nothing(old: str, new: str) -> None:
    database = await open_database(old)
    await migrate.migrate(database)
    await database.change("INSERT INTO clients VALUES ('client-1', 'good', 1, NULL)")
    await database.change(
        "INSERT INTO order_counts VALUES ('client-1', ?, 'pending', 1)", "no text in PostgreSQL: \0"
    )
    await database.close()
    with pytest.raises(Exception, match="0x00"):
        await copy_storage(old, new)
    assert await rows(new, "SELECT * FROM clients") == []


async def test_a_database_with_rows_is_refused_and_left_alone(
    old: str, new: str, clock: HandClock
) -> None:
    storage = await open_storage(old, clock=clock)
    await storage.keys.add(KEY, b"hash", CLIENT)
    await storage.close()
    await copy_storage(old, new)
    with pytest.raises(CannotCopy, match="not empty: clients"):
        await copy_storage(old, new)
    assert len(await rows(new, "SELECT * FROM api_keys")) == 1


@pytest.mark.parametrize("purpose", ["server", "tracker"])
async def test_a_file_that_is_served_from_is_refused(
    old: str, new: str, purpose: str, tmp_path: Path
) -> None:
    await asyncio.to_thread((tmp_path / "old.db").touch)
    serving = FileLeaderLock(tmp_path / "old.db", purpose)
    assert await serving.acquire_or_renew()
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
    assert {name for (name,) in tables} == {*TABLES, "schema_version", "schema_expansions"}
