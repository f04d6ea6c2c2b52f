"""Orders in order of time, read page by page.

Each page starts behind the last row of the page before (keyset), so a page costs the same at any
place and an export holds one page in memory. No connection is held between pages.
"""

from collections.abc import AsyncGenerator, Sequence

from quietswap.rules.orders.export import ExportFilter, ExportRow
from quietswap.rules.orders.order_ids import PREFIXES
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.orders.statistics import Tally
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
            found = await self._database.fetch(sql, *owner, *last, wanted.until_ms, self._page)
            rows = [_row(row) for row in found]
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
            found = await self._database.fetch(OF_ALL, last, end, self._page)
            rows = [_row(row) for row in found]
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


# Counts of the newest orders of a client, for statistics.
#
# The statement reads at most `limit` orders through the index `orders_by_time`, and returns
# counted values, not orders. So its cost has a bound, whatever the size of the table.

TALLIES = """
WITH recent AS (
    SELECT source, CASE WHEN second_tier IS NULL THEN tier ELSE 0 END AS tier, status, attempts,
        failure_code, submitted_at_ms, delivered_bps, refund_status, refund_wei,
        block_number - submitted_head AS blocks, block_time_ms - submitted_at_ms AS ms
    FROM orders
    WHERE client_id = ? AND created_at_ms >= ? AND kind IN ('swap', 'wrap')
    ORDER BY created_at_ms DESC, order_id DESC LIMIT ?
)
SELECT 'orders', source, tier, status, CASE WHEN attempts > 1 THEN 1 ELSE 0 END AS v, COUNT(*)
FROM recent GROUP BY source, tier, status, CASE WHEN attempts > 1 THEN 1 ELSE 0 END
UNION ALL
SELECT 'reverted', source, tier, '', 0, COUNT(*)
FROM recent WHERE failure_code = 'REVERTED' GROUP BY source, tier
UNION ALL
SELECT 'dropped', source, tier, '', 0, COUNT(*)
FROM recent WHERE failure_code = 'EXPIRED' AND submitted_at_ms IS NOT NULL GROUP BY source, tier
UNION ALL
SELECT 'blocks', source, tier, '', CASE WHEN blocks < 0 THEN 0 ELSE blocks END, COUNT(*)
FROM recent WHERE blocks IS NOT NULL
GROUP BY source, tier, CASE WHEN blocks < 0 THEN 0 ELSE blocks END
UNION ALL
SELECT 'seconds', source, tier, '', CASE WHEN ms < 0 THEN 0 ELSE ms / 1000 END, COUNT(*)
FROM recent WHERE ms IS NOT NULL
GROUP BY source, tier, CASE WHEN ms < 0 THEN 0 ELSE ms / 1000 END
UNION ALL
SELECT 'delivered', source, tier, '', delivered_bps, COUNT(*)
FROM recent WHERE delivered_bps IS NOT NULL GROUP BY source, tier, delivered_bps
UNION ALL
SELECT 'refund', source, tier, refund_status || ' ' || refund_wei, 0, COUNT(*)
FROM recent WHERE refund_status IN ('reported', 'paid')
GROUP BY source, tier, refund_status || ' ' || refund_wei
"""
"""Arguments: client, earliest creation in Unix ms, most orders. Columns: Tally."""


class OrderStatisticsStore(Store):
    async def tallies(self, client_id: str, since_ms: int, limit: int) -> Sequence[Tally]:
        """Count the newest `limit` swaps and wraps of a client created since then."""
        rows = await self._database.scan(TALLIES, client_id, since_ms, limit)
        return [Tally(*row) for row in rows]
