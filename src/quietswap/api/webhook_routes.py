"""The operations of webhooks."""

from quietswap.api.handlers import webhooks
from quietswap.api.operation import Operation
from quietswap.contract.webhooks import (
    WebhookCreateBody,
    WebhookCreatedEnvelope,
    WebhookDeletedEnvelope,
    WebhookDeliveriesEnvelope,
    WebhookDeliveriesQuery,
    WebhookEnvelope,
    WebhookListEnvelope,
    WebhookPath,
    WebhookTestEnvelope,
)

_WEBHOOKS = "/api/v1/mev/webhooks"
_WEBHOOK = f"{_WEBHOOKS}/{{webhookId}}"
_WITH_WEBHOOK = ("WEBHOOK_NOT_FOUND", "SERVICE_UNAVAILABLE")

WEBHOOK_OPERATIONS = (
    Operation(
        "webhook_create",
        "POST",
        _WEBHOOKS,
        "Send events to a URL of yours",
        webhooks.webhook_create,
        (
            "MISSING_PARAMETER",
            "INVALID_PARAMETER",
            "WEBHOOK_LIMIT_REACHED",
            "WEBHOOKS_NOT_CONFIGURED",
            "SERVICE_UNAVAILABLE",
        ),
        (WebhookCreatedEnvelope,),
        body=WebhookCreateBody,
    ),
    Operation(
        "webhook_list",
        "GET",
        _WEBHOOKS,
        "Your webhooks",
        webhooks.webhook_list,
        ("SERVICE_UNAVAILABLE",),
        (WebhookListEnvelope,),
    ),
    Operation(
        "webhook_status",
        "GET",
        _WEBHOOK,
        "One webhook",
        webhooks.webhook_status,
        _WITH_WEBHOOK,
        (WebhookEnvelope,),
        path_params=WebhookPath,
    ),
    Operation(
        "webhook_delete",
        "DELETE",
        _WEBHOOK,
        "Delete a webhook and the record of its deliveries",
        webhooks.webhook_delete,
        _WITH_WEBHOOK,
        (WebhookDeletedEnvelope,),
        path_params=WebhookPath,
    ),
    Operation(
        "webhook_test",
        "POST",
        f"{_WEBHOOK}/test",
        "Send a test event now; a success enables a disabled webhook",
        webhooks.webhook_test,
        _WITH_WEBHOOK,
        (WebhookTestEnvelope,),
        path_params=WebhookPath,
    ),
    Operation(
        "webhook_deliveries",
        "GET",
        f"{_WEBHOOK}/deliveries",
        "Tries to deliver events, newest first",
        webhooks.webhook_deliveries,
        ("INVALID_PARAMETER", *_WITH_WEBHOOK),
        (WebhookDeliveriesEnvelope,),
        path_params=WebhookPath,
        query=WebhookDeliveriesQuery,
    ),
)
