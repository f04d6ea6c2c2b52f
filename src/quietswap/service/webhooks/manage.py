"""What clients do with their webhooks: create, read, delete, test."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.clients import (
    WebhookLimitReached,
    WebhookNotFound,
    WebhooksNotConfigured,
)
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.webhooks.webhook import (
    TEST,
    Delivery,
    Webhook,
    WebhookRequest,
    WebhookUrlRefused,
)
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.storage.events import EventStore
from quietswap.service.storage.webhooks import WebhookStore
from quietswap.service.webhooks.deliver import Message, NotTried, WebhookCaller, untried
from quietswap.service.webhooks.secrets import SecretBox, SecretUnreadable, new_secret


@dataclass(frozen=True, slots=True)
class ManageWebhooks:
    """The webhooks of the calling client only. Every method raises StoreUnavailable.

    `encode_test` returns the JSON of a test event from its id and its time in Unix ms.
    """

    webhooks: WebhookStore
    events: EventStore
    caller: WebhookCaller
    clock: Clock
    encode_test: Callable[[str, int], bytes]
    max_per_client: int

    async def create(self, key: ApiKey, wanted: WebhookRequest) -> tuple[Webhook, str]:
        """Store a webhook for events from now on; return it and its secret.

        Raises WebhooksNotConfigured, InvalidParameter for the URL, and WebhookLimitReached.
        """
        box = self.caller.box
        if not box.can_seal:
            raise WebhooksNotConfigured
        try:
            await self.caller.sender.check(wanted.url, client_id=key.client_id)
        except WebhookUrlRefused as error:
            shown = wanted.url[:100].encode("ascii", "backslashreplace").decode()
            raise InvalidParameter(parameter="url", provided=shown, reason=str(error)) from error
        webhook_id, secret = f"whk_{secrets.token_hex(12)}", new_secret()
        newest = await self.events.newest([key.client_id])
        webhook = Webhook(
            webhook_id=webhook_id,
            client_id=key.client_id,
            url=wanted.url,
            events=wanted.events,
            description=wanted.description,
            secret=box.seal(webhook_id, secret),
            cursor=newest.get(key.client_id, 0),
            created_at_ms=self.clock.now_ms(),
        )
        if not await self.webhooks.add(webhook, self.max_per_client):
            raise WebhookLimitReached(limit=self.max_per_client)
        observe.webhook_created(webhook_id, key.client_id)
        return webhook, secret

    async def list(self, key: ApiKey) -> Sequence[Webhook]:
        """Return the webhooks, oldest first."""
        return await self.webhooks.list(key.client_id)

    async def find(self, key: ApiKey, webhook_id: str) -> Webhook:
        """Return one webhook. Raises WebhookNotFound."""
        webhook = await self.webhooks.find(key.client_id, webhook_id)
        if webhook is None:
            raise WebhookNotFound
        return webhook

    async def delete(self, key: ApiKey, webhook_id: str) -> None:
        """Delete a webhook with its deliveries. Raises WebhookNotFound."""
        if not await self.webhooks.delete(key.client_id, webhook_id):
            raise WebhookNotFound
        observe.webhook_deleted(webhook_id, key.client_id)

    async def test(self, key: ApiKey, webhook_id: str) -> Delivery:
        """Send a test event now and return the result. Raises WebhookNotFound.

        A success makes a disabled webhook active again: it goes on with the event it stopped at.
        """
        webhook = await self.find(key, webhook_id)
        event_id, now = f"evt_test_{secrets.token_hex(12)}", self.clock.now_ms()
        message = Message(event_id, TEST, 0, self.encode_test(event_id, now))
        try:
            delivery = await self.caller.call(webhook, message, 1)
        except NotTried as reason:
            delivery = untried(webhook, message, now, str(reason))
        if await self.webhooks.record_test(delivery, enable=delivery.error is None):
            observe.webhook_enabled(webhook_id)
        return delivery

    async def deliveries(
        self, key: ApiKey, webhook_id: str, limit: int, offset: int
    ) -> Sequence[Delivery]:
        """Return tries, newest first. Raises WebhookNotFound."""
        await self.find(key, webhook_id)
        return await self.webhooks.deliveries(webhook_id, limit, offset)


async def rotate_secrets(webhooks: WebhookStore, box: SecretBox) -> int:
    """Encrypt with the present key what an old one encrypted; return the number of secrets.

    Raises StoreUnavailable.

    Logs an error for each secret that no key decrypts.
    """
    changed = 0
    for webhook_id, sealed in await webhooks.secrets():
        if box.is_current(sealed):
            continue
        try:
            secret = box.open(webhook_id, sealed)
        except SecretUnreadable as error:
            observe.webhook_secret_unreadable(webhook_id, str(error))
            continue
        await webhooks.replace_secret(webhook_id, sealed, box.seal(webhook_id, secret))
        changed += 1
    if changed:
        observe.webhook_secrets_rotated(changed)
    return changed
