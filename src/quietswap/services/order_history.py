"""GET /api/v1/mev/orders/user/:userAddress: the key's orders of one wallet, newest first."""

from collections import OrderedDict
from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.domain.order import Status
from quietswap.domain.order_record import HistoryPage
from quietswap.ports.outside import Clock
from quietswap.ports.stores import ApiKey, OrderStore

_MOST_READERS = 4096
_LASTS_S = 300.0


@dataclass(frozen=True, slots=True)
class _Reading:
    """How many orders there were when a reader began, and when that was."""

    total: int
    began: float


class OrderHistory:
    """Only orders of the asking key; ties in time go by order id.

    Orders are only ever added, and in front. So a reader who began at offset 0 and follows
    `nextOffset` is shown the history as it was then: later pages skip what came since, and `total`
    stays. The beginning is remembered for five minutes, in this process, for the whole history of a
    wallet; pages filtered by status are live, because orders enter and leave a filter anywhere.
    """

    def __init__(self, orders: OrderStore, clock: Clock) -> None:
        self._orders = orders
        self._clock = clock
        self._readings: OrderedDict[tuple[str, Address], _Reading] = OrderedDict()

    async def __call__(
        self, key: ApiKey, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        """Return one page and the total behind the same filter, from one snapshot."""
        if status is not None:
            return await self._orders.page(key.id, wallet, status, limit, offset)
        if offset == 0:
            page = await self._orders.page(key.id, wallet, None, limit, 0)
            self._begin(key, wallet, page.total)
            return page
        began = self._readings.get((key.id, wallet))
        if began is None or self._clock.monotonic() - began.began > _LASTS_S:
            return await self._orders.page(key.id, wallet, None, limit, offset)
        return await self._since(key, wallet, began, limit, offset)

    async def _since(
        self, key: ApiKey, wallet: Address, began: _Reading, limit: int, offset: int
    ) -> HistoryPage:
        page = await self._orders.page(key.id, wallet, None, limit, offset)
        arrived = page.total - began.total
        if arrived > 0:
            page = await self._orders.page(key.id, wallet, None, limit, offset + arrived)
            # what arrived between the two looks stands in front once more
            first = max(page.total - began.total - arrived, 0)
            page = HistoryPage(page.orders[first:], began.total)
        return page

    def _begin(self, key: ApiKey, wallet: Address, total: int) -> None:
        self._readings[key.id, wallet] = _Reading(total, self._clock.monotonic())
        self._readings.move_to_end((key.id, wallet))
        while len(self._readings) > _MOST_READERS:
            self._readings.popitem(last=False)
