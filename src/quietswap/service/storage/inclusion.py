"""What the newest mined orders of all clients waited for and met, for statistics.

A statement reads at most `limit` orders through a partial index, whatever the size of the table.
"""

from collections.abc import Sequence

from quietswap.rules.operator.inclusion import StoredInclusion
from quietswap.service.storage.database import Store

MINED = """
SELECT block_number, submitted_head, endpoint_type,
    CASE WHEN second_tier IS NULL THEN tier ELSE 0 END, priority_fee, fee_cap, base_fee,
    fullness_bps, builder
FROM orders
WHERE block_number IS NOT NULL AND block_time_ms >= ? AND submitted_head IS NOT NULL
ORDER BY block_time_ms DESC, order_id DESC LIMIT ?
"""
"""Arguments: earliest time of a block in Unix ms, most orders. Columns: StoredInclusion."""
EXPIRED = "SELECT COUNT(*) FROM orders WHERE failure_code = 'EXPIRED' AND expires_at_ms >= ?"
"""Argument: earliest expiry in Unix ms."""


class InclusionStore(Store):
    async def mined(self, since_ms: int, limit: int) -> Sequence[StoredInclusion]:
        """Return the newest `limit` orders that blocks since then have, and that a relay took."""
        return [StoredInclusion(*row) for row in await self._database.scan(MINED, since_ms, limit)]

    async def expired(self, since_ms: int) -> int:
        """Count the orders that expired since then, and that no block has had."""
        [row] = await self._database.scan(EXPIRED, since_ms)
        return int(row[0])
