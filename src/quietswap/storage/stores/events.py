"""The outbox: events of orders, numbered by client.

`event_rows` writes them inside the transaction that changes the order. This store reads and prunes.
"""

from collections.abc import Collection, Mapping, Sequence

from quietswap.ports.events import EventSpan, StoredEvent
from quietswap.storage.database import Database, Transaction
from quietswap.storage.stores.event_rows import STORED, stored_event

# The SQL below is composed only of constants of event_rows and of question marks.
_AFTER = f"""
SELECT {STORED} FROM events WHERE client_id = ? AND sequence > ? ORDER BY sequence LIMIT ?
"""  # noqa: S608
_SPAN = """
SELECT c.sequence, (SELECT MIN(e.sequence) FROM events e WHERE e.client_id = c.client_id)
FROM event_counters c WHERE c.client_id = ?
"""
_PURGE = """
DELETE FROM events WHERE (client_id, sequence) IN (
    SELECT client_id, sequence FROM events WHERE at_ms < ? ORDER BY at_ms LIMIT ?
) RETURNING client_id, sequence
"""
_CLIENTS = 500
"""Clients per statement."""


class SqlEventStore:
    """Implements quietswap.ports.events.EventStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, client_ids: Collection[str]) -> Mapping[str, int]:
        wanted, found = list(client_ids), {}
        for start in range(0, len(wanted), _CLIENTS):
            some = wanted[start : start + _CLIENTS]
            marks = ", ".join("?" for _ in some)
            rows = await self._database.fetch(
                f"SELECT client_id, sequence FROM event_counters WHERE client_id IN ({marks})",  # noqa: S608
                *some,
            )
            found.update({row[0]: row[1] for row in rows})
        return found

    async def span(self, client_id: str) -> EventSpan:
        rows = await self._database.fetch(_SPAN, client_id)
        if not rows:
            return EventSpan(oldest=1, newest=0)
        newest, oldest = rows[0]
        return EventSpan(newest + 1 if oldest is None else oldest, newest)

    async def after(self, client_id: str, sequence: int, limit: int) -> Sequence[StoredEvent]:
        rows = await self._database.fetch(_AFTER, client_id, sequence, limit)
        return [stored_event(row) for row in rows]

    async def purge(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` events older than that, and return the number.

        The clocks of several hosts differ, so the ages of a client's events may not have the order
        of their sequence. What is older by sequence than a deleted event is deleted, too.
        """

        async def body(transaction: Transaction) -> int:
            rows = await transaction.fetch(_PURGE, before_ms, limit)
            last: dict[str, int] = {}
            for client_id, sequence in rows:
                last[client_id] = max(sequence, last.get(client_id, 0))
            for client_id in sorted(last):
                await transaction.fetch(
                    "DELETE FROM events WHERE client_id = ? AND sequence < ?",
                    client_id,
                    last[client_id],
                )
            return len(rows)

        return await self._database.transact(body)
