"""The event stream: its query, and the `data` of one event."""

from typing import Annotated

import msgspec

from quietswap.contract import base
from quietswap.contract.base import Count, Timestamp, WireStruct, doc
from quietswap.contract.orders import OrderStatusResponse
from quietswap.orders.order import OrderChange

_AFTER = "The number of the last event you have: the stream begins with the next one. "


class EventStreamQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/events."""

    order_id: Annotated[
        str | None,
        doc("Only events of this order.", base.ORDER_ID, type="string", pattern=base.ID_PATTERN),
    ] = None
    user_address: Annotated[
        str | None,
        doc(
            "Only events of this wallet (EIP-55 checksum).",
            base.WALLET,
            type="string",
            format="eip55",
            pattern=base.ADDRESS_PATTERN,
        ),
    ] = None
    after: Annotated[
        str | None,
        doc(
            _AFTER + "0 is the beginning; without it, only events to come.",
            "1041",
            type="string",
            pattern=base.SEQUENCE_PATTERN,
        ),
    ] = None


class EventStreamHeaders(WireStruct, frozen=True, kw_only=True):
    """Headers of GET /api/v1/mev/events."""

    last_event_id: Annotated[
        str | None,
        doc(
            _AFTER + "A browser sends it when it reconnects; it counts more than `after`.",
            "1041",
            type="string",
            pattern="^[0-9]{0,15}$",
        ),
    ] = msgspec.field(name="Last-Event-ID", default=None)


class Finality(WireStruct, frozen=True, kw_only=True):
    """How certain the change is."""

    depth: Annotated[Count, doc("Confirmations of the block that decided, 0 without one", 2)]
    finalized: Annotated[bool, doc("Whether that block is final", False)]


class OrderEventMessage(WireStruct, frozen=True, kw_only=True):
    """One change of one order: the `data` of an event of the stream."""

    id: Annotated[str, doc("Unique, and never changes", f"evt_{base.ORDER_ID}_3")]
    sequence: Annotated[
        Count, doc("Number of the event, without gaps for each client. It is also `id:`", 1042)
    ]
    type: Annotated[str, doc("What changed", "order.confirmed", enum=OrderChange)]
    at: Annotated[Timestamp, doc("When the service stored the change (ISO 8601, UTC)")]
    order: Annotated[OrderStatusResponse, doc("Status record of the order, as this change left it")]
    finality: Annotated[Finality, doc("How certain the change is")]
