"""Webhooks, their states and deliveries, and the types of events."""

from dataclasses import dataclass
from enum import StrEnum

from quietswap.rules.orders.order_changes import OrderChange


class WebhookState(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    GONE = "gone"
    """The receiver answered 410."""
    FAILED = "failed"
    """All tries of one event failed."""


WATCH_MET = "watch.met"
"""The event type of a watch that is met."""
EVENT_TYPES = (*(change.value for change in OrderChange), WATCH_MET)
"""The types of the events of a client, which a webhook may choose."""
TEST = "webhook.test"
"""The event type of a test."""
PRUNED = "events.pruned"
"""The event type in the line that reports events which were deleted before their delivery."""


RETRY_AFTER_S = (
    5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600,
)  # fmt: skip
"""Seconds after each failed try, as Standard Webhooks proposes. After the tenth try there is none.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""
GONE = 410
"""The status by which a receiver disables its webhook."""


def is_success(status: int) -> bool:
    return 200 <= status <= 299


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """What a client asks for: `events` holds event types without repetition; empty means all."""

    url: str
    events: tuple[str, ...]
    description: str | None


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that receives the events of one client, in their order.

    `events` holds event types; empty means all. `secret` is encrypted. `cursor` is the sequence of
    the last event that is done, `failures` the number of failed tries of the next one, which is not
    tried before `next_try_ms`. Times in Unix ms.
    """

    webhook_id: str
    client_id: str
    url: str
    events: tuple[str, ...]
    description: str | None
    secret: bytes
    cursor: int
    created_at_ms: int
    state: WebhookState = WebhookState.ACTIVE
    disabled_reason: DisabledReason | None = None
    failures: int = 0
    next_try_ms: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One try to deliver an event.

    `sequence` is 0 for a test. `attempt` counts from 1 for each event; 0 means that events up to
    `sequence` were pruned before they could be sent. `ms` is its duration. `status` is None without
    a complete answer; `error` says why it is not delivered, None if it is.
    """

    delivery_id: str
    webhook_id: str
    event_id: str
    event_type: str
    sequence: int
    attempt: int
    at_ms: int
    ms: int
    status: int | None
    error: str | None


class WebhookUrlRefused(Exception):
    """A webhook must not have this URL, or its host; the message is the reason."""


class DeliveryFailed(Exception):
    """No complete answer was received; the message is the reason, without the URL."""


class SenderBusy(Exception):
    """Nothing was sent, because this service does too much at once; the message is the reason."""
