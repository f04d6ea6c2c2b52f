"""Order search for the operator. It scans the whole table: do not use it in a request."""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.rules.orders.order import Order, OrderStatus
from quietswap.service.storage.database import Database, Value
from quietswap.service.storage.order_rows import COLUMNS, order_from


@dataclass(frozen=True, slots=True)
class OrderFilter:
    """Conditions on an order; None matches all. `since_ms` is the earliest creation in Unix ms."""

    wallet: str | None = None
    client_id: str | None = None
    status: OrderStatus | None = None
    since_ms: int | None = None


async def search_orders(database: Database, wanted: OrderFilter, limit: int) -> Sequence[Order]:
    """Return the newest `limit` matching orders, newest first, without their signed bytes."""
    conditions: list[tuple[str, Value]] = [
        ("wallet = ?", wanted.wallet),
        ("client_id = ?", wanted.client_id),
        ("status = ?", None if wanted.status is None else wanted.status.value),
        ("created_at_ms >= ?", wanted.since_ms),
    ]
    filters = [(text, value) for text, value in conditions if value is not None]
    where = f"WHERE {' AND '.join(text for text, _ in filters)} " if filters else ""
    rows = await database.scan(
        f"SELECT {', '.join(COLUMNS)}, NULL FROM orders {where}"  # noqa: S608  our own constants
        "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?",
        *(value for _, value in filters),
        limit,
    )
    return [order_from(row) for row in rows]
