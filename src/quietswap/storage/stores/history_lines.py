"""The lines of a page of history, as each database stores them.

PostgreSQL has the columns of a line in its indexes. SQLite has the line as one JSON text there, in
the computed column `history_line`: a JSON array of the values of OrderListItem, in their order.
"""

from collections.abc import Sequence

import msgspec

from quietswap.domain.order.order_view import OrderListItem
from quietswap.storage.database import Row

COLUMNS = ", ".join(OrderListItem._fields)
INDEX, INDEX_BY_STATUS = "orders_history", "orders_history_by_status"
"""SQLite is told to use them: some of its versions choose another index with the same order, where
it must read each row and compute its line."""
JSON_PAGE = "COALESCE('[' || group_concat(history_line) || ']', '[]')"
"""All lines of SQLite's rows as one JSON text, in the order of the rows. One row instead of fifty:
SQLite releases the GIL at each row, and getting it back can take longer than the row."""

_decode = msgspec.json.Decoder(tuple[OrderListItem, ...]).decode


def selected(dialect: str) -> str:
    """Return what a SELECT of lines names, so that it can be sorted by time and order id."""
    return "history_line, created_at_ms, order_id" if dialect == "sqlite" else COLUMNS


def items(dialect: str, rows: Sequence[Row]) -> tuple[OrderListItem, ...]:
    """Return the lines of a page: on SQLite one row that begins with JSON_PAGE, else rows that
    begin with COLUMNS.
    """
    if dialect == "sqlite":
        return _decode(rows[0][0])
    width = len(OrderListItem._fields)
    return tuple(OrderListItem._make(row[:width]) for row in rows)
