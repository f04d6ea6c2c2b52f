"""The log of the administrators' actions. The database refuses to change or delete a row."""

from collections.abc import Sequence

import msgspec

from quietswap.rules.clients import AuditEntry
from quietswap.service.storage.database import Store, append_audit


class AuditStore(Store):
    """Reads the log, and appends actions that change no row of their own."""

    async def append(self, entry: AuditEntry) -> None:
        """Store an entry. Raises StoreUnavailable."""
        await self._database.transact(lambda transaction: append_audit(transaction, entry))

    async def list(self, since_ms: int, limit: int) -> Sequence[AuditEntry]:
        """Return the latest `limit` entries since then, oldest first."""
        rows = await self._database.fetch(
            "SELECT id, at_ms, actor, event, details FROM audit_log "
            "WHERE at_ms >= ? ORDER BY at_ms DESC, id DESC LIMIT ?",
            since_ms,
            limit,
        )
        decode = msgspec.json.decode
        return [
            AuditEntry(identity, at_ms, decode(actor), event, decode(details))
            for identity, at_ms, actor, event, details in reversed(rows)
        ]
