"""Deep pages never touch the rows they skip: both databases answer them from an index alone."""

import pytest

from quietswap.domain.order import Status
from quietswap.storage.open import Storage
from tests.storage.examples import WALLET, an_event, an_order

_SKIP = """
SELECT order_id FROM orders WHERE kind = 'swap' AND key_id = 'key-1' AND wallet = '{wallet}' {also}
ORDER BY created_at_ms DESC, order_id DESC LIMIT 50 OFFSET 10000
"""
_CASES = [("", "orders_history"), ("AND status = 'pending'", "orders_history_by_status")]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("also", "index"), _CASES)
async def test_sqlite_skips_inside_the_index(storage: Storage, also: str, index: str) -> None:
    sql = "EXPLAIN QUERY PLAN " + _SKIP.format(wallet=WALLET, also=also)
    plan = [row[3] for row in await storage.database.fetch(sql)]
    assert len(plan) == 1, "a second step would be a sort"
    assert f"USING COVERING INDEX {index} " in plan[0]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("also", "index"), _CASES)
async def test_postgresql_skips_inside_the_index(storage: Storage, also: str, index: str) -> None:
    await _many_orders(storage)
    sql = "EXPLAIN " + _SKIP.format(wallet=WALLET, also=also)
    plan = "\n".join(row[0] for row in await storage.database.fetch(sql))
    assert f"Index Only Scan using {index} on orders" in plan
    assert "Sort" not in plan


async def _many_orders(storage: Storage) -> None:
    """A million would do no more: PostgreSQL must only find a scan of the table too dear."""
    order = an_order(status=Status.PENDING)
    await storage.orders.add(order, an_event(order))
    columns = await storage.database.fetch(
        "SELECT string_agg(CASE column_name WHEN 'order_id' THEN '''o'' || i' "
        "WHEN 'tx_hash' THEN '''h'' || i' WHEN 'created_at_ms' THEN 'i' "
        "WHEN 'status' THEN 'CASE WHEN i % 3 = 0 THEN status ELSE ''failed'' END' "
        "WHEN 'wallet' THEN 'CASE WHEN i % 2 = 0 THEN wallet ELSE ''w'' || i END' "
        "ELSE column_name END, ', ' ORDER BY ordinal_position) "
        "FROM information_schema.columns WHERE table_name = 'orders'"
    )
    await storage.database.change(
        f"INSERT INTO orders SELECT {columns[0][0]} FROM orders, generate_series(1, 30000) i"
    )
    await storage.database.change("VACUUM ANALYZE orders")
