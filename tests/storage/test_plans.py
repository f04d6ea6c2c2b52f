"""A page of history is read from an index alone, on both databases, whatever else is stored."""

import pytest

from quietswap.rules.orders.order import OrderStatus
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.order_pages import page_sql
from tests.storage.examples import T0, WALLET, an_event, an_order
from tests.storage.sqlite_plans import plan_of

_CASES = [
    (None, ("client-1", WALLET), "orders_history"),
    (OrderStatus.PENDING, ("client-1", WALLET, "pending"), "orders_history_by_status"),
]
_OFFSET, _LIMIT = 4_000, 50


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("status", "of", "index"), _CASES)
async def test_sqlite_pages_by_the_index(
    storage: Storage, status: OrderStatus | None, of: tuple[str, ...], index: str
) -> None:
    args = (*of, *of, _LIMIT, _OFFSET)
    plan = await plan_of(storage, page_sql("sqlite", status), args)
    assert f"SEARCH orders USING COVERING INDEX {index} " in plan
    assert "SEARCH orders USING COVERING INDEX orders_converted " in plan
    assert "TEMP" not in plan, "the index already has the order"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("status", "of", "index"), _CASES)
async def test_postgresql_pages_by_the_index(
    storage: Storage, status: OrderStatus | None, of: tuple[str, ...], index: str
) -> None:
    await _many_orders(storage)
    plan = await _plan(storage, status, of)
    assert f"Index Only Scan using {index} on orders" in plan
    assert "Heap Fetches: 0" in plan
    assert "Sort" not in plan, "the index already has the order"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("status", "of", "index"), _CASES)
async def test_vacuum_sweeps_what_few_orders_leave(
    storage: Storage, status: OrderStatus | None, of: tuple[str, ...], index: str
) -> None:
    await _many_orders(storage)
    await storage.database.change(
        "UPDATE orders SET version = version + 1, attempts = 2 WHERE created_at_ms > ?", T0 + 29_900
    )
    assert "Heap Fetches: 0" not in await _plan(storage, status, of)
    await storage.database.change("VACUUM orders")
    assert "Heap Fetches: 0" in await _plan(storage, status, of)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_vacuum_comes_after_a_number_of_changes_not_a_share(storage: Storage) -> None:
    rows = await storage.database.fetch(
        "SELECT reloptions FROM pg_class WHERE oid = CAST('orders' AS regclass)"
    )
    options = dict(option.split("=") for option in rows[0][0])
    assert options == {
        "autovacuum_vacuum_scale_factor": "0",
        "autovacuum_vacuum_threshold": "20000",
        "autovacuum_vacuum_insert_scale_factor": "0",
        "autovacuum_vacuum_insert_threshold": "20000",
        "vacuum_index_cleanup": "on",
    }


async def _plan(storage: Storage, status: OrderStatus | None, of: tuple[str, ...]) -> str:
    """Return how the lines are read: without the index of the few swaps that convert ETH."""
    sql = f"EXPLAIN (ANALYZE) {page_sql('postgresql', status)}"
    rows = await storage.database.fetch(sql, *of, *of, _LIMIT, _OFFSET)
    lines, conversions = "\n".join(row[0] for row in rows).split("SubPlan")
    assert "Index Only Scan using orders_converted" in conversions
    return lines


async def _many_orders(storage: Storage) -> None:
    """A million would do no more: PostgreSQL must only find a scan of the table too dear."""
    order = an_order(status=OrderStatus.PENDING)
    await storage.orders.add(order, an_event(order))
    columns = await storage.database.fetch(
        "SELECT string_agg(CASE column_name WHEN 'order_id' THEN '''o'' || i' "
        f"WHEN 'tx_hash' THEN '''h'' || i' WHEN 'created_at_ms' THEN 'i + {T0}' "
        "WHEN 'status' THEN 'CASE WHEN i % 3 = 0 THEN status ELSE ''failed'' END' "
        "WHEN 'wallet' THEN 'CASE WHEN i % 2 = 0 THEN wallet ELSE ''w'' || i END' "
        "ELSE column_name END, ', ' ORDER BY ordinal_position) "
        "FROM information_schema.columns WHERE table_name = 'orders'"
    )
    await storage.database.change(
        f"INSERT INTO orders SELECT {columns[0][0]} FROM orders, generate_series(1, 30000) i"
    )
    await storage.database.change("VACUUM ANALYZE orders")
