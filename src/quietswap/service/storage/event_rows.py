"""The rows of `events` and `watch_events`: written with the change of an order or a watch.

The record is a JSON object, of an order by the names of OrderView, without its empty fields. The
names are stored data: a field that a later release adds is None in older events.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap.rules.orders.order import Order, OrderEvent
from quietswap.rules.orders.order_changes import OrderChange, change_by
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tx.address import Address
from quietswap.rules.watches import Watch
from quietswap.rules.webhooks.webhook import WATCH_MET
from quietswap.service.storage.database import Row, Transaction
from quietswap.service.storage.event_counters import next_sequence
from quietswap.service.storage.watch_rows import WATCH_COLUMNS, watch_of


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


@dataclass(frozen=True, slots=True, eq=False)
class StoredWatchEvent:
    """A watch that is met, as it was then. It has no wallet."""

    event_id: str
    client_id: str
    sequence: int
    type: str
    at_ms: int
    watch: Watch


ClientEvent = StoredEvent | StoredWatchEvent
TABLES = ("events", "watch_events")
"""They share the numbers of their client, and the columns `STORED`."""
STORED = "event_id, client_id, sequence, type, at_ms, wallet, record, depth, finalized"
VIEW = ", ".join(OrderView._fields)
"""The RETURNING list of a statement that writes an order."""
_INSERT = f"({STORED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
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
    sequence = await next_sequence(transaction, order.client_id)
    named = zip(OrderView._fields, view, strict=True)
    record = {name: value for name, value in named if value is not None}
    place = (f"evt_{order.order_id}_{version}", order.client_id, sequence, change.value)
    state = (_encoder.encode(record).decode(), event.depth, int(change is OrderChange.FINALIZED))
    await transaction.fetch(
        f"INSERT INTO events {_INSERT}", *place, event.at_ms, order.wallet, *state
    )


async def write_watch_event(transaction: Transaction, row: Row) -> None:
    """Write the event of a watch that is met, of its row of `WATCH_COLUMNS`. The last statement."""
    record = dict(zip(WATCH_COLUMNS, row, strict=True))
    client_id = record["client_id"]
    place = (f"evt_{record['watch_id']}", client_id, await next_sequence(transaction, client_id))
    values = (WATCH_MET, record["ended_at_ms"], "", _encoder.encode(record).decode(), 0, 0)
    await transaction.fetch(f"INSERT INTO watch_events {_INSERT}", *place, *values)


def stored_event(row: Row) -> ClientEvent:
    """Return the event of a row of `STORED`."""
    event_id, client_id, sequence, change, at_ms, wallet, record, depth, finalized = row
    members = _decoder.decode(record)
    if change == WATCH_MET:
        return StoredWatchEvent(event_id, client_id, sequence, change, at_ms, watch_of(members))
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
