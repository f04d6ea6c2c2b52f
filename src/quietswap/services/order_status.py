"""GET /api/v1/mev/orders/:orderId, from the store alone: polling never costs node calls."""

from quietswap.domain.errors import OrderNotFound
from quietswap.domain.order_record import OrderRecord
from quietswap.ports.stores import ApiKey, OrderStore


class OrderStatus:
    """An order of another key looks exactly like one that does not exist."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(self, key: ApiKey, order_id: str) -> OrderRecord:
        """Return this key's order. Raises OrderNotFound."""
        order = await self._orders.record(key.id, order_id)
        if order is None:
            raise OrderNotFound
        return order
