"""What one process has met of a relay, for all processes of the database."""

from collections.abc import Mapping

from quietswap.service.storage.database import Store

_WRITE = """
INSERT INTO relay_health (name, down_until_ms) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET down_until_ms = excluded.down_until_ms
"""


class RelayHealthStore(Store):
    """Both methods raise StoreUnavailable."""

    async def read(self) -> Mapping[str, int]:
        """Return by relay until when it is down, in Unix ms; 0 if it takes transactions."""
        rows = await self._database.fetch("SELECT name, down_until_ms FROM relay_health")
        return {row[0]: row[1] for row in rows}

    async def write(self, name: str, down_until_ms: int) -> None:
        await self._database.change(_WRITE, name, down_until_ms, durable=False)
