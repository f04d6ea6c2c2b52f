"""Clients: the owners of quotes and orders, and their limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from operator import attrgetter
from typing import Any

from quietswap.rules.clients import ApiKey, AuditEntry, Client, ClientLimits, KeyScope
from quietswap.service.storage.client_usage import (
    LIMIT_COLUMNS,
    limits_of,
    read_limits,
    write_limits,
)
from quietswap.service.storage.database import Row, Store, Transaction, Value, append_audit

_COLUMNS = "id, name, created_at_ms, disabled_at_ms"
_SELECT = f"SELECT {_COLUMNS} FROM clients "  # noqa: S608  only the constant above
_INSERT = f"INSERT INTO clients ({_COLUMNS}) VALUES (?, ?, ?, ?)"  # noqa: S608
_OLDEST = "ORDER BY created_at_ms, id"
_LISTED = "WHERE NOT EXISTS (SELECT 1 FROM web_sessions w WHERE w.id = clients.id) " + _OLDEST  # noqa: S608


class ClientStore(Store):
    """Clients, the owners of everything that keys create."""

    async def add(self, client: Client, audit: AuditEntry | None = None) -> None:
        """Store a new client, with the log entry of this in the same transaction."""

        async def body(transaction: Transaction) -> None:
            await insert_client(transaction, client)
            await append_audit(transaction, audit)

        await self._database.transact(body)

    async def find(self, id_or_name: str) -> Sequence[Client]:
        """Return the client with this id, else all clients with this name, oldest first."""
        found = await self._database.fetch(_SELECT + "WHERE id = ?", id_or_name)
        if not found:
            found = await self._database.fetch(_SELECT + "WHERE name = ? " + _OLDEST, id_or_name)
        return [Client(*row) for row in found]

    async def list(self) -> Sequence[Client]:
        """Return all clients except sessions of the web page, oldest first."""
        return [Client(*row) for row in await self._database.fetch(_SELECT + _LISTED)]

    async def switch(
        self, client_id: str, disabled_at_ms: int | None, audit: AuditEntry | None = None
    ) -> bool:
        """Disable a client, or enable it (None); False when that is its state already."""
        state = "NOT NULL" if disabled_at_ms is None else "NULL"
        sql = f"UPDATE clients SET disabled_at_ms = ? WHERE id = ? AND disabled_at_ms IS {state}"  # noqa: S608
        return await self._change_audited(audit, f"{sql} RETURNING id", disabled_at_ms, client_id)

    async def limits(self, client_id: str) -> ClientLimits:
        return await read_limits(self._database, client_id)

    async def change_limits(
        self,
        client_id: str,
        change: Callable[[ClientLimits], ClientLimits],
        audit: Callable[[ClientLimits, ClientLimits], AuditEntry] | None = None,
    ) -> ClientLimits:
        """Replace the limits of a client by what `change` makes of them, and return these.

        Parallel changes wait for each other, so none is lost. `audit` makes the log entry of the
        limits before and after; without a change nothing is stored. They count within a second.
        What `change` raises is raised unchanged, and nothing is stored.
        """

        async def body(transaction: Transaction) -> ClientLimits:
            await lock_client(transaction, client_id)
            before = await read_limits(transaction, client_id)
            after = change(before)
            if after != before:
                await write_limits(transaction, client_id, after)
                await append_audit(transaction, audit(before, after) if audit else None)
            return after

        return await self._database.transact(body)


async def lock_client(transaction: Transaction, client_id: str) -> None:
    """Write the client's row without a change, so that parallel transactions wait here.

    What they count or replace may have no row of its own yet, such as the first limit.
    """
    await transaction.fetch("UPDATE clients SET name = name WHERE id = ?", client_id)


async def insert_client(transaction: Transaction, client: Client) -> None:
    await transaction.fetch(_INSERT, *astuple(client))


# API keys, each with the state and the limits of its client.

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
    found = None if limits[-1] is None else limits_of(limits)
    return ApiKey(**stored, is_client_disabled=disabled is not None, limits=found)
