"""GET /api/v1/mev/orders/user/:userAddress: the key's orders of one wallet, newest first."""

from quietswap.domain.address import Address
from quietswap.domain.order import Status
from quietswap.domain.requests import HistoryPage
from quietswap.ports.stores import ApiKey, OrderStore


class OrderHistory:
    """Only orders of the asking key; ties in time go by order id."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(
        self, key: ApiKey, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        """Return one page and the total behind the same filter, from one snapshot."""
        orders, total = await self._orders.page(key.id, wallet, status, limit, offset)
        return HistoryPage(orders=tuple(orders), total=total)
