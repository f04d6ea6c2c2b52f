"""The outbox: the events of each client's orders, in the order of their commits.

`write_event` writes an event in the transaction that changes the order. Each client has its own
sequence: 1, 2, 3 and so on, without gaps. Events of one client become visible in this order, also
if several processes write. There is no order between clients, so a reader keeps one sequence for
each client: `newest` says which clients have more, `after` returns it.

A standby that was promoted without the last commits, and a restored database, lack the last numbers
that were told. They are not given again: numbers go on `LOST` later, so that a reader of the lost
ones finds a gap. PostgreSQL's timeline tells of the change; for a restore that keeps the timeline,
and for SQLite, an operator does (`skip_lost`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from quietswap.service.storage.database import Store, Transaction
from quietswap.service.storage.event_counters import LOST, last_sequence
from quietswap.service.storage.event_rows import STORED, TABLES, ClientEvent, stored_event


@dataclass(frozen=True, slots=True)
class EventSpan:
    """The last sequence of one client, 0 before its first event, and the first one that is stored
    of those that follow a place: `newest` + 1 without any.
    """

    following: int
    newest: int

    def has_gap(self, place: int) -> bool:
        """Return whether events that followed `place` were pruned or lost."""
        return place < self.newest and self.following != place + 1


# The SQL below is composed only of constants of this module and of question marks.
_ALL_AFTER = " UNION ALL ".join(
    f"SELECT {STORED} FROM {table} WHERE client_id = ? AND sequence > ?"  # noqa: S608
    for table in TABLES
)
_AFTER = f"{_ALL_AFTER} ORDER BY sequence LIMIT ?"
_FOLLOWING = ", ".join(
    f"(SELECT MIN(e.sequence) FROM {table} e"  # noqa: S608
    " WHERE e.client_id = event_counters.client_id AND e.sequence > ?)"
    for table in TABLES
)
_PURGE = """
DELETE FROM {table} WHERE (client_id, sequence) IN (
    SELECT client_id, sequence FROM {table} WHERE at_ms < ? ORDER BY at_ms LIMIT ?
) RETURNING client_id, sequence
"""
_CLIENTS = 500
"""Clients per statement."""


class EventStore(Store):
    """The events of all clients. Every method raises StoreUnavailable."""

    async def newest(self, client_ids: Collection[str]) -> Mapping[str, int]:
        """Return the sequence of the last event of each client; a client without one is absent."""
        ids, sequences = list(client_ids), {}
        for start in range(0, len(ids), _CLIENTS):
            some = ids[start : start + _CLIENTS]
            marks = ", ".join("?" for _ in some)
            last = last_sequence(self._database.dialect)
            rows = await self._database.fetch(
                f"SELECT client_id, {last} FROM event_counters WHERE client_id IN ({marks})",  # noqa: S608
                *some,
            )
            sequences.update({row[0]: row[1] for row in rows})
        return sequences

    async def span(self, client_id: str, place: int = 0) -> EventSpan:
        """Return the newest sequence of a client, and the first stored one after `place`."""
        last = last_sequence(self._database.dialect)
        rows = await self._database.fetch(
            f"SELECT {last}, {_FOLLOWING} FROM event_counters WHERE client_id = ?",  # noqa: S608
            *(place for _ in TABLES), client_id,
        )  # fmt: skip
        if not rows:
            return EventSpan(following=1, newest=0)
        newest, *following = rows[0]
        stored = (sequence for sequence in following if sequence is not None)
        return EventSpan(min(stored, default=newest + 1), newest)

    async def skip_lost(self) -> None:
        """Leave the numbers out that a restored copy lacks. Call it once after a restore."""
        await self._database.change(f"UPDATE event_counters SET sequence = sequence + {LOST}")  # noqa: S608

    async def after(self, client_id: str, sequence: int, limit: int) -> Sequence[ClientEvent]:
        """Return up to `limit` events of a client that follow `sequence`, oldest first.

        If the first one is not `sequence` + 1, the events between were pruned.
        """
        places = (client_id, sequence) * len(TABLES)
        rows = await self._database.fetch(_AFTER, *places, limit)
        return [stored_event(row) for row in rows]

    async def purge(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` events of each table older than that, and return the number.

        The clocks of several hosts differ, so the ages of a client's events may not have the order
        of their sequence. What is older by sequence than a deleted event is deleted, too.
        """

        async def body(transaction: Transaction) -> int:
            rows = [
                row
                for table in TABLES
                for row in await transaction.fetch(_PURGE.format(table=table), before_ms, limit)
            ]
            last: dict[str, int] = {}
            for client_id, sequence in rows:
                last[client_id] = max(sequence, last.get(client_id, 0))
            for client_id in sorted(last):
                for table in TABLES:
                    sql = f"DELETE FROM {table} WHERE client_id = ? AND sequence < ?"  # noqa: S608
                    await transaction.fetch(sql, client_id, last[client_id])
            return len(rows)

        return await self._database.transact(body)
