"""Counts of the newest orders of a client, for statistics.

The statement reads at most `limit` orders through the index `orders_by_time`, and returns counted
values, not orders. So its cost has a bound, whatever the size of the table.
"""

from collections.abc import Sequence

from quietswap.rules.orders.statistics import Tally
from quietswap.service.storage.database import Store

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
