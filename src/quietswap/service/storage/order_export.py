"""Orders in order of time, read page by page.

Each page starts behind the last row of the page before (keyset), so a page costs the same at any
place and an export holds one page in memory. No connection is held between pages.
"""

from collections.abc import AsyncGenerator, Sequence

from quietswap.rules.orders.export import ExportFilter, ExportRow
from quietswap.rules.orders.order_ids import PREFIXES
from quietswap.rules.orders.order_views import OrderView
from quietswap.service.storage.database import Database, Row, Store, Value

_COLUMNS = ", ".join((*ExportRow._fields[:-1], *OrderView._fields))
_BY_TIME = f"""
SELECT {_COLUMNS} FROM orders
WHERE client_id = ? {{and_wallet}} AND (created_at_ms, order_id) > (?, ?) AND created_at_ms < ?
ORDER BY created_at_ms, order_id LIMIT ?
"""  # noqa: S608  only constants of this module
OF_WALLET = _BY_TIME.format(and_wallet="AND wallet = ?")
OF_CLIENT = _BY_TIME.format(and_wallet="")
"""Arguments: client (and wallet), the last time and id, the end in Unix ms, most rows."""
OF_ALL = f"""
SELECT {_COLUMNS} FROM orders
WHERE order_id > ? AND order_id < ? ORDER BY order_id LIMIT ?
"""  # noqa: S608
"""Arguments: the last id, the first id behind the end, most rows."""
_SLACK_MS = 60_000
"""The time in an id may differ from the stored time of the order by less than this."""
PAGE = 100


class OrderExportStore(Store):
    """All orders of a range, page by page."""

    def __init__(self, database: Database, page: int = PAGE) -> None:
        super().__init__(database)
        self._page = page

    async def pages(self, wanted: ExportFilter) -> AsyncGenerator[Sequence[ExportRow]]:
        """Yield the orders of a client by time. Raises StoreUnavailable.

        Without a client: by kind, and then by id, which is by time; every order of the range is
        read then.
        """
        if wanted.client_id is None:
            for prefix in PREFIXES:
                async for rows in self._of_prefix(prefix, wanted):
                    yield rows
            return
        owner: tuple[Value, ...] = (wanted.client_id,)
        sql = OF_CLIENT
        if wanted.wallet is not None:
            owner, sql = (*owner, wanted.wallet), OF_WALLET
        last: tuple[Value, ...] = (wanted.since_ms, "")
        while True:
            records = await self._database.fetch(sql, *owner, *last, wanted.until_ms, self._page)
            rows = [_row(row) for row in records]
            if rows:
                yield rows
                last = rows[-1].order.created_at_ms, rows[-1].order.order_id
            if len(rows) < self._page:
                return

    async def _of_prefix(
        self, prefix: str, wanted: ExportFilter
    ) -> AsyncGenerator[Sequence[ExportRow]]:
        last = f"{prefix}_{max(wanted.since_ms - _SLACK_MS, 0):012x}"
        end = f"{prefix}_{wanted.until_ms + _SLACK_MS:012x}"
        while True:
            records = await self._database.fetch(OF_ALL, last, end, self._page)
            rows = [_row(row) for row in records]
            matching = [row for row in rows if _matches(row, wanted)]
            if matching:
                yield matching
            if len(rows) < self._page:
                return
            last = rows[-1].order.order_id


def _row(row: Row) -> ExportRow:
    client_id, wallet, source, tier, block_hash, *order = row
    return ExportRow(client_id, wallet, source, tier, block_hash, OrderView._make(order))


def _matches(row: ExportRow, wanted: ExportFilter) -> bool:
    in_time = wanted.since_ms <= row.order.created_at_ms < wanted.until_ms
    return in_time and wanted.wallet in (None, row.wallet)
