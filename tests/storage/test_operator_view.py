"""What the operator view reads over all clients, on both databases."""

from dataclasses import replace

import pytest

from quietswap.rules.clients import ApiKey, AuditEntry, Client, ClientLimits, day_of
from quietswap.rules.operator.operators import OrderPlace, PausedSource
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.operator_view import (
    CLIENTS,
    OF_CLIENT,
    OF_PREFIX,
    OF_WALLET,
    OPEN,
    OperatorSearch,
)
from tests.storage.examples import OTHER_WALLET, T0, WALLET, an_event, an_order, move_to

LATEST = 2**62


def of_time(prefix: str, second: int, **changes: object) -> Order:
    at = T0 + second * 1000
    identity = f"{prefix}_{at:012x}{second:020x}"
    return an_order(order_id=identity, created_at_ms=at, **changes)


@pytest.fixture
def search(storage: Storage) -> OperatorSearch:
    return OperatorSearch(storage.database)


async def stored(storage: Storage) -> list[str]:
    """Store six orders of two clients, two wallets and three kinds; return ids, newest first."""
    orders = [
        of_time("ord", 1),
        of_time("wrp", 2, kind=OrderKind.WRAP),
        of_time("ord", 3, client_id="client-2"),
        of_time("cnl", 4, kind=OrderKind.CANCEL),
        of_time("ord", 5, wallet=OTHER_WALLET),
        of_time("ord", 6, client_id="client-2"),
    ]
    for order in orders:
        await storage.orders.add(order, an_event(order))
    return [order.order_id for order in reversed(orders)]


async def test_orders_of_all_clients_and_kinds_page_by_page(
    storage: Storage, search: OperatorSearch
) -> None:
    ids = await stored(storage)
    first = await search.newest(None, 4)
    assert [order.order_id for order in first] == ids[:4]
    assert first[0].raw is None
    place = OrderPlace(first[-1].created_at_ms, first[-1].order_id)
    assert [order.order_id for order in await search.newest(place, 4)] == ids[4:]


async def test_orders_of_a_wallet_over_all_clients(
    storage: Storage, search: OperatorSearch
) -> None:
    ids = await stored(storage)
    mine = [ids[0], *ids[2:]]
    for spelling in (WALLET, WALLET.lower(), WALLET.upper()):
        assert [one.order_id for one in await search.of_wallet(spelling, None, 9)] == mine
    [first] = await search.of_wallet(WALLET, None, 1)
    place = OrderPlace(first.created_at_ms, first.order_id)
    assert [one.order_id for one in await search.of_wallet(WALLET, place, 9)] == mine[1:]
    assert await search.of_wallet("0x' OR 1=1 --", None, 9) == []


async def test_orders_of_a_client(storage: Storage, search: OperatorSearch) -> None:
    ids = await stored(storage)
    found = await search.of_client("client-2", None, 9)
    assert [order.order_id for order in found] == [ids[0], ids[3]]
    place = OrderPlace(found[0].created_at_ms, found[0].order_id)
    assert [one.order_id for one in await search.of_client("client-2", place, 9)] == [ids[3]]


async def test_open_orders_are_counted_by_status(storage: Storage, search: OperatorSearch) -> None:
    assert await search.open_orders() == {}
    orders = [of_time("ord", second) for second in range(1, 5)]
    for order in orders:
        await storage.orders.add(order, an_event(order))
    await move_to(storage.orders, orders[0], OrderStatus.SUBMITTED)
    await move_to(storage.orders, orders[1], OrderStatus.FAILED)
    assert await search.open_orders() == {
        "pending": (2, orders[2].created_at_ms),
        "submitted": (1, orders[0].created_at_ms),
    }


async def test_clients_with_keys_limits_and_usage(storage: Storage, search: OperatorSearch) -> None:
    clients = [Client(f"client-{n}", f"name {n}", T0 + n) for n in (1, 2, 3)]
    for client in (*clients, Client("web_1", "web page", T0 + 9)):
        await storage.clients.add(client)
    key = ApiKey("key-1", "bot", T0, None, "client-1")
    await storage.keys.add(key, b"1")
    limits = ClientLimits(open_orders=7)
    await storage.clients.change_limits("client-1", lambda _: limits)
    order = of_time("ord", 1)
    await storage.orders.add(order, an_event(order))
    day = day_of(order.created_at_ms)
    rows = await search.clients(None, 2, day)
    assert [row.client for row in rows] == [clients[2], clients[1]]
    [row] = await search.clients((T0 + 2, "client-2"), 2, day)
    assert row == await search.client(clients[0], day)
    assert (row.client, row.limits, row.open_orders) == (clients[0], limits, 1)
    assert (row.today.orders, row.today.quotes) == (1, 0)
    assert row.keys == [replace(key, limits=limits)]
    assert await search.key("key-1") == replace(key, limits=limits)
    assert await search.key("key-2") is None


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("sql", "args", "index"),
    [
        (OF_PREFIX, ("ord_", "ord_g", 50), "sqlite_autoindex_orders_1"),
        (OF_WALLET, (WALLET.lower(), LATEST, "", 50), "orders_of_any_client"),
        (OF_CLIENT, ("client-1", LATEST, "", 50), "orders_by_time"),
        (CLIENTS, (LATEST, "", 50), "clients_by_age"),
        (OPEN, (50,), "orders_open"),
    ],
)
async def test_sqlite_reads_a_range_of_an_index(
    storage: Storage, sql: str, args: tuple[str | int, ...], index: str
) -> None:
    rows = await storage.database.fetch(f"EXPLAIN QUERY PLAN {sql}", *args)
    steps = [row[3] for row in rows]
    assert any(f"INDEX {index}" in step for step in steps), steps
    if sql != OPEN:
        assert not any("TEMP" in step for step in steps), "the index already has the order"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_postgresql_reads_a_wallet_by_its_index(storage: Storage) -> None:
    await storage.database.change(
        "INSERT INTO orders (order_id, client_id, kind, wallet, nonce, tx_hash, sell_token, "
        "buy_token, sell_amount, min_buy_amount, created_at_ms, status, buy_amount, tier, "
        "endpoint_type, share_mode, expires_at_ms, watch_until_ms, attempts, watched, version) "
        "SELECT 'ord_' || n, 'client-' || n % 9, 'swap', 'W' || n % 999, '1', 'h' || n, 's', 'b', "
        "'1', '1', n, 'confirmed', '1', 2, 'fast', 'none', 1, 1, 1, 0, 1 "
        "FROM generate_series(1, 30000) AS n"
    )
    await storage.database.change("ANALYZE orders")
    rows = await storage.database.fetch(f"EXPLAIN {OF_WALLET}", "w5", LATEST, "", 50)
    plan = "\n".join(row[0] for row in rows)
    assert "orders_of_any_client" in plan
    assert "Seq Scan" not in plan


async def test_a_source_is_paused_once(storage: Storage) -> None:
    paused = PausedSource("velora", T0, "alice", "maintenance")

    def entry(number: int) -> AuditEntry:
        return AuditEntry(f"aud_{number}", T0 + number, {"operator": "alice"}, "source_paused", {})

    assert await storage.paused_sources.pause(paused, entry(1))
    assert not await storage.paused_sources.pause(replace(paused, reason="other"), entry(2))
    assert await storage.paused_sources.list() == [paused]
    assert await storage.paused_sources.resume("velora", entry(3))
    assert not await storage.paused_sources.resume("velora", entry(4))
    assert await storage.paused_sources.list() in ([], ())
    assert [one.id for one in await storage.audit.list(0, 9)] == ["aud_1", "aud_3"]
