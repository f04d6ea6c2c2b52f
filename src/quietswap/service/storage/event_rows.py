"""The rows of `events`: written with the change of an order, and read back.

The record is a JSON object by the names of OrderView, without its empty fields. The names are
stored data: a field that a later release adds is None in older events.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap.rules.orders.order import Order, OrderEvent
from quietswap.rules.orders.order_changes import OrderChange, change_by
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tx.address import Address
from quietswap.service.storage.database import Row, Transaction
from quietswap.service.storage.event_counters import EPOCHS, last_sequence


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


STORED = "event_id, client_id, sequence, type, at_ms, wallet, record, depth, finalized"
VIEW = ", ".join(OrderView._fields)
"""The RETURNING list of a statement that writes an order."""
_NEXT = {
    dialect: f"""
INSERT INTO event_counters (client_id, sequence, epoch) VALUES (?, 1, {epoch})
ON CONFLICT (client_id) DO UPDATE
SET sequence = {last_sequence(dialect)} + 1, epoch = excluded.epoch
RETURNING sequence
"""  # noqa: S608
    for dialect, epoch in EPOCHS.items()
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
