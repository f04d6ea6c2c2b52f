"""Pages of a wallet's history, and their total."""

from collections import Counter
from collections.abc import Sequence

from quietswap.chain.address import Address
from quietswap.orders.order import OrderKind, OrderStatus
from quietswap.orders.stores import OrderPage
from quietswap.storage.database import Database, Row, Transaction, Value
from quietswap.storage.order_rows import LINE, WalletOrders, indexed_by, items, only

# The SQL below is composed only of constants of this module.
_TOTAL = """
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM order_counts
WHERE client_id = ? AND wallet = ? {status}
"""
_PAGE = f"""
SELECT {LINE}, ({_TOTAL}) FROM orders {{indexed}}
WHERE kind = 'swap' AND client_id = ? AND wallet = ? {{status}}
ORDER BY created_at_ms DESC, order_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608


def page_sql(dialect: str, status: OrderStatus | None) -> str:
    """Return the statement of a page; arguments: client and wallet (and status), twice, limit and
    offset.
    """
    return _PAGE.format(status=only(status), indexed=indexed_by(dialect, status))


class OrderPages(WalletOrders):
    """The part of OrderStore that concerns pages of swaps."""

    async def page(
        self, client_id: str, wallet: Address, status: OrderStatus | None, limit: int, offset: int
    ) -> OrderPage:
        """Return swap orders, newest first (ties by order id, descending), and the total.

        One statement reads both from one snapshot; an empty page needs a second one for the total,
        the sum of at most six counters. The index `orders_history` (or
        `orders_history_by_status`) contains each line. The cost therefore depends only
        on offset and limit, not on the size of the table or the history.
        """
        of: tuple[Value, ...] = (client_id, wallet, *(() if status is None else (status.value,)))
        sql = page_sql(self._database.dialect, status)
        rows = await self._database.fetch(sql, *of, *of, limit, offset)
        if rows:
            return OrderPage(items(rows), rows[0][-1])
        [[total]] = await self._database.fetch(_TOTAL.format(status=only(status)), *of)
        return OrderPage((), min(offset, total))  # at that time there were at most `offset` orders


# Deletion of old final orders, with their events and their part of the counters.

_OVER = tuple(status.value for status in OrderStatus if status.is_terminal)
_MARKS = ", ".join("?" for _ in _OVER)
_CHOSEN = f"""
SELECT order_id, client_id, wallet, status, kind FROM orders
WHERE order_id >= ? AND order_id < ? AND created_at_ms < ? AND watched = 0
AND status IN ({_MARKS}) ORDER BY order_id LIMIT ?
"""  # noqa: S608  only constants of this module
"""Ids start with a prefix and the creation time, so the primary key finds the oldest orders."""
_DELETED = f"""
DELETE FROM orders WHERE order_id = ? AND watched = 0 AND status IN ({_MARKS}) AND status = ?
RETURNING order_id
"""  # noqa: S608  only constants of this module


class OrderRetention:
    """Retention of orders. `prefixes` are those of order ids."""

    def __init__(self, database: Database, prefixes: Sequence[str]) -> None:
        self._database = database
        self._prefixes = prefixes

    async def delete_over(self, created_before_ms: int, limit: int) -> int:
        """Delete up to `limit` final orders of each kind; return the number.

        Raises StoreUnavailable.

        Only orders in a final status that are no longer tracked are deleted.
        """
        gone = 0
        for prefix in self._prefixes:
            gone += await self._delete(prefix, created_before_ms, limit)
        return gone

    async def _delete(self, prefix: str, created_before_ms: int, limit: int) -> int:
        async def body(transaction: Transaction) -> int:
            first, end = f"{prefix}_", f"{prefix}_{created_before_ms:012x}"
            rows = await transaction.fetch(_CHOSEN, first, end, created_before_ms, *_OVER, limit)
            # _DELETED keeps an order that is tracked again
            gone = [
                row for row in rows if await transaction.fetch(_DELETED, row[0], *_OVER, row[3])
            ]
            for order_id, *_ in gone:
                for table in ("order_events", "order_bytes"):
                    sql = f"DELETE FROM {table} WHERE order_id = ?"  # noqa: S608
                    await transaction.fetch(sql, order_id)
            await _uncount(transaction, gone)
            return len(gone)

        return await self._database.transact(body, bounded=False)


async def _uncount(transaction: Transaction, rows: Sequence[Row]) -> None:
    """Subtract swaps from the counters, after the rows of the orders and sorted by key.

    Every transaction locks in this order, which prevents deadlocks.
    """
    swaps = Counter(
        (client_id, wallet, status)
        for _, client_id, wallet, status, kind in rows
        if kind == OrderKind.SWAP.value
    )
    for place, count in sorted(swaps.items()):
        await transaction.fetch(
            "UPDATE order_counts SET n = n - ? WHERE client_id = ? AND wallet = ? AND status = ?",
            count,
            *place,
        )
