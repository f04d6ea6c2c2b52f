"""Encryption of webhook secrets at rest: AES-256-GCM with a key of the settings.

An encrypted secret is bound to the id of its webhook, so that a row cannot take the secret of
another one. Its form: version (1 byte), key id (4 bytes), nonce (12 bytes), ciphertext with tag.
"""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from standardwebhooks import Webhook as Signer

_VERSION = b"\x01"
_KEY_BYTES = 32
_ID_BYTES = 4
_NONCE_BYTES = 12


class BadEncryptionKey(ValueError):
    """The text is not a key; the message says what one is and never contains the text."""


class SecretUnreadable(Exception):
    """No key at hand decrypts the secret."""


def read_key(text: str) -> bytes:
    """Return a key written as Base64 of 32 bytes. Raises BadEncryptionKey."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise BadEncryptionKey("it is Base64 of 32 random bytes; make one: openssl rand -base64 32")
    return key


class SecretBox:
    """Encrypts with the first key and decrypts with all of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {hashlib.sha256(key).digest()[:_ID_BYTES]: AESGCM(key) for key in keys}

    @property
    def can_seal(self) -> bool:
        return bool(self._ciphers)

    def seal(self, webhook_id: str, secret: str) -> bytes:
        """Return the encrypted secret of a webhook. There must be a key."""
        key_id, cipher = next(iter(self._ciphers.items()))
        nonce = os.urandom(_NONCE_BYTES)
        head = _VERSION + key_id
        return head + nonce + cipher.encrypt(nonce, secret.encode(), _bound(head, webhook_id))

    def open(self, webhook_id: str, sealed: bytes) -> str:
        """Return the secret of a webhook. Raises SecretUnreadable."""
        head, rest = sealed[: 1 + _ID_BYTES], sealed[1 + _ID_BYTES :]
        nonce, text = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        cipher = self._ciphers.get(head[1:]) if head[:1] == _VERSION else None
        if cipher is None:
            raise SecretUnreadable("its key is not in webhooks.encryption_key")
        try:
            return cipher.decrypt(nonce, text, _bound(head, webhook_id)).decode()
        except (InvalidTag, ValueError):
            raise SecretUnreadable("it was changed, or belongs to another webhook") from None

    def is_current(self, sealed: bytes) -> bool:
        return sealed[1 : 1 + _ID_BYTES] == next(iter(self._ciphers), None)


def _bound(head: bytes, webhook_id: str) -> bytes:
    return head + webhook_id.encode()


# Standard Webhooks: secrets, and the headers of a signed delivery.
#
# https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
_SECRET_BYTES = 32
"""Standard Webhooks allows 24 to 64."""


def new_secret() -> str:
    """Return a random secret, as `whsec_` and Base64."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


def signed_headers(secret: str, event_id: str, now_ms: int, body: bytes) -> dict[str, str]:
    """Return the headers of one try. The id stays the same in each try, the timestamp does not."""
    at = datetime.fromtimestamp(now_ms // 1000, UTC)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(now_ms // 1000),
        "webhook-signature": Signer(secret).sign(event_id, at, body.decode()),
    }
