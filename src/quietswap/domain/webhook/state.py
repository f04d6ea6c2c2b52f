"""States of a webhook, and event types beside those of orders. The values are in the interface."""

from enum import StrEnum


class WebhookState(StrEnum):
    """Whether events are delivered."""

    ACTIVE = "active"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    """Why a webhook is disabled."""

    GONE = "gone"
    """The receiver answered 410."""
    FAILED = "failed"
    """All tries of one event failed."""


TEST = "webhook.test"
"""The event type of a test."""
PRUNED = "events.pruned"
"""The event type in the line that reports events which were deleted before their delivery."""
