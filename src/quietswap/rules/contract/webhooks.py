"""Webhooks, and the event stream: requests, answers and the events themselves."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quietswap.rules import wire as base
from quietswap.rules.contract import request_limits
from quietswap.rules.contract.orders import OrderStatusResponse
from quietswap.rules.orders.order_changes import OrderChange
from quietswap.rules.webhooks.addresses import MAX_LENGTH
from quietswap.rules.webhooks.webhook import EVENT_TYPES, PRUNED, TEST, DisabledReason, WebhookState
from quietswap.rules.wire import Count, Envelope, RequestStruct, Timestamp, WireStruct, doc

WebhookId = Annotated[
    str, doc("Webhook id", "whk_4f3a9c0d2b6e8a1c7f5d3e90", pattern=base.ID_PATTERN)
]
WebhookUrl = Annotated[
    str, doc("Where events are sent", "https://hooks.example.com/quietswap", format="uri")
]
EventTypes = Annotated[
    tuple[Annotated[str, doc("Event type", "order.confirmed", enum=EVENT_TYPES)], ...],
    doc("Event types that are sent; empty: all", ["order.confirmed", "order.failed"]),
]
Description = Annotated[
    str | None,
    doc("Your own note", "accounting", type="string", maxLength=request_limits.MAX_DESCRIPTION),
]
CreatedAt = Annotated[Timestamp, doc("Time of creation (ISO 8601, UTC)")]


class WebhookCreateBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/webhooks."""

    url: Annotated[
        str,
        doc(
            "Where events are sent: https only, no user name, a public host.",
            "https://hooks.example.com/quietswap",
            maxLength=MAX_LENGTH,
        ),
    ]
    events: Annotated[
        list[Annotated[str, doc("Event type", "order.confirmed", enum=EVENT_TYPES)]] | None,
        doc(
            "Event types to send; without it all.", ["order.confirmed", "order.failed"], minItems=1
        ),
    ] = None
    description: Annotated[
        Annotated[str, doc("Text", maxLength=request_limits.MAX_DESCRIPTION)] | None,
        doc("Your own note, in printable characters.", "accounting"),
    ] = None


class WebhookPath(WireStruct, frozen=True, kw_only=True):
    """Path of one webhook."""

    webhook_id: WebhookId


class WebhookDeliveriesQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/webhooks/:webhookId/deliveries."""

    limit: Annotated[
        int,
        Meta(ge=1, le=request_limits.MAX_LIMIT),
        doc("Deliveries per page.", request_limits.DEFAULT_LIMIT),
    ] = request_limits.DEFAULT_LIMIT
    offset: Annotated[
        int, Meta(ge=0, le=request_limits.MAX_OFFSET), doc("Deliveries to skip.", 0)
    ] = 0


class WebhookResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A webhook, without its secret."""

    id: WebhookId
    url: WebhookUrl
    events: EventTypes
    description: Description = None
    state: Annotated[
        Literal["active", "disabled"],
        doc(
            "disabled: nothing is sent until a test succeeds",
            "active",
            type="string",
            enum=WebhookState,
        ),
    ]
    disabled_reason: Annotated[
        str | None,
        doc(
            "gone: the receiver answered 410. failed: ten tries of one event failed",
            "gone",
            enum=DisabledReason,
            type="string",
        ),
    ] = None
    sequence: Annotated[Count, doc("Sequence of the last event that is done", 41)]
    failures: Annotated[Count, doc("Failed tries of the next event", 0)]
    next_try_at: Annotated[
        Timestamp | None,
        doc("Not tried again before then; absent without a pause (ISO 8601, UTC)", base.TIME),
    ] = None
    created_at: CreatedAt


class CreatedWebhookResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A new webhook with its secret."""

    id: WebhookId
    secret: Annotated[
        str,
        doc(
            "Verifies signatures (Standard Webhooks); shown only in this answer",
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDBxVQxQ6n1tE=",
        ),
    ]
    url: WebhookUrl
    events: EventTypes
    description: Description = None
    state: Annotated[
        Literal["active", "disabled"],
        doc("Always active", "active", type="string", enum=WebhookState),
    ]
    created_at: CreatedAt


class WebhookListResponse(WireStruct, frozen=True, kw_only=True):
    """All webhooks of the calling client, oldest first."""

    webhooks: Annotated[tuple[WebhookResponse, ...], doc("Webhooks")]


class DeletedWebhookResponse(WireStruct, frozen=True, kw_only=True):
    """A webhook that is deleted."""

    id: WebhookId
    deleted: Annotated[bool, doc("Always true", const=True)]


class DeliveryResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One try to deliver an event."""

    id: Annotated[str, doc("Delivery id", "dlv_01a2b3c4d5e64f3a9c0d")]
    event_id: Annotated[str, doc("Id of the event: webhook-id", "evt_ord_01_3")]
    type: Annotated[str, doc("Event type", "order.confirmed", enum=[*EVENT_TYPES, TEST, PRUNED])]
    sequence: Annotated[
        Count,
        doc("Sequence of the event; 0 for a test; the last one of events that were pruned", 41),
    ]
    attempt: Annotated[Count, doc("Number of the try of this event, from 1; 0 if pruned", 1)]
    at: Annotated[Timestamp, doc("When it was sent (ISO 8601, UTC)")]
    ms: Annotated[Count, doc("Milliseconds until the end of the answer", 120)]
    delivered: Annotated[bool, doc("Whether the receiver answered 2xx", True)]
    status: Annotated[Count | None, doc("HTTP status of the answer", 200, type="integer")] = None
    error: Annotated[
        str | None, doc("Why it is not delivered", "no complete answer in 15 s", type="string")
    ] = None


class DeliveriesResponse(WireStruct, frozen=True, kw_only=True):
    """One page of the deliveries of a webhook, newest first."""

    deliveries: Annotated[tuple[DeliveryResponse, ...], doc("Deliveries")]


class WebhookTestEvent(WireStruct, frozen=True, kw_only=True):
    """The JSON that a test sends: an event without an order."""

    id: Annotated[str, doc("Event id", "evt_test_4f3a9c0d2b6e8a1c7f5d3e90")]
    sequence: Annotated[Count, doc("Always 0: a test is not in the sequence", 0)]
    type: Annotated[str, doc("Always webhook.test", const=TEST)]
    at: Annotated[Timestamp, doc("When it was sent (ISO 8601, UTC)")]


class WebhookCreatedEnvelope(Envelope[CreatedWebhookResponse], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/webhooks."""


class WebhookListEnvelope(Envelope[WebhookListResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/webhooks."""


class WebhookEnvelope(Envelope[WebhookResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/webhooks/:webhookId."""


class WebhookDeletedEnvelope(Envelope[DeletedWebhookResponse], frozen=True, kw_only=True):
    """The answer of DELETE /api/v1/mev/webhooks/:webhookId."""


class WebhookTestEnvelope(Envelope[DeliveryResponse], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/webhooks/:webhookId/test."""


class WebhookDeliveriesEnvelope(Envelope[DeliveriesResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/webhooks/:webhookId/deliveries."""


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
