"""Clients: the owners of quotes and orders, and their limits."""

from collections.abc import Callable, Sequence

from quietswap.domain.client_limits import ClientLimits
from quietswap.ports.clients import AuditEntry, Client
from quietswap.storage.database import Database, Row, Transaction
from quietswap.storage.stores.audit import append_audit
from quietswap.storage.stores.client_usage import limits_in, read_limits, write_limits

_COLUMNS = "id, name, created_at_ms, disabled_at_ms"
_SELECT = f"SELECT {_COLUMNS} FROM clients "  # noqa: S608  only the constant above
_INSERT = f"INSERT INTO clients ({_COLUMNS}) VALUES (?, ?, ?, ?)"  # noqa: S608
_OLDEST = "ORDER BY created_at_ms, id"
_LISTED = (
    "WHERE NOT EXISTS (SELECT 1 FROM web_sessions w WHERE w.id = clients.id) "
    "ORDER BY created_at_ms, id"
)


class SqlClientStore:
    """Implements quietswap.ports.clients.ClientStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, client: Client, audit: AuditEntry | None = None) -> None:
        async def body(transaction: Transaction) -> None:
            await insert_client(transaction, client)
            await append_audit(transaction, audit)

        await self._database.transact(body)

    async def find(self, id_or_name: str) -> Sequence[Client]:
        found = await self._database.fetch(_SELECT + "WHERE id = ?", id_or_name)
        if not found:
            found = await self._database.fetch(_SELECT + "WHERE name = ? " + _OLDEST, id_or_name)
        return [_client(row) for row in found]

    async def list(self) -> Sequence[Client]:
        return [_client(row) for row in await self._database.fetch(_SELECT + _LISTED)]

    async def switch(
        self, client_id: str, disabled_at_ms: int | None, audit: AuditEntry | None = None
    ) -> bool:
        state = "NOT NULL" if disabled_at_ms is None else "NULL"
        sql = f"UPDATE clients SET disabled_at_ms = ? WHERE id = ? AND disabled_at_ms IS {state}"  # noqa: S608

        async def body(transaction: Transaction) -> bool:
            rows = await transaction.fetch(f"{sql} RETURNING id", disabled_at_ms, client_id)
            if rows:
                await append_audit(transaction, audit)
            return bool(rows)

        return await self._database.transact(body)

    async def limits(self, client_id: str) -> ClientLimits:
        return await read_limits(self._database, client_id)

    async def change_limits(
        self,
        client_id: str,
        change: Callable[[ClientLimits], ClientLimits],
        audit: Callable[[ClientLimits, ClientLimits], AuditEntry] | None = None,
    ) -> ClientLimits:
        async def body(transaction: Transaction) -> ClientLimits:
            await lock_client(transaction, client_id)
            before = await limits_in(transaction, client_id)
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
    """Store a new client in an open transaction."""
    await transaction.fetch(
        _INSERT, client.id, client.name, client.created_at_ms, client.disabled_at_ms
    )


def _client(row: Row) -> Client:
    return Client(*row)
