"""A client's orders: one, or all of a wallet. From the store only: polling costs no node calls."""

from cachetools import TTLCache

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.requests import OrderNotFound
from quietswap.rules.orders.order import OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage, OrderView
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.storage.orders import OrderStore

_MOST_READERS = 4096
_TTL_S = 300.0


class GetOrderHistory:
    """Return only orders of the calling key; equal times are ordered by order id.

    New orders appear only at the front. A reader that starts at offset 0 and follows `nextOffset`
    reads the history as of its start: later pages skip newer orders, and `total` stays. It passes
    the first page's total as `as_of`. For a reader that does not, the total of the last start is
    cached in this process for five minutes per key and wallet: of two such readers, the first may
    get an order twice. Pages filtered by status are live, because orders enter and leave a filter
    at any place.
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
        kind: OrderKind | None,
        as_of: int | None = None,
    ) -> OrderPage:
        """Return one page and the total of the same filter, from one snapshot.

        `kind` None lists all kinds. Without `as_of`, pages with other kinds than swaps are live, as
        filtered ones.
        """
        page = await self._orders.page(key.client_id, wallet, status, limit, offset, kind)
        if status is not None:
            return page
        if as_of is None and kind is OrderKind.SWAP:
            reader = key.id, wallet
            if offset == 0:
                self._totals[reader] = page.total
            as_of = self._totals.get(reader)
        if as_of is None or page.total <= as_of:
            return page
        return await self._behind(key, wallet, as_of, page.total - as_of, limit, offset, kind)

    async def _behind(  # noqa: PLR0917
        self,
        key: ApiKey,
        wallet: Address,
        total: int,
        arrived: int,
        limit: int,
        offset: int,
        kind: OrderKind | None,
    ) -> OrderPage:
        """Return the page behind the orders that arrived since the reader's start."""
        page = await self._orders.page(key.client_id, wallet, None, limit, offset + arrived, kind)
        # orders that arrived between the two reads are at the front again
        first = max(page.total - total - arrived, 0)
        return OrderPage(page.orders[first:], total)


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
