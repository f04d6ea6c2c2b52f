"""Encrypt the secrets of all webhooks with the present key."""

from quietswap import observe
from quietswap.ports.webhooks import WebhookStore
from quietswap.services.webhooks.secret_box import SecretBox, SecretUnreadable


async def rotate_secrets(webhooks: WebhookStore, box: SecretBox) -> int:
    """Encrypt again what an old key encrypted; return the number. Raises StoreUnavailable.

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
