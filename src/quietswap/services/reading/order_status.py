"""GET /api/v1/mev/orders/:orderId, from the store only: polling costs no node calls."""

from collections.abc import Callable

from quietswap.domain.errors.order import OrderNotFound
from quietswap.domain.order.order_view import OrderT, OrderView
from quietswap.ports.clients import ApiKey
from quietswap.ports.stores import OrderStore


class GetOrderStatus:
    """Answer for an order of another key exactly as for one that does not exist."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(
        self, key: ApiKey, order_id: str, render: Callable[[OrderView], OrderT]
    ) -> OrderT:
        """Return what `render` makes of this client's order. Raises OrderNotFound."""
        order = await self._orders.rendered(key.client_id, order_id, render)
        if order is None:
            raise OrderNotFound
        return order
