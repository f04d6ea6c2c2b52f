"""API keys, each with the state and the limits of its client."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from quietswap.rules.clients import ApiKey, AuditEntry, Client, KeyScope
from quietswap.service.storage.client_usage import (
    LIMIT_COLUMNS,
    limits_of,
)
from quietswap.service.storage.clients import insert_client
from quietswap.service.storage.database import Row, Store, Transaction, Value, append_audit

_STORED = (
    "id", "name", "created_at_ms", "revoked_at_ms", "client_id", "scope", "expires_at_ms",
    "last_used_at_ms", "replaced_by",
)  # fmt: skip
# The SQL below is composed only of the constants above.
_KEYS_COLUMNS = ", ".join(
    (
        *(f"k.{column}" for column in _STORED),
        "c.disabled_at_ms",
        *(f"l.{column}" for column in LIMIT_COLUMNS),
    )
)
_TABLES = """
api_keys k JOIN clients c ON c.id = k.client_id
LEFT JOIN client_limits l ON l.client_id = k.client_id
"""
_KEYS_SELECT = f"SELECT {_KEYS_COLUMNS} FROM {_TABLES} "  # noqa: S608
_LIST = f"""
{_KEYS_SELECT}WHERE NOT EXISTS (SELECT 1 FROM web_sessions w WHERE w.id = k.id)
ORDER BY k.created_at_ms, k.id
"""  # noqa: S608
_KEYS_INSERT = f"""
INSERT INTO api_keys ({", ".join(_STORED)}, secret_hash)
VALUES ({", ".join("?" for _ in _STORED)}, ?)
"""  # noqa: S608


class KeyStore(Store):
    """API keys by SHA-256 of their secret."""

    async def find(self, secret_hash: bytes) -> ApiKey | None:
        """Return the key, revoked or not; None when unknown."""
        rows = await self._database.fetch(_KEYS_SELECT + "WHERE k.secret_hash = ?", secret_hash)
        return _key(rows[0]) if rows else None

    async def add(
        self,
        key: ApiKey,
        secret_hash: bytes,
        client: Client | None = None,
        audit: AuditEntry | None = None,
    ) -> None:
        """Store a new key, together with its new `client` or for a client that is stored."""

        async def body(transaction: Transaction) -> None:
            if client is not None:
                await insert_client(transaction, client)
            await insert_key(transaction, key, secret_hash)
            await append_audit(transaction, audit)

        await self._database.transact(body)

    async def list(self) -> Sequence[ApiKey]:
        """Return all keys except those of sessions of the web page, oldest first."""
        rows = await self._database.fetch(_LIST)
        return [_key(row) for row in rows]

    async def by_id(self, key_id: str) -> ApiKey | None:
        """Return the key with this id; None when unknown."""
        rows = await self._database.fetch(_KEYS_SELECT + "WHERE k.id = ?", key_id)
        return _key(rows[0]) if rows else None

    async def of_client(self, client_id: str) -> Sequence[ApiKey]:
        """Return up to 100 keys of a client, oldest first."""
        rows = await self._database.fetch(
            _KEYS_SELECT + "WHERE k.client_id = ? ORDER BY k.created_at_ms, k.id LIMIT 100",
            client_id,
        )
        return [_key(row) for row in rows]

    async def revoke(self, key_id: str, at_ms: int, audit: AuditEntry | None = None) -> bool:
        """Revoke; False when there is no such live key."""
        sql = "UPDATE api_keys SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL"
        return await self._change_audited(audit, f"{sql} RETURNING id", at_ms, key_id)

    async def rotate(
        self,
        key: ApiKey,
        secret_hash: bytes,
        old_id: str,
        old_expires_at_ms: int,
        audit: AuditEntry,
    ) -> bool:
        """Store the new `key` and let the old one, which names it, expire then at the latest.

        RPC URLs of wallets that belong to the old key belong to the new one. False if the old key
        is unknown, revoked or replaced already; nothing is stored then.
        """

        async def body(transaction: Transaction) -> bool:
            sql = (
                "UPDATE api_keys SET expires_at_ms = CASE WHEN expires_at_ms < ? "
                "THEN expires_at_ms ELSE ? END, replaced_by = ? "
                "WHERE id = ? AND revoked_at_ms IS NULL AND replaced_by IS NULL RETURNING id"
            )
            rows = await transaction.fetch(
                sql, old_expires_at_ms, old_expires_at_ms, key.id, old_id
            )
            if rows:
                await insert_key(transaction, key, secret_hash)
                await transaction.fetch(
                    "UPDATE wallet_rpc_tokens SET key_id = ? WHERE key_id = ?", key.id, old_id
                )
                await append_audit(transaction, audit)
            return bool(rows)

        return await self._database.transact(body)

    async def used(self, at_ms: Mapping[str, int]) -> None:
        """Store the last use of keys, by id; an earlier time than the stored one is ignored."""

        async def body(transaction: Transaction) -> None:
            for key_id in sorted(at_ms):  # every process locks in this order
                sql = (
                    "UPDATE api_keys SET last_used_at_ms = ? WHERE id = ? "
                    "AND (last_used_at_ms IS NULL OR last_used_at_ms < ?)"
                )
                await transaction.fetch(sql, at_ms[key_id], key_id, at_ms[key_id])

        await self._database.transact(body, durable=False)


async def insert_key(transaction: Transaction, key: ApiKey, secret_hash: bytes) -> None:
    await transaction.fetch(_KEYS_INSERT, *_values(key), secret_hash)


def _values(key: ApiKey) -> tuple[Value, ...]:
    """Return the values of `_STORED`."""
    *values, scope, expires, used, replaced_by = attrgetter(*_STORED)(key)
    return *values, scope.value, expires, used, replaced_by


def _key(row: Row) -> ApiKey:
    """Return the key of a row of `_COLUMNS`."""
    stored: dict[str, Any] = dict(zip(_STORED, row, strict=False))
    stored["scope"] = KeyScope(stored["scope"])
    disabled, *limits = row[len(_STORED) :]
    client_limits = None if limits[-1] is None else limits_of(limits)
    return ApiKey(**stored, is_client_disabled=disabled is not None, limits=client_limits)
