"""Requests about webhooks."""

from collections.abc import Sequence

from quietswap.client.api_calls import ApiCall, segment
from quietswap.contract.webhooks import (
    CreatedWebhookResponse,
    DeletedWebhookResponse,
    DeliveriesResponse,
    DeliveryResponse,
    WebhookCreateBody,
    WebhookCreatedEnvelope,
    WebhookDeletedEnvelope,
    WebhookDeliveriesEnvelope,
    WebhookEnvelope,
    WebhookListEnvelope,
    WebhookListResponse,
    WebhookResponse,
    WebhookTestEnvelope,
)

_PATH = "/api/v1/mev/webhooks"


def create_webhook(
    url: str, *, events: Sequence[str] | None, description: str | None
) -> ApiCall[CreatedWebhookResponse]:
    """Create a webhook."""
    chosen = None if events is None else list(events)
    body = WebhookCreateBody(url=url, events=chosen, description=description)
    return ApiCall("POST", _PATH, WebhookCreatedEnvelope, body=body)


def list_webhooks() -> ApiCall[WebhookListResponse]:
    """Request all webhooks."""
    return ApiCall("GET", _PATH, WebhookListEnvelope)


def webhook(webhook_id: str) -> ApiCall[WebhookResponse]:
    """Request one webhook."""
    return ApiCall("GET", f"{_PATH}/{segment(webhook_id)}", WebhookEnvelope)


def delete_webhook(webhook_id: str) -> ApiCall[DeletedWebhookResponse]:
    """Delete a webhook."""
    return ApiCall("DELETE", f"{_PATH}/{segment(webhook_id)}", WebhookDeletedEnvelope)


def test_webhook(webhook_id: str) -> ApiCall[DeliveryResponse]:
    """Send a test event."""
    return ApiCall("POST", f"{_PATH}/{segment(webhook_id)}/test", WebhookTestEnvelope)


def webhook_deliveries(webhook_id: str, *, limit: int, offset: int) -> ApiCall[DeliveriesResponse]:
    """Request one page of deliveries."""
    path = f"{_PATH}/{segment(webhook_id)}/deliveries"
    query = {"limit": str(limit), "offset": str(offset)}
    return ApiCall("GET", path, WebhookDeliveriesEnvelope, query=query)
