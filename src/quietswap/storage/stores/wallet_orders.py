"""Reads of one wallet's orders for its RPC URL, and pages of other orders than swaps alone."""

from collections.abc import Sequence
from typing import NamedTuple

from quietswap.domain.address import Address
from quietswap.domain.order.order import Order, OrderKind, OrderStatus
from quietswap.domain.order.order_view import OrderPage
from quietswap.domain.quote.issued_quote import Trade
from quietswap.storage.database import Database, Value
from quietswap.storage.stores.history_lines import (
    INDEX,
    INDEX_BY_STATUS,
    JSON_PAGE,
    items,
    selected,
)
from quietswap.storage.stores.order_rows import COLUMNS, order_from

# The SQL below is composed only of constants of this module and of order_rows.
_SELECT = f"""
SELECT {", ".join(f"o.{column}" for column in COLUMNS)}, b.raw
FROM orders o LEFT JOIN order_bytes b ON b.order_id = o.order_id
"""  # noqa: S608
# `client_id || ''` keeps SQLite from an index of all orders of a wallet: few of them are open.
CONTENDERS = f"""
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id || '' = ?
AND o.status IN ('pending', 'submitted', 'mining')
UNION ALL
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id = ?
AND o.watched = 1 AND o.failure_code IN ('REFUSED', 'EXPIRED')
"""
SAME_TRADE = f"""
{_SELECT} WHERE o.kind = 'swap' AND o.client_id = ? AND o.wallet = ? AND o.created_at_ms >= ?
AND o.sell_token = ? AND o.buy_token = ? AND o.sell_amount = ? AND o.min_buy_amount = ?
ORDER BY o.created_at_ms DESC, o.order_id DESC LIMIT 200
"""
_NEWEST = "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
_OTHERS = "kind <> 'swap' AND client_id = ? AND wallet = ?"
_OTHER_KINDS = ", ".join(f"'{kind}'" for kind in OrderKind if kind is not OrderKind.SWAP)
"""Without their names SQLite would read all orders of the wallet."""
_OF_KIND = f"{_OTHERS} AND kind = ? {{status}}"
_PAGE_OF_KIND = f"SELECT {{line}} FROM orders WHERE {_OF_KIND} {_NEWEST} OFFSET ?"  # noqa: S608
_TOTAL_OF_KIND = f"SELECT COUNT(*) FROM orders WHERE {_OF_KIND}"  # noqa: S608


def _newest_of(kind: OrderKind) -> str:
    """Return the SQL of the newest orders of `kind`, whose index ends at the limit."""
    these = "client_id = ? AND wallet = ?" if kind is OrderKind.SWAP else _OTHERS
    table = "orders {swaps_by}" if kind is OrderKind.SWAP else "orders"
    newest = f"SELECT {{line}} FROM {table} WHERE {these} AND kind = '{kind}' {{status}} {_NEWEST}"  # noqa: S608
    return f"SELECT * FROM ({newest}) AS of_{kind}"  # noqa: S608


_PAGE_OF_ANY = f"""
SELECT {{line}} FROM ({" UNION ALL ".join(map(_newest_of, OrderKind))}) AS of_any
{_NEWEST} OFFSET ?
"""  # noqa: S608
_TOTAL_OF_ANY = f"""
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM (
SELECT n FROM order_counts WHERE client_id = ? AND wallet = ? {{status}} UNION ALL
SELECT COUNT(*) AS n FROM orders WHERE {_OTHERS} AND kind IN ({_OTHER_KINDS}) {{status}}
) AS counts
"""  # noqa: S608


class PageReads(NamedTuple):
    """Two statements and their arguments."""

    total: str
    of_total: Sequence[Value]
    page: str
    of_page: Sequence[Value]


def reads_of_kind(  # noqa: PLR0917  as `page_of_kind`
    dialect: str,
    client_id: str,
    wallet: Address,
    kind: OrderKind | None,
    status: OrderStatus | None,
    limit: int,
    offset: int,
) -> PageReads:
    """Return how `page_of_kind` reads from a database of `dialect`."""
    of: list[Value] = [client_id, wallet]
    total, page = (_TOTAL_OF_ANY, _PAGE_OF_ANY) if kind is None else (_TOTAL_OF_KIND, _PAGE_OF_KIND)
    if kind is not None:
        of.append(kind.value)
    if status is not None:
        of.append(status.value)
    only, swaps_by = "AND status = ?" if status else "", ""
    if dialect == "sqlite":
        swaps_by = f"INDEXED BY {INDEX_BY_STATUS if status else INDEX}"
        page = f"SELECT {JSON_PAGE} FROM ({page})"  # noqa: S608
    total = total.format(status=only)
    page = page.format(line=selected(dialect), status=only, swaps_by=swaps_by)
    if kind is not None:
        return PageReads(total, of, page, [*of, limit, offset])
    most = offset + limit
    return PageReads(total, [*of, *of], page, [*of, most] * len(OrderKind) + [limit, offset])


class WalletOrders:
    """The part of quietswap.ports.stores.OrderStore that concerns one wallet's RPC URL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def contenders(self, client_id: str, wallet: Address, nonce: int) -> Sequence[Order]:
        of = (wallet, str(nonce), client_id)
        return [order_from(row) for row in await self._database.fetch(CONTENDERS, *of, *of)]

    async def same_trade(
        self, client_id: str, wallet: Address, trade: Trade, created_from_ms: int
    ) -> Sequence[Order]:
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

    async def page_of_kind(
        self,
        client_id: str,
        wallet: Address,
        kind: OrderKind | None,
        status: OrderStatus | None,
        *,
        limit: int,
        offset: int,
    ) -> OrderPage:
        """Return orders of a kind that is no swap, or of any kind (None), newest first.

        Orders that are no swap are counted, so the cost grows with the wallet's orders of them. An
        order that arrives between the two reads may be in one of them only.
        """
        dialect = self._database.dialect
        reads = reads_of_kind(dialect, client_id, wallet, kind, status, limit, offset)
        [[total]] = await self._database.fetch(reads.total, *reads.of_total)
        rows = await self._database.fetch(reads.page, *reads.of_page)
        return OrderPage(items(dialect, rows), total)
