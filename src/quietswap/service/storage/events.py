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
from typing import Any

import msgspec

from quietswap.rules.orders.order import Order, OrderEvent
from quietswap.rules.orders.order_changes import OrderChange, change_by
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tx.address import Address
from quietswap.service.storage.database import Row, Store, Transaction


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvent:
    """One change of one order. `order` is its status record as that change left it.

    `event_id` is unique and never changes. `at_ms` is Unix ms; `depth` is the number of
    confirmations of the block that decided, 0 without one; `finalized` says that it is final.
    """

    event_id: str
    client_id: str
    sequence: int
    type: OrderChange
    at_ms: int
    wallet: Address
    order: OrderView
    depth: int
    finalized: bool


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


LOST = 1_000_000
"""More events than one client gets in the hours that a restore may lose."""
_EPOCHS = {
    "sqlite": "''",
    "postgresql": "CASE WHEN pg_is_in_recovery() THEN '' ELSE"
    " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END",
}
"""The current history: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES."""


def _last(dialect: str) -> str:
    """Return the SQL of a client's last number, the lost ones included."""
    epoch = _EPOCHS[dialect]
    skipped = f"CASE WHEN event_counters.epoch IN ('', {epoch}) THEN 0 ELSE {LOST} END"
    return f"event_counters.sequence + {skipped}"


# The rows of `events`: written with the change of an order, and read back.
#
# The record is a JSON object by the names of OrderView, without its empty fields. The names are
# stored data: a field that a later release adds is None in older events.

STORED = "event_id, client_id, sequence, type, at_ms, wallet, record, depth, finalized"
VIEW = ", ".join(OrderView._fields)
"""The RETURNING list of a statement that writes an order."""
_NEXT = {
    dialect: f"""
INSERT INTO event_counters (client_id, sequence, epoch) VALUES (?, 1, {epoch})
ON CONFLICT (client_id) DO UPDATE SET sequence = {_last(dialect)} + 1, epoch = excluded.epoch
RETURNING sequence
"""  # noqa: S608
    for dialect, epoch in _EPOCHS.items()
}
_INSERT = f"INSERT INTO events ({STORED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


async def write_event(
    transaction: Transaction, order: Order, event: OrderEvent, version: int, view: Row
) -> None:
    """Write the event of a change, if the client is told it. It must be the last statement.

    `view` is the row of `VIEW` after the change, `version` that of the order then. The row of the
    client's counter is locked until the commit: after all others, which prevents deadlocks.
    """
    change = change_by(event.event_type)
    if change is None:
        return
    rows = await transaction.fetch(_NEXT[transaction.dialect], order.client_id)
    named = zip(OrderView._fields, view, strict=True)
    record = {name: value for name, value in named if value is not None}
    place = (f"evt_{order.order_id}_{version}", order.client_id, rows[0][0], change.value)
    state = (_encoder.encode(record).decode(), event.depth, int(change is OrderChange.FINALIZED))
    await transaction.fetch(_INSERT, *place, event.at_ms, order.wallet, *state)


def stored_event(row: Row) -> StoredEvent:
    """Return the event of a row of `STORED`."""
    event_id, client_id, sequence, change, at_ms, wallet, record, depth, finalized = row
    members = _decoder.decode(record)
    order = OrderView._make(members.get(name) for name in OrderView._fields)
    return StoredEvent(
        event_id=event_id,
        client_id=client_id,
        sequence=sequence,
        type=OrderChange(change),
        at_ms=at_ms,
        wallet=Address(wallet),
        order=order,
        depth=depth,
        finalized=bool(finalized),
    )


# The SQL below is composed only of constants of this module and of question marks.
_AFTER = f"""
SELECT {STORED} FROM events WHERE client_id = ? AND sequence > ? ORDER BY sequence LIMIT ?
"""  # noqa: S608
_FOLLOWING = """
(SELECT MIN(e.sequence) FROM events e
WHERE e.client_id = event_counters.client_id AND e.sequence > ?)
"""
_PURGE = """
DELETE FROM events WHERE (client_id, sequence) IN (
    SELECT client_id, sequence FROM events WHERE at_ms < ? ORDER BY at_ms LIMIT ?
) RETURNING client_id, sequence
"""
_CLIENTS = 500
"""Clients per statement."""


class EventStore(Store):
    """The events of all clients. Every method raises StoreUnavailable."""

    async def newest(self, client_ids: Collection[str]) -> Mapping[str, int]:
        """Return the sequence of the last event of each client; a client without one is absent."""
        wanted, found = list(client_ids), {}
        for start in range(0, len(wanted), _CLIENTS):
            some = wanted[start : start + _CLIENTS]
            marks = ", ".join("?" for _ in some)
            last = _last(self._database.dialect)
            rows = await self._database.fetch(
                f"SELECT client_id, {last} FROM event_counters WHERE client_id IN ({marks})",  # noqa: S608
                *some,
            )
            found.update({row[0]: row[1] for row in rows})
        return found

    async def span(self, client_id: str, place: int = 0) -> EventSpan:
        """Return the newest sequence of a client, and the first stored one after `place`."""
        last = _last(self._database.dialect)
        rows = await self._database.fetch(
            f"SELECT {last}, {_FOLLOWING} FROM event_counters WHERE client_id = ?",  # noqa: S608
            place, client_id,
        )  # fmt: skip
        if not rows:
            return EventSpan(following=1, newest=0)
        newest, following = rows[0]
        return EventSpan(newest + 1 if following is None else following, newest)

    async def skip_lost(self) -> None:
        """Leave the numbers out that a restored copy lacks. Call it once after a restore."""
        await self._database.change(f"UPDATE event_counters SET sequence = sequence + {LOST}")  # noqa: S608

    async def after(self, client_id: str, sequence: int, limit: int) -> Sequence[StoredEvent]:
        """Return up to `limit` events of a client that follow `sequence`, oldest first.

        If the first one is not `sequence` + 1, the events between were pruned.
        """
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
                sql = "DELETE FROM events WHERE client_id = ? AND sequence < ?"
                await transaction.fetch(sql, client_id, last[client_id])
            return len(rows)

        return await self._database.transact(body)
