"""Pages of a wallet's history, and their total."""

from quietswap.domain.address import Address
from quietswap.domain.order.order import OrderStatus
from quietswap.domain.order.order_view import OrderListItem, OrderPage, PageT, RenderPage
from quietswap.storage.database import BatchedRead, Value
from quietswap.storage.stores.history_lines import (
    COLUMNS,
    INDEX,
    INDEX_BY_STATUS,
    JSON_PAGE,
    items,
)
from quietswap.storage.stores.wallet_orders import WalletOrders

_AT_ONCE = 16
"""Pages of one statement: more would keep the event loop busy for too long."""
_DEEP = 1_000
"""A page behind so many lines is a statement of its own: it may hold up no other."""

# The SQL below is composed only of constants of this module.
_ONE = f"""
SELECT {JSON_PAGE}, (
SELECT COALESCE(SUM(n), 0) FROM order_counts WHERE client_id = ?1 AND wallet = ?2 {{status}}
) FROM (
SELECT history_line FROM orders INDEXED BY {{index}}
WHERE kind = 'swap' AND client_id = ?1 AND wallet = ?2 {{status}}
ORDER BY created_at_ms DESC, order_id DESC LIMIT ?{{limit}} OFFSET ?{{offset}}
)
"""  # noqa: S608
_MANY = f"""
SELECT w.number, {", ".join(f"p.{column}" for column in OrderListItem._fields)}, t.total
FROM unnest(
CAST(? AS text[]), CAST(? AS text[]), {{array}} CAST(? AS bigint[]), CAST(? AS bigint[])
) WITH ORDINALITY AS w (client_id, wallet, {{name}} most, skipped, number)
CROSS JOIN LATERAL (
SELECT CAST(COALESCE(SUM(c.n), 0) AS BIGINT) AS total FROM order_counts c
WHERE c.client_id = w.client_id AND c.wallet = w.wallet {{of_count}}
) t
CROSS JOIN LATERAL (
SELECT {COLUMNS} FROM orders o
WHERE o.kind = 'swap' AND o.client_id = w.client_id AND o.wallet = w.wallet {{of_order}}
ORDER BY o.created_at_ms DESC, o.order_id DESC LIMIT w.most OFFSET w.skipped
) p
ORDER BY w.number, p.created_at_ms DESC, p.order_id DESC
"""  # noqa: S608
_TOTAL = """
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM order_counts WHERE client_id = ? AND wallet = ?
"""
PAGE_OF_ALL = BatchedRead(
    one=_ONE.format(index=INDEX, status="", limit=3, offset=4),
    many=_MANY.format(array="", name="", of_count="", of_order=""),
    at_once=_AT_ONCE,
)
PAGE_OF_STATUS = BatchedRead(
    one=_ONE.format(index=INDEX_BY_STATUS, status="AND status = ?3", limit=4, offset=5),
    many=_MANY.format(
        array="CAST(? AS text[]),",
        name="status,",
        of_count="AND c.status = w.status",
        of_order="AND o.status = w.status",
    ),
    at_once=_AT_ONCE,
)
"""Arguments: client, wallet (and status), limit, offset."""


class OrderPages(WalletOrders):
    """The part of quietswap.ports.stores.OrderStore that concerns pages of swaps."""

    async def page(
        self, client_id: str, wallet: Address, status: OrderStatus | None, limit: int, offset: int
    ) -> OrderPage:
        """Return swap orders, newest first (ties by order id, descending), and the total.

        One statement reads both from one snapshot; an empty page needs a second one for the total,
        the sum of at most six counters. The index `orders_history` (or
        `orders_history_by_status`) contains each line. The cost therefore depends only
        on offset and limit, not on the size of the table or the history.
        """
        of: tuple[Value, ...] = (client_id, wallet)
        read, total = PAGE_OF_ALL, _TOTAL
        if status is not None:
            of, read, total = (*of, status.value), PAGE_OF_STATUS, _TOTAL + " AND status = ?"
        rows = await self._database.look_up(read, *of, limit, offset, alone=offset >= _DEEP)
        lines = items(self._database.dialect, rows)
        if not lines:  # at that time there were at most `offset` orders
            return OrderPage((), min(offset, (await self._database.fetch(total, *of))[0][0]))
        return OrderPage(lines, rows[0][-1])

    async def rendered_page(  # noqa: PLR0917  as the port
        self,
        client_id: str,
        wallet: Address,
        status: OrderStatus | None,
        limit: int,
        offset: int,
        render: RenderPage[PageT],
    ) -> PageT:
        page = await self.page(client_id, wallet, status, limit, offset)
        return render(page, limit, offset)
