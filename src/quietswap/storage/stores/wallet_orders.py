"""Reads of one wallet's orders for its RPC URL, and pages of other orders than swaps alone."""

from collections.abc import Sequence

from quietswap.domain.address import Address
from quietswap.domain.order.order import Order, OrderKind, OrderStatus
from quietswap.domain.order.order_view import OrderListItem, OrderPage
from quietswap.domain.quote.issued_quote import Trade
from quietswap.storage.database import Database, Value
from quietswap.storage.stores.order_rows import COLUMNS, order_from

# The SQL below is composed only of constants of this module and of order_rows.
_SELECT = f"""
SELECT {", ".join(f"o.{column}" for column in COLUMNS)}, b.raw
FROM orders o LEFT JOIN order_bytes b ON b.order_id = o.order_id
"""  # noqa: S608
# `client_id || ''` keeps SQLite from an index of all orders of a wallet: few of them are open.
_OPEN = "status IN ('pending', 'submitted', 'mining')"
CONTENDERS = f"""
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id || '' = ? AND o.{_OPEN}
UNION ALL
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id = ?
AND o.watched = 1 AND o.failure_code IN ('REFUSED', 'EXPIRED')
"""
SAME_TRADE = f"""
{_SELECT} WHERE o.kind = 'swap' AND o.client_id = ? AND o.wallet = ? AND o.created_at_ms >= ?
AND o.sell_token = ? AND o.buy_token = ? AND o.sell_amount = ? AND o.min_buy_amount = ?
ORDER BY o.created_at_ms DESC, o.order_id DESC LIMIT 200
"""
_PAGE = f"""
SELECT {", ".join(OrderListItem._fields)} FROM orders WHERE {{these}}
ORDER BY created_at_ms DESC, order_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608
_COUNT = "SELECT COUNT(*) FROM orders WHERE {these}"
_AND_STATUS = " AND status = ?"
OTHERS = "client_id = ? AND wallet = ? AND kind = ? AND kind <> 'swap'"
"""Orders of a kind that is no swap."""
ANY_KIND = "client_id = ? AND wallet = ?"
ANY_KIND_OPEN = f"client_id || '' = ? AND wallet = ? AND {_OPEN}"
"""Few of a wallet's orders are open, and they have an index of their own."""


def page_of(these: str) -> str:
    """Return the SQL of a page of `these` orders; the last arguments are limit and offset."""
    return _PAGE.format(these=these)


def count_of(these: str) -> str:
    """Return the SQL that counts `these` orders."""
    return _COUNT.format(these=these)


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

        Their total is counted, so its cost grows with the wallet's orders of this kind. An order
        that arrives between the two reads may be in one of them only.
        """
        of: list[Value] = [client_id, wallet]
        these = ANY_KIND
        if kind is not None:
            these = OTHERS
            of.append(kind.value)
        elif status is not None and not status.is_terminal:
            these = ANY_KIND_OPEN
        if status is not None:
            these += _AND_STATUS
            of.append(status.value)
        [[total]] = await self._database.fetch(count_of(these), *of)
        rows = await self._database.fetch(page_of(these), *of, limit, offset)
        return OrderPage(tuple(OrderListItem._make(row) for row in rows), total)
