"""Webhooks of the scripted use cases."""

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.webhooks.addresses import MAX_LENGTH
from quietswap.rules.webhooks.webhook import Delivery, Webhook, WebhookRequest
from tests.stored_orders import NOW_MS

WEBHOOK = Webhook(
    "whk_1", "client-1", "https://hooks.example.com/in", ("order.confirmed",), "a note",
    b"sealed", 41, NOW_MS,
)  # fmt: skip
DELIVERY = Delivery(
    "dlv_1", "whk_1", "evt_1", "order.confirmed", 41, 1, NOW_MS, 120, 503,
    "the receiver answered HTTP 503",
)  # fmt: skip


def created_webhook(_: ApiKey, wanted: WebhookRequest) -> tuple[Webhook, str]:
    """Return a webhook and its secret. A URL is refused for its length only."""
    if len(wanted.url) > MAX_LENGTH:
        raise InvalidParameter(parameter="url", provided=wanted.url[:80], reason="it is too long")
    return WEBHOOK, "whsec_AAAA"
