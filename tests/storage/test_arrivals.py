"""What the tracker asks for at every block."""

from dataclasses import replace

import pytest

from quietswap.rules.orders.order import OrderStatus
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.orders import ARRIVALS
from tests.storage.examples import an_event, an_order

API_WRITES = {OrderStatus.PENDING, OrderStatus.SUBMITTED, OrderStatus.FAILED}


@pytest.mark.parametrize("status", OrderStatus)
@pytest.mark.parametrize("watched", [True, False])
async def test_watched_orders_in_a_state_the_api_writes_arrive(
    storage: Storage, status: OrderStatus, watched: bool
) -> None:
    order = an_order(status=status, watched=watched)
    await storage.orders.add(order, an_event(order))
    arrives = watched and status in API_WRITES
    assert await storage.orders.arrivals() == ([(order.order_id, 0)] if arrives else [])


async def test_an_arrival_carries_the_version_it_has_now(storage: Storage) -> None:
    order = an_order()
    await storage.orders.add(order, an_event(order))
    assert await storage.orders.update(replace(order, status=OrderStatus.SUBMITTED), None)
    assert await storage.orders.arrivals() == [(order.order_id, 1)]
    assert await storage.orders.update(replace(order, status=OrderStatus.MINING, version=1), None)
    assert await storage.orders.arrivals() == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_sqlite_answers_arrivals_from_their_index_alone(storage: Storage) -> None:
    plan = await storage.database.fetch(f"EXPLAIN QUERY PLAN {ARRIVALS}", 0)
    steps = [row[3] for row in plan if " orders " in row[3]]
    assert "COVERING INDEX orders_arrivals" in steps[0]
    assert "SEARCH orders USING COVERING INDEX orders_failed (expires_at_ms>?)" in steps[1]


async def test_failed_ones_arrive_for_a_while_only(storage: Storage) -> None:
    order = an_order(status=OrderStatus.FAILED)
    await storage.orders.add(order, an_event(order))
    expiry = order.expires_at_ms
    assert await storage.orders.arrivals(expiry - 1) == [(order.order_id, 0)]
    assert await storage.orders.arrivals(expiry) == []
