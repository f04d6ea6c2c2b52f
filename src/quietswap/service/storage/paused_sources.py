"""Sources that an operator paused. A change is stored together with its entry in the audit log."""

from collections.abc import Sequence
from dataclasses import astuple

from quietswap.rules.clients import AuditEntry
from quietswap.rules.operator.operators import PausedSource
from quietswap.service.storage.database import Store


class PausedSourceStore(Store):
    """Sources that an operator paused. All methods raise StoreUnavailable."""

    async def list(self) -> Sequence[PausedSource]:
        """Return them by name."""
        rows = await self._database.fetch(
            "SELECT name, paused_at_ms, paused_by, reason FROM paused_sources ORDER BY name"
        )
        return [PausedSource(*row) for row in rows]

    async def pause(self, source: PausedSource, audit: AuditEntry) -> bool:
        """Pause a source; False if it is paused already."""
        return await self._change_audited(
            audit,
            "INSERT INTO paused_sources (name, paused_at_ms, paused_by, reason) "
            "VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING name",
            *astuple(source),
        )

    async def resume(self, name: str, audit: AuditEntry) -> bool:
        """End a pause; False if there is none."""
        sql = "DELETE FROM paused_sources WHERE name = ? RETURNING name"
        return await self._change_audited(audit, sql, name)
