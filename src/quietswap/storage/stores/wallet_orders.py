"""Reads of one wallet's orders for its RPC URL, and pages of the orders that are no swaps."""

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
_OTHERS = "kind <> 'swap' AND client_id = ? AND wallet = ? AND kind = ? {and_status}"
_PAGE = f"""
SELECT {", ".join(OrderListItem._fields)} FROM orders WHERE {_OTHERS}
ORDER BY created_at_ms DESC, order_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608
_COUNT = f"SELECT COUNT(*) FROM orders WHERE {_OTHERS}"  # noqa: S608
OTHERS_PAGE, OTHERS_COUNT = _PAGE.format(and_status=""), _COUNT.format(and_status="")
_STATUS = "AND status = ?"


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
        kind: OrderKind,
        status: OrderStatus | None,
        *,
        limit: int,
        offset: int,
    ) -> OrderPage:
        """Return orders of a kind that is no swap, newest first, and their total.

        The total is counted, so its cost grows with the wallet's orders of this kind. An order that
        arrives between the two reads may be in one of them only.
        """
        of: list[Value] = [client_id, wallet, kind.value]
        page, count = OTHERS_PAGE, OTHERS_COUNT
        if status is not None:
            page, count = _PAGE.format(and_status=_STATUS), _COUNT.format(and_status=_STATUS)
            of.append(status.value)
        [[total]] = await self._database.fetch(count, *of)
        rows = await self._database.fetch(page, *of, limit, offset)
        return OrderPage(tuple(OrderListItem._make(row) for row in rows), total)
