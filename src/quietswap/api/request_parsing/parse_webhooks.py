"""Bodies and paths about webhooks to domain values."""

import re
from typing import Any

from quietswap.api.request_parsing.query_string import shown
from quietswap.contract import limits
from quietswap.domain.errors.request import InvalidParameter
from quietswap.domain.errors.webhook import WebhookNotFound
from quietswap.domain.order.order_change import OrderChange
from quietswap.domain.webhook.request import WebhookRequest

_ID = re.compile(limits.ID_PATTERN)
_TYPES = tuple(change.value for change in OrderChange)


def parse_webhook_id(text: str) -> str:
    """Return an id that could exist. Raises WebhookNotFound for any other text."""
    if not _ID.fullmatch(text):
        raise WebhookNotFound
    return text


def parse_new_webhook(body: dict[str, Any]) -> WebhookRequest:
    """Return the webhook to create; its URL is for the use case to check.

    Raises InvalidParameter for an unknown event and for an invalid description.
    """
    return WebhookRequest(body["url"], _events(body.get("events")), _description(body))


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
        if each not in _TYPES:
            reason = f"there is no such event; there are {', '.join(_TYPES)}"
            raise InvalidParameter(parameter="events", provided=shown(each), reason=reason)
    return tuple(kind for kind in _TYPES if kind in found)


def _description(body: dict[str, Any]) -> str | None:
    text: str | None = body.get("description")
    if text is not None and (len(text) > limits.MAX_DESCRIPTION or not text.isprintable()):
        raise InvalidParameter(
            parameter="description",
            provided=shown(text),
            reason=f"it has at most {limits.MAX_DESCRIPTION} printable characters",
        )
    return text or None
