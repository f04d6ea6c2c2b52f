"""Orders, their diary, and the counters that make a history's `total` a lookup.

`order_counts` holds one row per key, wallet and status of swap orders, changed in the transaction
that changes the order. Rows of it are always locked in the order of their status, after the order's
own row, so that two transactions cannot wait for each other.
"""

from collections.abc import Mapping, Sequence

from quietswap.domain.address import Address
from quietswap.domain.order import Order, OrderEvent, OrderKind, Status
from quietswap.domain.order_record import HistoryLine, HistoryPage, OrderRecord
from quietswap.ports.stores import DuplicateTransaction
from quietswap.storage.database import Database, Row, Transaction, Value
from quietswap.storage.order_rows import (
    COLUMNS,
    EVENT_COLUMNS,
    MOVING,
    event_from,
    event_values,
    fixed_values,
    moving_values,
    order_from,
)

_O_COLUMNS = ", ".join(f"o.{column}" for column in COLUMNS)

# Only constants of this module and of order_rows are put together in the texts below.
_INSERT = f"""
INSERT INTO orders ({", ".join(COLUMNS)}) VALUES ({", ".join("?" for _ in COLUMNS)})
ON CONFLICT (tx_hash) DO NOTHING RETURNING order_id
"""  # noqa: S608
_UPDATE = f"""
UPDATE orders SET {", ".join(f"{column} = ?" for column in MOVING)}, version = version + 1
WHERE order_id = ? AND version = ? RETURNING order_id
"""  # noqa: S608
_CLAIM = """
UPDATE orders SET sent_head = ?, attempts = attempts + 1, version = version + 1
WHERE order_id IN ({ids}) AND (order_id, version) IN (VALUES {versions})
AND EXISTS (SELECT 1 FROM order_bytes b WHERE b.order_id = orders.order_id)
RETURNING order_id, (SELECT raw FROM order_bytes b WHERE b.order_id = orders.order_id)
"""
"""SQLite finds the rows by the first condition, the second says which of them."""
_SELECT = f"""
SELECT {_O_COLUMNS}, b.raw FROM orders o LEFT JOIN order_bytes b ON b.order_id = o.order_id
"""  # noqa: S608
_RECORD = f"""
SELECT {", ".join(OrderRecord._fields)} FROM orders
WHERE order_id = ? AND key_id = ? AND kind = 'swap'
"""  # noqa: S608
_INSERT_EVENT = f"""
INSERT INTO order_events (version, {EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
_COUNT = """
INSERT INTO order_counts (key_id, wallet, status, n) VALUES {rows}
ON CONFLICT (key_id, wallet, status) DO UPDATE SET n = order_counts.n + excluded.n
"""
_TOTAL = """
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM order_counts
WHERE key_id = ? AND wallet = ? {and_status}
"""
_PAGE = f"""
SELECT {{columns}}, ({_TOTAL}) FROM orders
WHERE kind = 'swap' AND key_id = ? AND wallet = ? {{and_status}}
ORDER BY created_at_ms DESC, order_id DESC LIMIT ? OFFSET ?
"""  # noqa: S608
_LINE = ", ".join(HistoryLine._fields)
PAGE_OF_ALL = _PAGE.format(and_status="", columns=_LINE)
PAGE_OF_STATUS = _PAGE.format(and_status="AND status = ?", columns=_LINE)
"""Arguments: key, wallet (and status) twice, limit, offset. Columns: a line, the total."""
TOTAL_OF_ALL = _TOTAL.format(and_status="")
TOTAL_OF_STATUS = _TOTAL.format(and_status="AND status = ?")


class DatabaseOrders:
    """Implements quietswap.ports.stores.OrderStore, and the retention of signed bytes.

    What an order *is* (parties, amounts, hash, bytes) is written by `add` and never again; `update`
    writes what is known of it. The bytes go by `drop_raw` alone.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, order: Order, event: OrderEvent) -> None:
        """Commit a new order, on disk when this returns. Raises DuplicateTransaction.

        After StoreDown it is open whether the order was stored: it may be, and must then be found
        by its hash before anything else is done with the transaction.
        """

        async def body(transaction: Transaction) -> Order | None:
            values = (*fixed_values(order), *moving_values(order), order.version)
            if not await transaction.fetch(_INSERT, *values):
                return await _by_hash(transaction, order.tx_hash)
            await _write_raw(transaction, order, event)
            await transaction.fetch(_INSERT_EVENT, order.version, *event_values(event))
            await _count(transaction, order, {order.status: 1})
            return None

        if stored := await self._database.transact(body):
            raise DuplicateTransaction(stored)

    async def update(self, order: Order, event: OrderEvent | None) -> bool:
        """Write `order` if the stored version is `order.version`, and grow it; else False."""

        async def body(transaction: Transaction) -> bool:
            before = await transaction.fetch(
                "SELECT status FROM orders WHERE order_id = ? AND version = ?",
                order.order_id,
                order.version,
            )
            values = (*moving_values(order), order.order_id, order.version)
            if not before or not await transaction.fetch(_UPDATE, *values):
                return False
            if event is not None:
                await transaction.fetch(_INSERT_EVENT, order.version + 1, *event_values(event))
            if not order.watched:
                await _mark_final(transaction, order, event)
            if (was := Status(before[0][0])) is not order.status:
                await _count(transaction, order, {was: -1, order.status: 1})
            return True

        # Without the relay's word the order is pending, and the tracker asks again by sending.
        return await self._database.transact(body, durable=order.status is not Status.SUBMITTED)

    async def claim(self, orders: Sequence[Order], head: int) -> Mapping[str, bytes]:
        """Write that these are sent once more at block number `head`; return their bytes by id.

        One whose stored version is not the given one, or without bytes, is left alone, and missing.
        A power cut may take the note back: whoever could have misread the row ended with it.
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

    async def record(self, key_id: str, order_id: str) -> OrderRecord | None:
        """Return a swap order of this key only."""
        rows = await self._database.fetch(_RECORD, order_id, key_id)
        return OrderRecord._make(rows[0]) if rows else None

    async def find(self, order_id: str) -> Order | None:
        """Return any order (operator's view)."""
        return _first(await self._database.fetch(_SELECT + "WHERE o.order_id = ?", order_id))

    async def by_hash(self, tx_hash: str) -> Order | None:
        """Return any order by transaction hash."""
        return _first(await self._database.fetch(_SELECT + "WHERE o.tx_hash = ?", tx_hash))

    async def page(
        self, key_id: str, wallet: Address, status: Status | None, limit: int, offset: int
    ) -> HistoryPage:
        """Return swap orders newest first (ties by order id, falling), and the total.

        One statement, so both are of one snapshot; an empty page has its total from a second. The
        total is a sum of at most six counters. `orders_history` (or `orders_history_by_status`)
        holds all that a line shows, some twenty lines per block: it is read from the wallet's
        newest order on, and no row is touched. So the cost depends on offset and limit alone, never
        on the size of the table or of the history, nor on how far apart the rows lie.
        """
        of: tuple[Value, ...] = (key_id, wallet)
        sql, total = PAGE_OF_ALL, TOTAL_OF_ALL
        if status is not None:
            of, sql, total = (*of, status.value), PAGE_OF_STATUS, TOTAL_OF_STATUS
        rows = await self._database.fetch(sql, *of, *of, limit, offset)
        if not rows:  # there were at most `offset` orders, whatever has come since
            return HistoryPage((), min(offset, (await self._database.fetch(total, *of))[0][0]))
        return HistoryPage(tuple(HistoryLine._make(row[:-1]) for row in rows), rows[0][-1])

    async def watched(self) -> Sequence[Order]:
        """Return every order the tracker still follows, oldest first."""
        rows = await self._database.scan(
            _SELECT + "WHERE o.watched = 1 ORDER BY o.created_at_ms, o.order_id"
        )
        return [order_from(row) for row in rows]

    async def arrivals(self) -> Sequence[tuple[str, int]]:
        """Return (order id, version) of every watched order that is pending, submitted or failed.

        An index holds exactly these, so the cost does not depend on the other orders.
        """
        rows = await self._database.fetch(
            "SELECT order_id, version FROM orders "
            "WHERE watched = 1 AND status IN ('pending', 'submitted', 'failed')"
        )
        return [(row[0], row[1]) for row in rows]

    async def live_nonces(self, wallet: Address) -> Sequence[int]:
        """Return nonces of this wallet's non-terminal orders, ascending."""
        rows = await self._database.fetch(
            "SELECT nonce FROM orders "
            "WHERE wallet = ? AND status IN ('pending', 'submitted', 'mining')",
            wallet,
        )
        return sorted(int(row[0]) for row in rows)

    async def events(self, order_id: str) -> Sequence[OrderEvent]:
        """Return the diary, oldest first."""
        sql = f"SELECT {EVENT_COLUMNS} FROM order_events WHERE order_id = ? ORDER BY version"  # noqa: S608
        return [event_from(row) for row in await self._database.fetch(sql, order_id)]

    async def drop_raw(self, finalised_before_ms: int, limit: int) -> int:
        """Delete the bytes of up to `limit` orders final before then; return how many went.

        An order is final when `update` wrote it as no longer watched; the time is that of the first
        event which did. One that is watched again keeps its bytes.
        """
        rows = await self._database.change(
            "DELETE FROM order_bytes WHERE order_id IN ("
            "SELECT b.order_id FROM order_bytes b JOIN orders o ON o.order_id = b.order_id "
            "WHERE b.final_at_ms < ? AND o.watched = 0 ORDER BY b.final_at_ms LIMIT ?"
            ") RETURNING order_id",
            finalised_before_ms,
            limit,
        )
        return len(rows)


def _first(rows: Sequence[Row]) -> Order | None:
    return order_from(rows[0]) if rows else None


async def _by_hash(transaction: Transaction, tx_hash: str) -> Order | None:
    # Rows are never deleted, and a conflict means that the other one is committed by now.
    return _first(await transaction.fetch(_SELECT + "WHERE o.tx_hash = ?", tx_hash))


async def _write_raw(transaction: Transaction, order: Order, event: OrderEvent) -> None:
    if order.raw is None:
        return
    await transaction.fetch(
        "INSERT INTO order_bytes (order_id, raw, final_at_ms) VALUES (?, ?, ?)",
        order.order_id,
        order.raw,
        None if order.watched else event.at_ms,
    )


async def _mark_final(transaction: Transaction, order: Order, event: OrderEvent | None) -> None:
    await transaction.fetch(
        "UPDATE order_bytes SET final_at_ms = ? WHERE order_id = ? AND final_at_ms IS NULL",
        event.at_ms if event else order.created_at_ms,
        order.order_id,
    )


async def _count(transaction: Transaction, order: Order, changes: dict[Status, int]) -> None:
    if order.kind is not OrderKind.SWAP:
        return
    rows = ", ".join("(?, ?, ?, ?)" for _ in changes)
    args: list[Value] = []
    for status in sorted(changes):
        args += [order.key_id, order.wallet, status.value, changes[status]]
    await transaction.fetch(_COUNT.format(rows=rows), *args)
