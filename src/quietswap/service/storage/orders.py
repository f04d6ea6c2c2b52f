"""Orders, their events, and the counters for the `total` of a history.

`order_counts` has one row per client, wallet and status of swap orders, updated with the order. Its
rows are locked after the order's row and sorted by status, which prevents deadlocks. Each
change is also an event of its client (`events`), numbered last.
"""

from collections.abc import Mapping, Sequence

from quietswap.rules.orders.nonces import OwnNonces
from quietswap.rules.orders.order import Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.orders.stores import DuplicateTransaction, StoreUnavailable
from quietswap.rules.tx.address import Address
from quietswap.service.storage.client_usage import admit_again
from quietswap.service.storage.database import Row, Transaction, Value
from quietswap.service.storage.event_rows import VIEW, write_event
from quietswap.service.storage.order_admission import AT_LARGE, OPEN, admit
from quietswap.service.storage.order_pages import WalletOrders
from quietswap.service.storage.order_rows import (
    COLUMNS,
    EVENT_COLUMNS,
    MOVING,
    SELECT,
    event_values,
    fixed_values,
    moving_values,
    order_from,
)

# The SQL below is composed only of constants of this module and of order_rows.
_INSERT = f"""
INSERT INTO orders ({", ".join(COLUMNS)}) VALUES ({", ".join("?" for _ in COLUMNS)})
ON CONFLICT (tx_hash) DO NOTHING RETURNING {VIEW}
"""  # noqa: S608
_UPDATE = f"""
UPDATE orders SET {", ".join(f"{column} = ?" for column in MOVING)}, version = version + 1
WHERE order_id = ? AND version = ? RETURNING {VIEW}
"""  # noqa: S608
_CLAIM = """
UPDATE orders SET sent_head = ?, attempts = attempts + 1, version = version + 1
WHERE order_id IN ({ids}) AND (order_id, version) IN (VALUES {versions})
AND EXISTS (SELECT 1 FROM order_bytes b WHERE b.order_id = orders.order_id)
RETURNING order_id, (SELECT raw FROM order_bytes b WHERE b.order_id = orders.order_id)
"""
"""The first condition lets SQLite use the index, the second one selects the rows."""
_RECORD = f"SELECT {VIEW} FROM orders WHERE order_id = ? AND client_id = ?"  # noqa: S608
_INSERT_EVENT = f"""
INSERT INTO order_events (version, {EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
_COUNT = """
INSERT INTO order_counts (client_id, wallet, status, n) VALUES {rows}
ON CONFLICT (client_id, wallet, status) DO UPDATE SET n = order_counts.n + excluded.n
"""
ARRIVALS = """
SELECT order_id, version FROM orders WHERE watched = 1 AND status IN ('pending', 'submitted')
UNION ALL
SELECT order_id, version FROM orders
WHERE watched = 1 AND status = 'failed' AND expires_at_ms > ?
"""
_OWN_NONCES = f"""
SELECT nonce, 1 FROM orders WHERE wallet = ? AND client_id = ? AND {OPEN}
UNION ALL
SELECT nonce, 0 FROM orders WHERE wallet = ? AND client_id = ? AND {AT_LARGE}
"""  # noqa: S608
"""Columns: nonce, whether the order is open."""
_AT = SELECT + "WHERE o.wallet = ? AND o.nonce = ? AND "
AT_NONCE = f"{_AT} {OPEN} UNION ALL {_AT} {AT_LARGE}"


class OrderStore(WalletOrders):
    """Orders and their events. Each method is one database transaction.

    `add` writes the fixed columns and the signed bytes, `update` only the other columns. Only
    `drop_raw` deletes the bytes.
    """

    async def add(self, order: Order, event: OrderEvent, spends: Sequence[str] = ()) -> None:
        """Commit a new order to disk. Raises DuplicateTransaction and the errors of `admit`.

        After StoreUnavailable it may be stored: look it up by its hash before any further use.
        """

        async def body(transaction: Transaction) -> Order | None:
            values = (*fixed_values(order), *moving_values(order), order.version)
            inserted = await transaction.fetch(_INSERT, *values)
            if not inserted:
                if stored := await _by_hash(transaction, order.tx_hash):
                    return stored
                raise StoreUnavailable("an old order with this hash was being deleted")
            await admit(transaction, order, spends)
            await _write_raw(transaction, order, event)
            await transaction.fetch(_INSERT_EVENT, order.version, *event_values(event))
            await _count(transaction, order, {order.status: 1})
            await write_event(transaction, order, event, order.version, inserted[0])
            return None

        if stored := await self._database.transact(body):
            raise DuplicateTransaction(stored)

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        """Write `order` with the next version. Return False if the stored version differs. Raises
        OpenOrderLimitExceeded if it would be pending again after a final status.
        """

        async def body(transaction: Transaction) -> bool:
            sql = "SELECT status FROM orders WHERE order_id = ? AND version = ?"
            before = await transaction.fetch(sql, order.order_id, order.version)
            values = (*moving_values(order), order.order_id, order.version)
            after = await transaction.fetch(_UPDATE, *values) if before else ()
            if not after:
                return False
            if order.status is OrderStatus.PENDING and OrderStatus(before[0][0]).is_terminal:
                await admit_again(transaction, order)
            if event is not None:
                await transaction.fetch(_INSERT_EVENT, order.version + 1, *event_values(event))
            if not order.watched:
                await _mark_final(transaction, order, event)
            if (was := OrderStatus(before[0][0])) is not order.status:
                await _count(transaction, order, {was: -1, order.status: 1})
            if event is not None:
                await write_event(transaction, order, event, order.version + 1, after[0])
            return True

        # If a power failure undoes this write, the order is pending and the tracker sends it again.
        # That a second relay gets the bytes must not be forgotten.
        is_light = order.status is OrderStatus.SUBMITTED and order.second_tier is None
        return await self._database.transact(body, durable=not is_light)

    async def claim(self, orders: Sequence[Order], head: int) -> Mapping[str, bytes]:
        """Record a resend of these orders at block `head`; return their signed bytes by id.

        An order with another stored version, or without bytes, is not changed and not returned. A
        power failure may undo it, which also ends the process that relies on it.
        """
        if not orders:
            return {}
        sql = _CLAIM.format(
            ids=", ".join("?" for _ in orders),
            versions=", ".join("(?, CAST(? AS BIGINT))" for _ in orders),
        )
        ids = [order.order_id for order in orders]
        rows = await self._database.change(
            sql, head, *ids, *(v for o in orders for v in (o.order_id, o.version)), durable=False
        )
        return {row[0]: bytes(row[1]) for row in rows}

    async def raws(self, order_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the signed bytes of these orders by id; orders without bytes are omitted."""
        if not order_ids:
            return {}
        marks = ", ".join("?" for _ in order_ids)
        sql = f"SELECT order_id, raw FROM order_bytes WHERE order_id IN ({marks})"  # noqa: S608
        return {row[0]: bytes(row[1]) for row in await self._database.fetch(sql, *order_ids)}

    async def record(self, client_id: str, order_id: str) -> OrderView | None:
        """Return an order of this client only."""
        rows = await self._database.fetch(_RECORD, order_id, client_id)
        return OrderView._make(rows[0]) if rows else None

    async def find(self, order_id: str) -> Order | None:
        """Return any order (operator's view)."""
        return _first(await self._database.fetch(SELECT + "WHERE o.order_id = ?", order_id))

    async def by_hash(self, tx_hash: str) -> Order | None:
        """Return any order by transaction hash."""
        return _first(await self._database.fetch(SELECT + "WHERE o.tx_hash = ?", tx_hash))

    async def watched(self) -> Sequence[Order]:
        """Return every order that the tracker still tracks."""
        rows = await self._database.scan(
            SELECT + "WHERE o.watched = 1 ORDER BY o.created_at_ms, o.order_id"
        )
        return [order_from(row) for row in rows]

    async def arrivals(self, failed_since_ms: int = 0) -> Sequence[tuple[str, int]]:
        """Return (order id, version) of every tracked order that is pending, submitted or failed.

        Failed orders are included only if they expire after `failed_since_ms`. A partial index
        contains exactly these rows, so the cost does not depend on the number of other orders.
        """
        rows = await self._database.fetch(ARRIVALS, failed_since_ms)
        return [(row[0], row[1]) for row in rows]

    async def live_nonces(self, wallet: Address) -> Sequence[int]:
        """Return nonces of this wallet's non-terminal orders of all clients, ascending.

        They must not be shown to a client, because they include orders of others.
        """
        sql = f"SELECT nonce FROM orders WHERE wallet = ? AND {OPEN}"  # noqa: S608
        return sorted(int(row[0]) for row in await self._database.fetch(sql, wallet))

    async def at_nonce(self, wallet: Address, nonce: int) -> Sequence[Order]:
        """Return what may still be mined at this nonce, of all clients, bytes included.

        These are open orders, and expired or refused ones that are still tracked. They must not be
        shown to a client.
        """
        of = wallet, str(nonce)
        return [order_from(row) for row in await self._database.fetch(AT_NONCE, *of, *of)]

    async def own_nonces(self, client_id: str, wallet: Address) -> OwnNonces:
        """Return the nonces of this client's orders of a wallet that may still be mined."""
        of = wallet, client_id
        rows = await self._database.fetch(_OWN_NONCES, *of, *of)
        live = sorted(int(nonce) for nonce, is_live in rows if is_live)
        at_large = sorted(int(nonce) for nonce, is_live in rows if not is_live)
        return OwnNonces(tuple(live), tuple(at_large))

    async def events(self, order_id: str) -> Sequence[OrderEvent]:
        """Return the events of an order, oldest first."""
        sql = f"SELECT {EVENT_COLUMNS} FROM order_events WHERE order_id = ? ORDER BY version"  # noqa: S608
        return [OrderEvent(*row) for row in await self._database.fetch(sql, order_id)]

    async def drop_raw(self, finalised_before_ms: int, limit: int) -> int:
        """Delete the bytes of up to `limit` orders final before then; return the number.

        An order is final since the first event with `watched` False. An order that is watched again
        keeps its bytes.
        """
        sql = (
            "DELETE FROM order_bytes WHERE order_id IN ("
            "SELECT b.order_id FROM order_bytes b JOIN orders o ON o.order_id = b.order_id "
            "WHERE b.final_at_ms < ? AND o.watched = 0 ORDER BY b.final_at_ms LIMIT ?"
            ") RETURNING order_id"
        )
        return len(await self._database.change(sql, finalised_before_ms, limit))


def _first(rows: Sequence[Row]) -> Order | None:
    return order_from(rows[0]) if rows else None


async def _by_hash(transaction: Transaction, tx_hash: str) -> Order | None:
    # After a conflict the other order is committed. Retention deletes only old final orders.
    return _first(await transaction.fetch(SELECT + "WHERE o.tx_hash = ?", tx_hash))


async def _write_raw(transaction: Transaction, order: Order, event: OrderEvent) -> None:
    if order.raw is not None:
        sql = "INSERT INTO order_bytes (order_id, raw, final_at_ms) VALUES (?, ?, ?)"
        final_at_ms = None if order.watched else event.at_ms
        await transaction.fetch(sql, order.order_id, order.raw, final_at_ms)


async def _mark_final(transaction: Transaction, order: Order, event: OrderEvent | None) -> None:
    sql = "UPDATE order_bytes SET final_at_ms = ? WHERE order_id = ? AND final_at_ms IS NULL"
    at_ms = event.at_ms if event else order.created_at_ms
    await transaction.fetch(sql, at_ms, order.order_id)


async def _count(transaction: Transaction, order: Order, changes: dict[OrderStatus, int]) -> None:
    if order.kind is not OrderKind.SWAP:
        return
    rows = ", ".join("(?, ?, ?, ?)" for _ in changes)
    args: list[Value] = []
    for status in sorted(changes):
        args += [order.client_id, order.wallet, status.value, changes[status]]
    await transaction.fetch(_COUNT.format(rows=rows), *args)
