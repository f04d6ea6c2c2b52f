"""Anonymous sessions of the web page, beside their clients and keys."""

import hashlib

from quietswap.rules.clients import ApiKey, Client, WebSessionBounds
from quietswap.service.storage.api_keys import insert_key
from quietswap.service.storage.clients import insert_client
from quietswap.service.storage.database import Store, Transaction

_HASH_BYTES = 8
_NEW_SESSION = int.from_bytes(b"quietws1")
"""Advisory lock: parallel new sessions of all processes wait for each other, and are counted."""
_OVER = """
SELECT s.id FROM web_sessions s WHERE s.expires_at_ms <= ? AND NOT EXISTS (
    SELECT 1 FROM orders o
    WHERE o.client_id = s.id AND o.status IN ('pending', 'submitted', 'mining')
) ORDER BY s.expires_at_ms LIMIT ?
"""
_IDLEST = """
SELECT s.id FROM web_sessions s JOIN api_keys k ON k.id = s.id
WHERE s.address_hash = ? AND s.expires_at_ms > ?
AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.client_id = s.id)
ORDER BY COALESCE(k.last_used_at_ms, k.created_at_ms), s.expires_at_ms, s.id LIMIT 1
"""
"""An order needs a wallet that signs: the session of an order stays."""
_DELETE = (
    "DELETE FROM wallet_rpc_tokens WHERE client_id = ?",
    "DELETE FROM client_limits WHERE client_id = ?",
    "DELETE FROM client_usage WHERE client_id = ?",
    "DELETE FROM api_keys WHERE client_id = ?",
    "DELETE FROM clients WHERE id = ?",
    "DELETE FROM web_sessions WHERE id = ?",
)


class WebSessionStore(Store):
    """Sessions. Each is a client with one key of the same id. All raise StoreUnavailable."""

    async def add(
        self,
        key: ApiKey,
        secret_hash: bytes,
        client: Client,
        address: str,
        bounds: WebSessionBounds,
    ) -> bool:
        """Store a session that began at a client address; False when the bounds are reached.

        Where the address has as many as it may, its session that was used least lately is deleted,
        unless all have orders. The address is stored as a hash. The bounds are exact, also with
        parallel calls.
        """
        place = hashlib.sha256(address.encode()).digest()[:_HASH_BYTES]

        async def body(transaction: Transaction) -> bool:
            if self._database.dialect == "postgresql":  # SQLite has one writer
                await transaction.fetch("SELECT pg_advisory_xact_lock(?)", _NEW_SESSION)
            sql = "SELECT COUNT(*) FROM web_sessions WHERE address_hash = ? AND expires_at_ms > ?"
            [of_address] = await transaction.fetch(sql, place, key.created_at_ms)
            [of_all] = await transaction.fetch("SELECT COUNT(*) FROM web_sessions")
            is_full = of_address[0] >= bounds.per_address
            if of_all[0] - is_full >= bounds.total:
                return False
            if is_full:
                idlest = await transaction.fetch(_IDLEST, place, key.created_at_ms)
                if not idlest:
                    return False
                await _delete(transaction, idlest[0][0])
            await insert_client(transaction, client)
            await insert_key(transaction, key, secret_hash)
            sql = "INSERT INTO web_sessions (id, address_hash, expires_at_ms) VALUES (?, ?, ?)"
            await transaction.fetch(sql, key.id, place, key.expires_at_ms)
            return True

        return await self._database.transact(body)

    async def extend(self, session_id: str, expires_at_ms: int) -> None:
        """Let a session and its RPC URLs end later."""

        async def body(transaction: Transaction) -> None:
            for table in ("api_keys", "web_sessions"):
                sql = f"UPDATE {table} SET expires_at_ms = ? WHERE id = ? AND expires_at_ms < ?"  # noqa: S608
                await transaction.fetch(sql, expires_at_ms, session_id, expires_at_ms)

        await self._database.transact(body)

    async def purge(self, before_ms: int, limit: int) -> int:
        """Delete sessions that ended before a time, at most `limit`; return how many.

        A session with an open order is kept. Orders are never deleted here.
        """

        async def body(transaction: Transaction) -> int:
            ended_ids = [row[0] for row in await transaction.fetch(_OVER, before_ms, limit)]
            for session_id in ended_ids:
                await _delete(transaction, session_id)
            return len(ended_ids)

        return await self._database.transact(body)


async def _delete(transaction: Transaction, session_id: str) -> None:
    for statement in _DELETE:
        await transaction.fetch(statement, session_id)
