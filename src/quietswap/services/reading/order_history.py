"""GET /api/v1/mev/orders/user/:userAddress: the client's orders of one wallet, newest first."""

from cachetools import TTLCache

from quietswap.domain.address import Address
from quietswap.domain.order.order import OrderKind, OrderStatus
from quietswap.domain.order.order_view import OrderPage
from quietswap.ports.clients import ApiKey
from quietswap.ports.clock import Clock
from quietswap.ports.stores import OrderStore

_MOST_READERS = 4096
_TTL_S = 300.0


class GetOrderHistory:
    """Return only orders of the calling key; equal times are ordered by order id.

    New orders appear only at the front. A reader that starts at offset 0 and follows `nextOffset`
    reads the history as of its start: later pages skip newer orders, and `total` stays. The total
    is cached in this process for five minutes per wallet. Pages filtered by status are live,
    because orders enter and leave a filter at any place.
    """

    def __init__(self, orders: OrderStore, clock: Clock) -> None:
        self._orders = orders
        self._totals: TTLCache[tuple[str, Address], int]
        self._totals = TTLCache(_MOST_READERS, _TTL_S, timer=clock.monotonic)

    async def __call__(  # noqa: PLR0917  the arguments of the endpoint in their order
        self,
        key: ApiKey,
        wallet: Address,
        status: OrderStatus | None,
        limit: int,
        offset: int,
        kind: OrderKind | None = OrderKind.SWAP,
    ) -> OrderPage:
        """Return one page and the total of the same filter; `kind` None lists all kinds.

        Both come from one snapshot for swaps. Pages with other kinds are live, as filtered ones.
        """
        if kind is not OrderKind.SWAP:
            return await self._orders.page_of_kind(
                key.client_id, wallet, kind, status, limit=limit, offset=offset
            )
        if status is not None:
            return await self._orders.page(key.client_id, wallet, status, limit, offset)
        if offset == 0:
            page = await self._orders.page(key.client_id, wallet, None, limit, 0)
            self._totals[key.client_id, wallet] = page.total
            return page
        total = self._totals.get((key.client_id, wallet))
        if total is None:
            return await self._orders.page(key.client_id, wallet, None, limit, offset)
        return await self._since(key, wallet, total, limit, offset)

    async def _since(
        self, key: ApiKey, wallet: Address, total: int, limit: int, offset: int
    ) -> OrderPage:
        page = await self._orders.page(key.client_id, wallet, None, limit, offset)
        arrived = page.total - total
        if arrived > 0:
            page = await self._orders.page(key.client_id, wallet, None, limit, offset + arrived)
            # orders that arrived between the two reads are at the front again
            first = max(page.total - total - arrived, 0)
            page = OrderPage(page.orders[first:], total)
        return page
