"""Orders and clients as the operator view reads them.

Each statement is a range of an index with a limit, so its cost does not depend on the number of
orders: ids sort by time within their prefix (the primary key), a wallet has `orders_of_any_client`,
a client `orders_by_time`. Open orders are counted through their partial index.
"""

from collections.abc import Mapping, Sequence

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.operator.operators import ClientRow, OrderPlace
from quietswap.rules.orders.order import Order
from quietswap.rules.orders.order_ids import PREFIXES
from quietswap.service.storage.api_keys import KeyStore
from quietswap.service.storage.client_usage import UsageStore, read_limits
from quietswap.service.storage.database import Store
from quietswap.service.storage.order_rows import COLUMNS, order_from

_ORDERS = f"SELECT {', '.join(COLUMNS)}, NULL FROM orders "  # noqa: S608  only constants
OF_PREFIX = _ORDERS + "WHERE order_id > ? AND order_id < ? ORDER BY order_id DESC LIMIT ?"
OF_WALLET = (
    _ORDERS + "WHERE lower(wallet) = ? AND (created_at_ms, order_id) < (?, ?) "
    "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
)
OF_CLIENT = (
    _ORDERS + "WHERE client_id = ? AND (created_at_ms, order_id) < (?, ?) "
    "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
)
_MOST_OPEN = 100_000
OPEN = """
SELECT status, COUNT(*), MIN(created_at_ms) FROM (
    SELECT status, created_at_ms FROM orders
    WHERE status IN ('pending', 'submitted', 'mining') LIMIT ?
) AS open GROUP BY status
"""
CLIENTS = """
SELECT id, name, created_at_ms, disabled_at_ms FROM clients
WHERE substr(id, 1, 4) <> 'web_' AND (created_at_ms, id) < (?, ?)
ORDER BY created_at_ms DESC, id DESC LIMIT ?
"""
"""Sessions of the wallet page are clients, too: their ids begin with `web_`."""
_LATEST = OrderPlace(2**62, "")
_PREFIX_LENGTH = 4
"""Of an order id: three letters and the line below."""


class OperatorSearch(Store):
    """Reads over all clients, each bounded by an index and a limit. All raise StoreUnavailable."""

    async def newest(self, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return orders of all clients, newest first, without their signed bytes."""
        end = "g" if after is None else after.order_id[_PREFIX_LENGTH:]  # ids have hex digits
        orders: list[Order] = []
        for prefix in PREFIXES:
            rows = await self._database.fetch(OF_PREFIX, f"{prefix}_", f"{prefix}_{end}", limit)
            orders += map(order_from, rows)
        orders.sort(key=lambda order: order.order_id[_PREFIX_LENGTH:], reverse=True)
        return orders[:limit]

    async def of_wallet(self, wallet: str, after: OrderPlace | None, limit: int) -> Sequence[Order]:
        """Return the orders of a wallet in any case of letters, newest first."""
        return await self._following(OF_WALLET, wallet.lower(), after, limit)

    async def of_client(
        self, client_id: str, after: OrderPlace | None, limit: int
    ) -> Sequence[Order]:
        """Return the orders of a client, newest first."""
        return await self._following(OF_CLIENT, client_id, after, limit)

    async def _following(
        self, sql: str, owner: str, after: OrderPlace | None, limit: int
    ) -> Sequence[Order]:
        place = after or _LATEST
        rows = await self._database.fetch(sql, owner, place.created_at_ms, place.order_id, limit)
        return [order_from(row) for row in rows]

    async def open_orders(self) -> Mapping[str, tuple[int, int]]:
        """Return by open status the number of orders and the oldest creation in Unix ms."""
        rows = await self._database.scan(OPEN, _MOST_OPEN)
        return {status: (count, oldest) for status, count, oldest in rows}

    async def key(self, key_id: str) -> ApiKey | None:
        return await KeyStore(self._database).by_id(key_id)

    async def clients(
        self, after: tuple[int, str] | None, limit: int, day: int
    ) -> Sequence[ClientRow]:
        """Return clients, the newest first, behind this creation time and id.

        Sessions of the wallet page are not among them.
        """
        created, identity = after or (_LATEST.created_at_ms, "")
        rows = await self._database.fetch(CLIENTS, created, identity, limit)
        return [await self.client(Client(*row), day) for row in rows]

    async def client(self, client: Client, day: int) -> ClientRow:
        usage = UsageStore(self._database)
        return ClientRow(
            client,
            await KeyStore(self._database).of_client(client.id),
            await read_limits(self._database, client.id),
            await usage.day(client.id, day),
            await usage.open_orders(client.id),
        )
