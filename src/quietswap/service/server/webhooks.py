"""Webhooks: their objects, built from the settings, and their delivery by the leader."""

import ssl
from dataclasses import dataclass

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.time_units import DAY_MS
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.server.settings import BadSettings
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.webhooks.deliver import DeliverEvents, WebhookCaller, WebhookWorker
from quietswap.service.webhooks.http import encoded_event, encoded_test_event
from quietswap.service.webhooks.manage import ManageWebhooks, rotate_secrets
from quietswap.service.webhooks.resolver import MAX_LOOKUPS, SystemResolver
from quietswap.service.webhooks.secrets import BadEncryptionKey, SecretBox, read_key
from quietswap.service.webhooks.sender import SenderPolicy, WebhookSender, tls_context

_ROTATE_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class WebhookCallers:
    """What signs and sends: for requests of clients, and for deliveries.

    Their lookups have separate places, so that requests of clients delay no delivery.
    """

    requested: WebhookCaller
    delivering: WebhookCaller


def make_callers(settings: Settings, clock: Clock) -> WebhookCallers:
    """Return what signs and sends. Raises BadSettings."""
    chosen = settings.webhooks
    policy = SenderPolicy(chosen.timeout_s, chosen.allow_private, chosen.allowed_hosts)
    context, box = _context(chosen.ca_file), _secret_box(settings)

    def caller(resolver: SystemResolver) -> WebhookCaller:
        return WebhookCaller(WebhookSender(resolver, context, policy), box, clock)

    # A lookup may hang longer than its delivery: there are more places than deliveries.
    places = max(MAX_LOOKUPS, 2 * chosen.parallel)
    return WebhookCallers(caller(SystemResolver()), caller(SystemResolver(places)))


def _context(ca_file: str | None) -> ssl.SSLContext:
    try:
        return tls_context(ca_file)
    except ssl.SSLError:
        raise BadSettings("webhooks.ca_file: it holds no PEM certificate") from None
    except OSError as error:
        raise BadSettings(f"webhooks.ca_file: {error.strerror or 'cannot be read'}") from error


def _secret_box(settings: Settings) -> SecretBox:
    present, old = settings.webhooks.encryption_key, settings.webhooks.old_encryption_keys
    if old and present is None:
        raise BadSettings("webhooks.old_encryption_keys: webhooks.encryption_key is not set")
    keys = []
    texts = [("encryption_key", text) for text in ([present] if present is not None else [])]
    for name, text in (*texts, *(("old_encryption_keys", text) for text in old)):
        try:
            keys.append(read_key(text))
        except BadEncryptionKey as error:
            raise BadSettings(f"webhooks.{name}: {error}") from None
    return SecretBox(keys)


def make_manager(
    settings: Settings, storage: Storage, caller: WebhookCaller, clock: Clock
) -> ManageWebhooks:
    """Return what clients do with their webhooks."""
    return ManageWebhooks(
        storage.webhooks,
        storage.events,
        caller,
        clock,
        encoded_test_event,
        max_per_client=settings.webhooks.max_per_client,
    )


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """The worker of one process, and the rotation of secrets at its start."""

    worker: WebhookWorker
    storage: Storage
    box: SecretBox
    clock: Clock

    async def run(self) -> None:
        """Rotate the secrets once this process leads, then deliver until cancelled."""
        while not await self._rotated():
            await self.clock.sleep(_ROTATE_AGAIN_S)
        await self.worker.run()

    async def _rotated(self) -> bool:
        if not self.box.can_seal:
            return True
        if not self.storage.leadership.is_held:
            return False
        try:
            await rotate_secrets(self.storage.webhooks, self.box)
        except StoreUnavailable as error:
            observe.webhooks_waiting(str(error))
            return False
        return True


def make_delivery(
    settings: Settings, storage: Storage, caller: WebhookCaller, clock: Clock
) -> WebhookDelivery:
    """Return the delivery of this process."""
    deliver = DeliverEvents(storage.webhooks, storage.events, caller, clock, encoded_event)
    worker = WebhookWorker(
        deliver,
        storage.webhooks,
        storage.leadership,
        clock,
        kept_ms=settings.webhooks.deliveries_kept_days * DAY_MS,
        parallel=settings.webhooks.parallel,
    )
    return WebhookDelivery(worker, storage, caller.box, clock)
