"""The rows of `events`: written with the change of an order, and read back.

The record is a JSON object by the names of OrderView, without its empty fields. The names are
stored data: a field that a later release adds is None in older events.
"""

from typing import Any

import msgspec

from quietswap.domain.address import Address
from quietswap.domain.order.order import Order, OrderEvent
from quietswap.domain.order.order_change import OrderChange, change_by
from quietswap.domain.order.order_view import OrderView
from quietswap.ports.events import StoredEvent
from quietswap.storage.database import Row, Transaction

STORED = "event_id, client_id, sequence, type, at_ms, wallet, record, depth, finalized"
VIEW = ", ".join(OrderView._fields)
"""The RETURNING list of a statement that writes an order."""
_NEXT = """
INSERT INTO event_counters (client_id, sequence) VALUES (?, 1)
ON CONFLICT (client_id) DO UPDATE SET sequence = event_counters.sequence + 1 RETURNING sequence
"""
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
    change = change_by(event.sighting)
    if change is None:
        return
    rows = await transaction.fetch(_NEXT, order.client_id)
    await transaction.fetch(
        _INSERT,
        f"evt_{order.order_id}_{version}",
        order.client_id,
        rows[0][0],
        change.value,
        event.at_ms,
        order.wallet,
        _text(OrderView._make(view)),
        event.depth,
        int(change is OrderChange.FINALIZED),
    )


def _text(view: OrderView) -> str:
    members = {name: value for name, value in view._asdict().items() if value is not None}
    return _encoder.encode(members).decode()


def stored_event(row: Row) -> StoredEvent:
    """Return the event of a row of `STORED`."""
    event_id, client_id, sequence, change, at_ms, wallet, record, depth, finalized = row
    members = _decoder.decode(record)
    return StoredEvent(
        event_id=event_id,
        client_id=client_id,
        sequence=sequence,
        type=OrderChange(change),
        at_ms=at_ms,
        wallet=Address(wallet),
        order=OrderView._make(members.get(name) for name in OrderView._fields),
        depth=depth,
        finalized=bool(finalized),
    )
