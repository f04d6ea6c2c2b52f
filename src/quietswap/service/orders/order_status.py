"""GET /api/v1/mev/orders/:orderId, from the store only: polling costs no node calls."""

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.requests import OrderNotFound
from quietswap.rules.orders.order_views import OrderView
from quietswap.service.storage.orders import OrderStore


class GetOrderStatus:
    """Answer for an order of another key exactly as for one that does not exist."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(self, key: ApiKey, order_id: str) -> OrderView:
        """Return this client's order. Raises OrderNotFound."""
        order = await self._orders.record(key.client_id, order_id)
        if order is None:
            raise OrderNotFound
        return order
