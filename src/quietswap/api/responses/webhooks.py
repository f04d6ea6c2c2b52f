"""Webhooks and deliveries: stored values to contract Structs."""

import msgspec

from quietswap.api.responses.events import order_event_message
from quietswap.api.responses.json_values import iso_timestamp
from quietswap.contract import webhooks as contract
from quietswap.domain.webhook.state import TEST
from quietswap.ports.events import StoredEvent
from quietswap.ports.webhooks import Delivery, Webhook


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
    """Return a new webhook with its secret."""
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
    """Return one try."""
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
    """Return the JSON of the event that a test sends."""
    return msgspec.json.encode(
        contract.WebhookTestEvent(id=event_id, sequence=0, type=TEST, at=iso_timestamp(at_ms))
    )


def encoded_event(event: StoredEvent) -> bytes:
    """Return the JSON of an event: what the event stream has as `data`."""
    return msgspec.json.encode(order_event_message(event))
