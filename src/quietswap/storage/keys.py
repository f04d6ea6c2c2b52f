"""API keys."""

from collections.abc import Sequence

from quietswap.ports.stores import ApiKey
from quietswap.storage.database import Database, Row


class DatabaseKeys:
    """Implements quietswap.ports.stores.KeyStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, secret_hash: bytes) -> ApiKey | None:
        rows = await self._database.fetch(
            "SELECT id, name, created_at_ms, revoked_at_ms FROM api_keys WHERE secret_hash = ?",
            secret_hash,
        )
        return _key(rows[0]) if rows else None

    async def add(self, key: ApiKey, secret_hash: bytes) -> None:
        await self._database.change(
            "INSERT INTO api_keys (id, name, secret_hash, created_at_ms, revoked_at_ms) "
            "VALUES (?, ?, ?, ?, ?)",
            key.id,
            key.name,
            secret_hash,
            key.created_at_ms,
            key.revoked_at_ms,
        )

    async def list(self) -> Sequence[ApiKey]:
        rows = await self._database.fetch(
            "SELECT id, name, created_at_ms, revoked_at_ms FROM api_keys ORDER BY created_at_ms, id"
        )
        return [_key(row) for row in rows]

    async def revoke(self, key_id: str, at_ms: int) -> bool:
        rows = await self._database.change(
            "UPDATE api_keys SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL "
            "RETURNING id",
            at_ms,
            key_id,
        )
        return bool(rows)


def _key(row: Row) -> ApiKey:
    identity, name, created_at_ms, revoked_at_ms = row
    return ApiKey(identity, name, created_at_ms, revoked_at_ms)
