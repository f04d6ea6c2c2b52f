"""Port of the storage of webhooks and of their deliveries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quietswap.webhooks.webhook import DisabledReason, WebhookState


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


class WebhookStore(Protocol):
    """Webhooks and their deliveries. Every method raises StoreUnavailable."""

    async def add(self, webhook: Webhook, most: int) -> bool:
        """Store a new webhook. Return False if its client has `most` webhooks already."""

    async def list(self, client_id: str) -> Sequence[Webhook]:
        """Return the webhooks of a client, oldest first."""

    async def find(self, client_id: str, webhook_id: str) -> Webhook | None:
        """Return a webhook of this client only."""

    async def delete(self, client_id: str, webhook_id: str) -> bool:
        """Delete a webhook and its deliveries. Return False if this client has no such webhook."""

    async def due(self, now_ms: int, limit: int) -> Sequence[Webhook]:
        """Return active webhooks with events after their cursor whose time has come.

        Those of a disabled client, and of a client without a live key, are not returned.
        """

    async def advance(self, webhook: Webhook, cursor: int) -> bool:
        """Set the cursor behind events that are not delivered; False if the webhook has changed."""

    async def postpone(self, webhook: Webhook, next_try_ms: int) -> bool:
        """Set the time of the next try without a failure; False if the webhook has changed."""

    async def record(self, before: Webhook, after: Webhook, delivery: Delivery) -> bool:
        """Store a delivery and the webhook's new state in one transaction.

        Return False, and store nothing, if the stored webhook differs from `before`: another
        process delivered meanwhile, or the webhook was deleted.
        """

    async def record_test(self, delivery: Delivery, *, enable: bool) -> bool:
        """Store the delivery of a test; `enable` makes a disabled webhook active.

        Return whether the webhook was disabled until now.
        """

    async def deliveries(self, webhook_id: str, limit: int, offset: int) -> Sequence[Delivery]:
        """Return deliveries, newest first."""

    async def purge_deliveries(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` deliveries older than that; return the number."""

    async def secrets(self) -> Sequence[tuple[str, bytes]]:
        """Return (webhook id, encrypted secret) of all webhooks."""

    async def replace_secret(self, webhook_id: str, old: bytes, new: bytes) -> None:
        """Store another encryption of a secret, unless it has changed."""


# Port: requests to the URLs of webhooks.


class WebhookUrlRefused(Exception):
    """A webhook must not have this URL, or its host; the message is the reason."""


class DeliveryFailed(Exception):
    """No complete answer was received; the message is the reason, without the URL."""


class SenderBusy(Exception):
    """Nothing was sent, because this service does too much at once; the message is the reason."""


class WebhookSender(Protocol):
    """Sends a request only to an address that was checked, and to that very address.

    `client_id` is the client that the work counts for.
    """

    async def check(self, url: str, *, client_id: str) -> None:
        """Check the URL and resolve its host. No request is sent. Raises WebhookUrlRefused."""

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, client_id: str
    ) -> int:
        """Send a JSON body and return the HTTP status. Redirects are not followed.

        The answer's body is read up to a limit and discarded. Raises DeliveryFailed, SenderBusy,
        and WebhookUrlRefused if the host has an address now that is refused.
        """
