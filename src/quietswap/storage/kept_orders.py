"""What was read of orders, in memory for as long as nothing about them changes.

Whoever polls asks for the same order again and again, and its row changes a handful of times in its
life. A read costs a statement of the database, and SQLite's lets the server's threads and the
interpreter change places several times: that is most of what a status answer takes.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quietswap.domain.address import Address
from quietswap.domain.order import Order, OrderEvent, Status
from quietswap.domain.order_record import HistoryPage, OrderRecord
from quietswap.ports.outside import Clock
from quietswap.ports.stores import DuplicateTransaction
from quietswap.storage.database import Database
from quietswap.storage.orders import DatabaseOrders

RECORDS, LINES = 4_096, 4_096
"""Orders kept, and lines of history pages (a page counts as one more): some 1.5 KB each."""
LASTS_S = 30.0
"""How long anything is kept: the bound of every mistake about who writes."""
DOUBT_S = 60.0
"""How long nothing is kept after a write whose end is unknown."""
SETTLES_S = 12.0
"""How long nothing is kept when a term begins: what its last holder had begun ends meanwhile."""

Owner = tuple[str, Address]
"""A key and a wallet: whose history it is."""
_Place = tuple[Status | None, int, int]
"""A page of it: filter, limit, offset."""
Term = Callable[[], object | None]
"""Tells since when this process alone writes orders, as a value that changes when that begins anew;
None while another one may."""


class KeptOrders(DatabaseOrders):
    """Implements OrderStore for a process that at times is the only one to write orders.

    What is kept of an order and of its owner's pages goes when a write begins, and until the write
    has ended neither is kept. Everything goes when the term changes, and after a write whose end is
    unknown (StoreDown, or nobody waited for it), since such a write may still come true.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        term: Term,
        records: int = RECORDS,
        lines: int = LINES,
    ) -> None:
        super().__init__(database)
        self._clock = clock
        self._term = term
        self._most_records, self._most_lines = records, lines
        self._records: OrderedDict[str, tuple[float, str, OrderRecord]] = OrderedDict()
        self._pages: OrderedDict[Owner, dict[_Place, tuple[float, HistoryPage]]] = OrderedDict()
        self._lines = 0
        self._kept_in: object | None = None
        self._not_before = 0.0
        self._writing: Counter[str | Owner] = Counter()
        self._changes = 0

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
            raise
        except BaseException:
            self._forget()
            self._not_before = self._clock.monotonic() + DOUBT_S
            raise
        finally:
            self._changes += 1
            for subject in (order.order_id, owner):
                self._writing[subject] -= 1
                if not self._writing[subject]:
                    del self._writing[subject]

    def _now(self) -> float | None:
        """Return the time, in seconds, when something may be kept; else forget what was."""
        term, now = self._term(), self._clock.monotonic()
        if term != self._kept_in:
            self._kept_in = term
            self._not_before = max(self._not_before, now + SETTLES_S)
            self._forget()
        return None if term is None or now < self._not_before else now

    def _forget(self) -> None:
        self._records.clear()
        self._pages.clear()
        self._lines = 0
        self._changes += 1

    async def record(self, key_id: str, order_id: str) -> OrderRecord | None:
        now, kept = self._now(), self._records.get(order_id)
        if now is not None and kept is not None and kept[1] == key_id and now - kept[0] < LASTS_S:
            self._records.move_to_end(order_id)
            return kept[2]
        changes = self._changes
        found = await super().record(key_id, order_id)
        if now is not None and found is not None and self._may_keep(order_id, changes):
            self._records[order_id] = now, key_id, found
            if len(self._records) > self._most_records:
                self._records.popitem(last=False)
        return found

    async def page(
        self, key_id: str, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        owner, place = (key_id, wallet), (status, limit, offset)
        now, kept = self._now(), self._pages.get(owner, {}).get(place)
        if now is not None and kept is not None and now - kept[0] < LASTS_S:
            self._pages.move_to_end(owner)
            return kept[1]
        changes = self._changes
        page = await super().page(key_id, wallet, status, limit, offset)
        if now is not None and self._may_keep(owner, changes):
            self._keep_page(owner, place, page, now)
        return page

    def _may_keep(self, subject: str | Owner, changes: int) -> bool:
        """Return whether no write of it is under way, and none has ended since the read began."""
        self._now()  # notices a term that ended meanwhile
        return subject not in self._writing and changes == self._changes

    def _keep_page(self, owner: Owner, place: _Place, page: HistoryPage, now: float) -> None:
        pages = self._pages.setdefault(owner, {})
        if place in pages:
            self._lines -= _lines(pages[place][1])
        pages[place] = now, page
        self._lines += _lines(page)
        self._pages.move_to_end(owner)
        while self._lines > self._most_lines:
            self._drop(next(iter(self._pages)))

    def _drop(self, owner: Owner) -> None:
        self._lines -= sum(_lines(page) for _, page in self._pages.pop(owner, {}).values())


def _lines(page: HistoryPage) -> int:
    return len(page.orders) + 1
