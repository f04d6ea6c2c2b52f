"""What was read of orders, in memory for as long as nothing about them changes.

Whoever polls asks for the same order again and again, and its row changes a handful of times in its
life. A read costs a statement of the database, and SQLite's lets the server's threads and the
interpreter change places several times: that is most of what a status answer takes.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from quietswap.domain.address import Address
from quietswap.domain.order import Order, OrderEvent, Status
from quietswap.domain.order_record import HistoryPage, OrderRecord
from quietswap.ports.stores import DuplicateTransaction
from quietswap.storage.database import Database
from quietswap.storage.orders import DatabaseOrders

RECORDS, LINES = 8_192, 8_192
"""Orders kept, and lines of history pages (a page counts as one more): some 1.5 KB each."""

Owner = tuple[str, Address]
"""A key and a wallet: whose history it is."""
_Place = tuple[Status | None, int, int]
"""A page of it: filter, limit, offset."""


class KeptOrders(DatabaseOrders):
    """Implements OrderStore for a process that alone writes orders to its database.

    What is kept of an order and of its owner's pages goes when a write begins, and until the write
    has ended neither is kept. Where its end stays unknown (StoreDown, or nobody waited for it) it
    may still come true: then they are never kept again, and each read asks the database.
    """

    def __init__(self, database: Database, records: int = RECORDS, lines: int = LINES) -> None:
        super().__init__(database)
        self._most_records, self._most_lines = records, lines
        self._records: OrderedDict[str, tuple[str, OrderRecord]] = OrderedDict()
        self._pages: OrderedDict[Owner, dict[_Place, HistoryPage]] = OrderedDict()
        self._lines = 0
        self._writing: Counter[str | Owner] = Counter()
        self._ended = 0

    async def add(self, order: Order, event: OrderEvent) -> None:
        with self._changing(order):
            await super().add(order, event)

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        with self._changing(order):
            return await super().update(order, event)

    @contextmanager
    def _changing(self, order: Order) -> Iterator[None]:
        owner = order.key_id, order.wallet
        self._records.pop(order.order_id, None)
        self._drop(owner)
        self._writing.update((order.order_id, owner))
        try:
            yield
        except DuplicateTransaction:  # nothing was written
            self._end(order.order_id, owner)
            raise
        self._end(order.order_id, owner)

    def _end(self, *subjects: str | Owner) -> None:
        self._ended += 1
        for subject in subjects:
            self._writing[subject] -= 1
            if not self._writing[subject]:
                del self._writing[subject]

    async def record(self, key_id: str, order_id: str) -> OrderRecord | None:
        kept = self._records.get(order_id)
        if kept is not None and kept[0] == key_id:
            self._records.move_to_end(order_id)
            return kept[1]
        ended = self._ended
        found = await super().record(key_id, order_id)
        if found is not None and self._may_keep(order_id, ended):
            self._records[order_id] = key_id, found
            if len(self._records) > self._most_records:
                self._records.popitem(last=False)
        return found

    async def page(
        self, key_id: str, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        owner, place = (key_id, wallet), (status, limit, offset)
        kept = self._pages.get(owner, {}).get(place)
        if kept is not None:
            self._pages.move_to_end(owner)
            return kept
        ended = self._ended
        page = await super().page(key_id, wallet, status, limit, offset)
        if self._may_keep(owner, ended):
            self._keep_page(owner, place, page)
        return page

    def _may_keep(self, subject: str | Owner, ended: int) -> bool:
        """Return whether no write of it is under way, and none has ended since the read began."""
        return subject not in self._writing and ended == self._ended

    def _keep_page(self, owner: Owner, place: _Place, page: HistoryPage) -> None:
        pages = self._pages.setdefault(owner, {})
        if place not in pages:  # else another reader was quicker
            pages[place] = page
            self._lines += _lines(page)
        self._pages.move_to_end(owner)
        while self._lines > self._most_lines:
            self._drop(next(iter(self._pages)))

    def _drop(self, owner: Owner) -> None:
        self._lines -= sum(map(_lines, self._pages.pop(owner, {}).values()))


def _lines(page: HistoryPage) -> int:
    return len(page.orders) + 1
