"""The operations of webhooks."""

from typing import Any

import msgspec

from quietswap.rules.contract import request_limits
from quietswap.rules.contract import webhooks as contract
from quietswap.rules.errors.clients import WebhookNotFound
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.webhooks.webhook import EVENT_TYPES, TEST, Delivery, Webhook, WebhookRequest
from quietswap.service.api.json import iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.api.parsing import requests
from quietswap.service.api.parsing.query import shown
from quietswap.service.api.parsing.requests import parse_int
from quietswap.service.events.event_text import event_message
from quietswap.service.storage.event_rows import ClientEvent


def webhook_response(webhook: Webhook) -> contract.WebhookResponse:
    """Return a webhook without its secret."""
    return contract.WebhookResponse(
        id=webhook.webhook_id,
        url=webhook.url,
        events=webhook.events,
        description=webhook.description,
        state=webhook.state.value,
        disabled_reason=webhook.disabled_reason and webhook.disabled_reason.value,
        sequence=webhook.cursor,
        failures=webhook.failures,
        next_try_at=iso_timestamp(webhook.next_try_ms) if webhook.next_try_ms else None,
        created_at=iso_timestamp(webhook.created_at_ms),
    )


def created_webhook_response(webhook: Webhook, secret: str) -> contract.CreatedWebhookResponse:
    return contract.CreatedWebhookResponse(
        id=webhook.webhook_id,
        secret=secret,
        url=webhook.url,
        events=webhook.events,
        description=webhook.description,
        state=webhook.state.value,
        created_at=iso_timestamp(webhook.created_at_ms),
    )


def delivery_response(delivery: Delivery) -> contract.DeliveryResponse:
    return contract.DeliveryResponse(
        id=delivery.delivery_id,
        event_id=delivery.event_id,
        type=delivery.event_type,
        sequence=delivery.sequence,
        attempt=delivery.attempt,
        at=iso_timestamp(delivery.at_ms),
        ms=delivery.ms,
        delivered=delivery.error is None,
        status=delivery.status,
        error=delivery.error,
    )


def encoded_test_event(event_id: str, at_ms: int) -> bytes:
    return msgspec.json.encode(
        contract.WebhookTestEvent(id=event_id, sequence=0, type=TEST, at=iso_timestamp(at_ms))
    )


def encoded_event(event: ClientEvent) -> bytes:
    """Return the JSON of an event: what the event stream has as `data`."""
    return msgspec.json.encode(event_message(event))


def _id(request: ApiRequest) -> str:
    """Return an id that could exist. Raises WebhookNotFound for any other text."""
    text = request.path_params["webhookId"]
    if not requests.ID.fullmatch(text):
        raise WebhookNotFound
    return text


def _events(found: list[Any] | None) -> tuple[str, ...]:
    if found is None:
        return ()
    if not found:
        raise InvalidParameter(
            parameter="events", provided="[]", reason="it is empty; leave it out for all events"
        )
    for each in found:
        if not isinstance(each, str):
            reason = "each event is a string"
            raise InvalidParameter(parameter="events", provided=shown(str(each)), reason=reason)
        if each not in EVENT_TYPES:
            reason = f"there is no such event; there are {', '.join(EVENT_TYPES)}"
            raise InvalidParameter(parameter="events", provided=shown(each), reason=reason)
    return tuple(kind for kind in EVENT_TYPES if kind in found)


def _description(body: dict[str, Any]) -> str | None:
    text: str | None = body.get("description")
    if text is not None and (len(text) > request_limits.MAX_DESCRIPTION or not text.isprintable()):
        raise InvalidParameter(
            parameter="description",
            provided=shown(text),
            reason=f"it has at most {request_limits.MAX_DESCRIPTION} printable characters",
        )
    return text or None


@operation(
    "POST /api/v1/mev/webhooks",
    "MISSING_PARAMETER INVALID_PARAMETER WEBHOOK_LIMIT_REACHED WEBHOOKS_NOT_CONFIGURED "
    "SERVICE_UNAVAILABLE",
    body=contract.WebhookCreateBody,
)
async def webhook_create(request: ApiRequest) -> contract.WebhookCreatedEnvelope:
    """Send events to a URL of yours."""
    body = request.body  # the use case checks the URL
    ask = WebhookRequest(body["url"], _events(body.get("events")), _description(body))
    webhook, secret = await request.use.webhooks.create(request.key, ask)
    data = created_webhook_response(webhook, secret)
    return contract.WebhookCreatedEnvelope(ok=True, data=data)


@operation("GET /api/v1/mev/webhooks", "SERVICE_UNAVAILABLE")
async def webhook_list(request: ApiRequest) -> contract.WebhookListEnvelope:
    """Your webhooks."""
    webhooks = await request.use.webhooks.list(request.key)
    data = contract.WebhookListResponse(webhooks=tuple(map(webhook_response, webhooks)))
    return contract.WebhookListEnvelope(ok=True, data=data)


@operation(
    "GET /api/v1/mev/webhooks/{webhookId}",
    "WEBHOOK_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.WebhookPath,
)
async def webhook_status(request: ApiRequest) -> contract.WebhookEnvelope:
    """One webhook."""
    webhook = await request.use.webhooks.find(request.key, _id(request))
    return contract.WebhookEnvelope(ok=True, data=webhook_response(webhook))


@operation(
    "DELETE /api/v1/mev/webhooks/{webhookId}",
    "WEBHOOK_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.WebhookPath,
)
async def webhook_delete(request: ApiRequest) -> contract.WebhookDeletedEnvelope:
    """Delete a webhook and the record of its deliveries."""
    webhook_id = _id(request)
    await request.use.webhooks.delete(request.key, webhook_id)
    data = contract.DeletedWebhookResponse(id=webhook_id, deleted=True)
    return contract.WebhookDeletedEnvelope(ok=True, data=data)


@operation(
    "POST /api/v1/mev/webhooks/{webhookId}/test",
    "WEBHOOK_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.WebhookPath,
)
async def webhook_test(request: ApiRequest) -> contract.WebhookTestEnvelope:
    """Send a test event now; a success enables a disabled webhook."""
    delivery = await request.use.webhooks.test(request.key, _id(request))
    return contract.WebhookTestEnvelope(ok=True, data=delivery_response(delivery))


@operation(
    "GET /api/v1/mev/webhooks/{webhookId}/deliveries",
    "INVALID_PARAMETER WEBHOOK_NOT_FOUND SERVICE_UNAVAILABLE",
    path_params=contract.WebhookPath,
    query=contract.WebhookDeliveriesQuery,
)
async def webhook_deliveries(request: ApiRequest) -> contract.WebhookDeliveriesEnvelope:
    """Tries to deliver events, newest first."""
    query = request.query_values(contract.WebhookDeliveriesQuery)
    limit = parse_int(query, contract.WebhookDeliveriesQuery, "limit")
    offset = parse_int(query, contract.WebhookDeliveriesQuery, "offset")
    deliveries = await request.use.webhooks.deliveries(request.key, _id(request), limit, offset)
    data = contract.DeliveriesResponse(deliveries=tuple(map(delivery_response, deliveries)))
    return contract.WebhookDeliveriesEnvelope(ok=True, data=data)
