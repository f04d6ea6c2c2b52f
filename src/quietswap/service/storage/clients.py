"""Clients: the owners of quotes and orders, and their limits."""

from collections.abc import Callable, Sequence
from dataclasses import astuple

from quietswap.rules.clients import AuditEntry, Client, ClientLimits
from quietswap.service.storage.client_usage import (
    read_limits,
    write_limits,
)
from quietswap.service.storage.database import Store, Transaction, append_audit

_COLUMNS = "id, name, created_at_ms, disabled_at_ms"
_SELECT = f"SELECT {_COLUMNS} FROM clients "  # noqa: S608  only the constant above
_INSERT = f"INSERT INTO clients ({_COLUMNS}) VALUES (?, ?, ?, ?)"  # noqa: S608
_OLDEST = "ORDER BY created_at_ms, id"
_LISTED = "WHERE NOT EXISTS (SELECT 1 FROM web_sessions w WHERE w.id = clients.id) " + _OLDEST  # noqa: S608

HAS_LIVE_KEY = """
EXISTS (
    SELECT 1 FROM api_keys k JOIN clients l ON l.id = k.client_id
    WHERE k.client_id = {client_id} AND k.revoked_at_ms IS NULL AND l.disabled_at_ms IS NULL
    AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?)
)
"""
"""The service does nothing of itself for a disabled client, or one without a live key: it could not
end that, and a revoked key may have begun it. Its argument is the time in Unix ms."""


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
        rows = await self._database.fetch(_SELECT + "WHERE id = ?", id_or_name)
        if not rows:
            rows = await self._database.fetch(_SELECT + "WHERE name = ? " + _OLDEST, id_or_name)
        return [Client(*row) for row in rows]

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
