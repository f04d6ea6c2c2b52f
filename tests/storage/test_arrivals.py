"""What the tracker asks for at every block."""

from dataclasses import replace

import pytest

from quietswap.domain.order import Status
from quietswap.storage.open import Storage
from tests.storage.examples import an_event, an_order

API_WRITES = {Status.PENDING, Status.SUBMITTED, Status.FAILED}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("watched", [True, False])
async def test_watched_orders_in_a_state_the_api_writes_arrive(
    storage: Storage, status: Status, watched: bool
) -> None:
    order = an_order(status=status, watched=watched)
    await storage.orders.add(order, an_event(order))
    arrives = watched and status in API_WRITES
    assert await storage.orders.arrivals() == ([(order.order_id, 0)] if arrives else [])


async def test_an_arrival_carries_the_version_it_has_now(storage: Storage) -> None:
    order = an_order()
    await storage.orders.add(order, an_event(order))
    assert await storage.orders.update(replace(order, status=Status.SUBMITTED), None)
    assert await storage.orders.arrivals() == [(order.order_id, 1)]
    assert await storage.orders.update(replace(order, status=Status.MINING, version=1), None)
    assert await storage.orders.arrivals() == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_sqlite_answers_arrivals_from_their_index_alone(storage: Storage) -> None:
    plan = await storage.database.fetch(
        "EXPLAIN QUERY PLAN SELECT order_id, version FROM orders "
        "WHERE watched = 1 AND status IN ('pending', 'submitted', 'failed')"
    )
    assert "COVERING INDEX orders_arrivals" in str([tuple(row) for row in plan])
