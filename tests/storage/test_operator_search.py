"""The operator's search through all orders, on both databases."""

from dataclasses import replace

from quietswap.rules.orders.order import OrderStatus
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.order_search import OrderFilter, search_orders
from tests.storage.examples import OTHER_WALLET, T0, WALLET, an_event, an_order


async def test_each_condition_and_the_limit(storage: Storage) -> None:
    orders = [
        an_order(created_at_ms=T0),
        an_order(created_at_ms=T0 + 1000, client_id="client-2"),
        an_order(created_at_ms=T0 + 2000, wallet=OTHER_WALLET, status=OrderStatus.SUBMITTED),
    ]
    for order in orders:
        await storage.orders.add(order, an_event(order))
    first, second, third = (order.order_id for order in orders)

    async def found(limit: int = 10, **wanted: object) -> list[str]:
        rows = await search_orders(storage.database, OrderFilter(**wanted), limit)  # type: ignore[arg-type]
        return [row.order_id for row in rows]

    assert await found() == [third, second, first]
    assert await found(limit=2) == [third, second]
    assert await found(wallet=WALLET) == [second, first]
    assert await found(wallet=WALLET, client_id="client-2") == [second]
    assert await found(status=OrderStatus.SUBMITTED) == [third]
    assert await found(since_ms=T0 + 1000) == [third, second]
    assert await found(wallet="0x' OR 1=1 --") == []
    [row] = await search_orders(storage.database, OrderFilter(client_id="client-2"), 1)
    assert row == replace(orders[1], raw=None, version=row.version)
