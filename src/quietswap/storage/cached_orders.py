"""Cache of what readers make of orders and history pages, for the one process that writes orders.

Clients poll the same order many times, and its row changes only a few times. A database read takes
most of the time of a status response, because each SQLite statement releases the GIL several times.
It holds the reader's result (JSON) instead of the order, which takes more memory.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from cachetools import LRUCache

from quietswap.chain.address import Address
from quietswap.clock import Clock
from quietswap.errors.base import RequestError
from quietswap.orders.order import (
    Order,
    OrderEvent,
    OrderPage,
    OrderStatus,
    OrderT,
    OrderView,
    PageT,
    RenderPage,
)
from quietswap.orders.stores import DuplicateTransaction
from quietswap.storage.database import Database
from quietswap.storage.orders import SqlOrderStore

RECORDS, LINES = 4_096, 4_096
"""Most cached orders, and lines of cached history pages (plus one per page)."""
LASTS_S = 30.0
"""Time to live. It bounds the effect of two processes that both write orders."""
DOUBT_S = 60.0
"""Time without caching after a write with an unknown result."""
SETTLES_S = 12.0
"""Time without caching at the start of a term. Writes of the previous holder end in this time."""

Owner = tuple[str, Address]
"""Client id and wallet of a history."""
_Render = Callable[..., object]
_Place = tuple[OrderStatus | None, int, int, _Render]
"""A page of a history: status filter, limit, offset, and the function that rendered it."""
Term = Callable[[], object | None]
"""Returns the lease token of the only process that writes orders. It changes with each acquisition.
None without the lease."""


class _Kept(NamedTuple):
    """What `render` returned for an order of this client, at this time in seconds."""

    at: float
    client_id: str
    render: _Render
    rendered: Any


class _KeptPage(NamedTuple):
    at: float
    rendered: Any
    lines: int


class CachedOrderStore(SqlOrderStore):
    """Implements OrderStore. It caches only while `term` returns a lease token.

    A write removes its order and the pages of the owner from the cache, and neither is cached until
    the write ends. The whole cache is cleared when the token changes, and after a write with an
    unknown result (StoreUnavailable, or a cancelled caller), because such a write may still be
    committed.

    The time to live is checked here: `cachetools.TTLCache` takes 3 µs per hit, 10 % of a status
    response.
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
        self._most_lines = lines
        self._records: LRUCache[str, _Kept] = LRUCache(records)
        self._pages: OrderedDict[Owner, dict[_Place, _KeptPage]] = OrderedDict()
        self._lines = 0
        self._kept_in: object | None = None
        self._not_before = 0.0
        self._writing: Counter[str | Owner] = Counter()
        self._changes = 0

    async def add(self, order: Order, event: OrderEvent, spends: Sequence[str] = ()) -> None:
        with self._changing(order):
            await super().add(order, event, spends)

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        with self._changing(order):
            return await super().update(order, event)

    @contextmanager
    def _changing(self, order: Order) -> Iterator[None]:
        owner = order.client_id, order.wallet
        self._records.pop(order.order_id, None)
        self._drop(owner)
        self._writing.update((order.order_id, owner))
        try:
            yield
        except (DuplicateTransaction, RequestError):  # it wrote nothing
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
        """Return the time in seconds if caching is allowed, else None. Clears a stale cache."""
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

    async def rendered(
        self, client_id: str, order_id: str, render: Callable[[OrderView], OrderT]
    ) -> OrderT | None:
        now, kept = self._now(), self._records.get(order_id)
        if (
            now is not None
            and kept is not None
            and kept.client_id == client_id
            and kept.render is render
            and now - kept.at < LASTS_S
        ):
            found: OrderT = kept.rendered
            return found
        changes = self._changes
        order = await super().record(client_id, order_id)
        if order is None:
            return None
        rendered = render(order)
        if now is not None and self._may_keep(order_id, changes):
            self._records[order_id] = _Kept(now, client_id, render, rendered)
        return rendered

    async def page(
        self, client_id: str, wallet: Address, status: OrderStatus | None, limit: int, offset: int
    ) -> OrderPage:
        return await self.rendered_page(client_id, wallet, status, limit, offset, _page)

    async def rendered_page(  # noqa: PLR0917  as the port
        self,
        client_id: str,
        wallet: Address,
        status: OrderStatus | None,
        limit: int,
        offset: int,
        render: RenderPage[PageT],
    ) -> PageT:
        owner, place = (client_id, wallet), (status, limit, offset, render)
        now, kept = self._now(), self._pages.get(owner, {}).get(place)
        if now is not None and kept is not None and now - kept.at < LASTS_S:
            self._pages.move_to_end(owner)
            found: PageT = kept.rendered
            return found
        changes = self._changes
        page = await super().page(client_id, wallet, status, limit, offset)
        rendered = render(page, limit, offset)
        if now is not None and self._may_keep(owner, changes):
            self._keep_page(owner, place, _KeptPage(now, rendered, len(page.orders) + 1))
        return rendered

    def _may_keep(self, subject: str | Owner, changes: int) -> bool:
        """Return whether no write of it is in flight and none ended since the read began."""
        self._now()  # detects a changed token
        return subject not in self._writing and changes == self._changes

    def _keep_page(self, owner: Owner, place: _Place, page: _KeptPage) -> None:
        pages = self._pages.setdefault(owner, {})
        if place in pages:
            self._lines -= pages[place].lines
        pages[place] = page
        self._lines += page.lines
        self._pages.move_to_end(owner)
        while self._lines > self._most_lines:
            self._drop(next(iter(self._pages)))

    def _drop(self, owner: Owner) -> None:
        self._lines -= sum(page.lines for page in self._pages.pop(owner, {}).values())


def _page(page: OrderPage, _limit: int, _offset: int) -> OrderPage:
    return page
