"""Sources that an operator paused. A change is stored together with its entry in the audit log."""

from collections.abc import Sequence

from quietswap.ports.clients import AuditEntry
from quietswap.ports.operator_view import PausedSource
from quietswap.storage.database import Database, Transaction
from quietswap.storage.stores.audit import append_audit


class SqlPausedSourceStore:
    """Implements quietswap.ports.operator_view.PausedSourceStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> Sequence[PausedSource]:
        rows = await self._database.fetch(
            "SELECT name, paused_at_ms, paused_by, reason FROM paused_sources ORDER BY name"
        )
        return [PausedSource(*row) for row in rows]

    async def pause(self, source: PausedSource, audit: AuditEntry) -> bool:
        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(
                "INSERT INTO paused_sources (name, paused_at_ms, paused_by, reason) "
                "VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING name",
                source.name,
                source.paused_at_ms,
                source.paused_by,
                source.reason,
            )
            if rows:
                await append_audit(transaction, audit)
            return bool(rows)

        return await self._database.transact(body)

    async def resume(self, name: str, audit: AuditEntry) -> bool:
        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(
                "DELETE FROM paused_sources WHERE name = ? RETURNING name", name
            )
            if rows:
                await append_audit(transaction, audit)
            return bool(rows)

        return await self._database.transact(body)
