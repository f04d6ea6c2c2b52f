"""Reads of orders by wallet: pages of a history with their totals, and what shares a nonce.

The lines of a page are in the indexes, so that no row of `orders` is read.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from operator import attrgetter

from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.orders.order_ids import PREFIXES
from quietswap.rules.orders.order_views import OrderListItem, OrderPage
from quietswap.rules.quotes.issued_quote import Trade
from quietswap.rules.tx.address import Address
from quietswap.service.storage.database import Row, Store, Transaction, Value
from quietswap.service.storage.order_rows import SELECT, order_from

# The SQL below is composed only of constants of this module and of order_rows.
# `client_id || ''` keeps SQLite from an index of all orders of a wallet: few of them are open.
CONTENDERS = f"""
{SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id || '' = ?
AND o.status IN ('pending', 'submitted', 'mining')
UNION ALL
{SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id = ?
AND o.watched = 1 AND o.failure_code IN ('REFUSED', 'EXPIRED')
"""
SAME_TRADE = f"""
{SELECT} WHERE o.kind = 'swap' AND o.client_id = ? AND o.wallet = ? AND o.created_at_ms >= ?
AND o.sell_token = ? AND o.buy_token = ? AND o.sell_amount = ? AND o.min_buy_amount = ?
ORDER BY o.created_at_ms DESC, o.order_id DESC LIMIT 200
"""
_LINE = ", ".join(name for name in OrderListItem._fields if name != "conversion")
_CONVERTED = "orders.order_id = page.order_id AND orders.conversion IS NOT NULL"
"""Few swaps have a conversion: an index of these is asked for each line of the page."""
_NEWEST = "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
_OF = "client_id = ? AND wallet = ?"
_COUNTED = f"SELECT n FROM order_counts WHERE {_OF}"  # noqa: S608
_COUNT = f"SELECT COUNT(*) AS n FROM orders WHERE kind <> 'swap' AND {_OF} AND kind IN ({{kinds}})"  # noqa: S608
"""Without the names of the kinds SQLite would read all orders of the wallet."""


@cache
def total_sql(status: OrderStatus | None, kind: OrderKind | None = OrderKind.SWAP) -> str:
    """Return the statement of a total; arguments: client and wallet (and status); twice if `kind`
    is None. Swaps have counters, others are counted.
    """
    kinds = [*OrderKind] if kind is None else [kind]
    others = ", ".join(f"'{one}'" for one in kinds if one is not OrderKind.SWAP)
    parts = [_COUNTED] if OrderKind.SWAP in kinds else []
    parts += [_COUNT.format(kinds=others)] if others else []
    only = "" if status is None else "AND status = ?"
    counts = " UNION ALL ".join(f"{part} {only}" for part in parts)
    return f"SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM ({counts}) AS counts"  # noqa: S608


@cache
def page_sql(
    dialect: str, status: OrderStatus | None, kind: OrderKind | None = OrderKind.SWAP
) -> str:
    """Return the statement of a page, whose last column is the total.

    Arguments: those of the total, those of each kind (as one of the total; then its limit, if
    `kind` is None), limit and offset.
    """
    total = f"({total_sql(status, kind)}) AS total"
    if kind is not None:
        page = f"SELECT {_LINE}, {total} {_lines(dialect, status, kind)}"
    else:
        newest = " UNION ALL ".join(  # each index ends at the limit
            f"SELECT * FROM (SELECT {_LINE} {_lines(dialect, status, one)} {_NEWEST}) AS of_{one}"  # noqa: S608
            for one in OrderKind
        )
        page = f"SELECT *, {total} FROM ({newest}) AS of_any"  # noqa: S608
    indexed = "INDEXED BY orders_converted" if dialect == "sqlite" else ""
    did = f"SELECT conversion FROM orders {indexed} WHERE {_CONVERTED}"  # noqa: S608
    return f"SELECT {_LINE}, ({did}), total FROM ({page} {_NEWEST} OFFSET ?) AS page"  # noqa: S608


def _lines(dialect: str, status: OrderStatus | None, kind: OrderKind) -> str:
    """Return the rows of a kind. Some versions of SQLite choose another index with the same order
    for swaps, where they must read each row, so the index is named to them.
    """
    of = f"{_OF} AND kind = '{kind}'" + ("" if status is None else " AND status = ?")
    if kind is not OrderKind.SWAP:
        return f"FROM orders WHERE kind <> 'swap' AND {of}"
    index = "orders_history_by_status" if status else "orders_history"
    indexed = f"INDEXED BY {index}" if dialect == "sqlite" else ""
    return f"FROM orders {indexed} WHERE {of}"


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


class WalletOrders(Store):
    """The part of OrderStore that reads the orders of one wallet, and deletes old ones."""

    async def contenders(self, client_id: str, wallet: Address, nonce: int) -> Sequence[Order]:
        """Return the client's orders with this nonce that may be mined, bytes included.

        These are open orders, and expired or refused ones that are still tracked.
        """
        of = (wallet, str(nonce), client_id)
        return [order_from(row) for row in await self._database.fetch(CONTENDERS, *of, *of)]

    async def same_trade(
        self, client_id: str, wallet: Address, trade: Trade, created_from_ms: int
    ) -> Sequence[Order]:
        """Return the client's swaps of exactly these amounts since then, bytes included."""
        rows = await self._database.fetch(
            SAME_TRADE,
            client_id,
            wallet,
            created_from_ms,
            trade.sell_token,
            trade.buy_token,
            str(trade.sell_amount),
            str(trade.min_buy_amount),
        )
        return [order_from(row) for row in rows]

    async def page(  # noqa: PLR0917  the arguments of the endpoint
        self,
        client_id: str,
        wallet: Address,
        status: OrderStatus | None,
        limit: int,
        offset: int,
        kind: OrderKind | None = OrderKind.SWAP,
    ) -> OrderPage:
        """Return orders, newest first (ties by order id, descending), and the total.

        `kind` None is any kind. One statement reads both from one snapshot; an empty page needs a
        second one for the total. The cost of a page of swaps depends only on offset and limit, not
        on the size of the table or the history. Other orders are counted, so it grows with those.
        """
        of: tuple[Value, ...] = (client_id, wallet, *(() if status is None else (status.value,)))
        of_total, of_lines = of, of
        if kind is None:
            of_total, of_lines = of * 2, (*of, offset + limit) * len(OrderKind)
        sql = page_sql(self._database.dialect, status, kind)
        rows = await self._database.fetch(sql, *of_total, *of_lines, limit, offset)
        if rows:
            lines = (OrderListItem._make(row[:-1]) for row in rows)
            # the order of a subquery is no promise of SQL; equal times stay as they are
            newest = sorted(lines, key=attrgetter("created_at_ms"), reverse=True)
            return OrderPage(tuple(newest), rows[0][-1])
        [[total]] = await self._database.fetch(total_sql(status, kind), *of_total)
        return OrderPage((), min(offset, total))  # at that time there were at most `offset` orders

    async def delete_over(self, created_before_ms: int, limit: int) -> int:
        """Delete up to `limit` final orders of each kind, with their events and their part of the
        counters; return the number. Those that are tracked stay. Raises StoreUnavailable.
        """
        return sum([await self._delete(one, created_before_ms, limit) for one in PREFIXES])

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
