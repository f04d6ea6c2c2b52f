"""API keys: 256 random bits, stored and recognised by their SHA-256."""

import hashlib
import secrets

from quietswap.ports.outside import Clock
from quietswap.ports.stores import ApiKey, KeyStore

LASTS_MS = 1000
"""How long a key is believed without asking the store again."""
_CACHE_SIZE = 4096


def new_key(name: str, now_ms: int) -> tuple[ApiKey, str]:
    """Return a key and its secret; the secret is shown once and never stored."""
    return ApiKey(f"key_{secrets.token_hex(8)}", name, now_ms, None), f"qs_{secrets.token_hex(32)}"


def hash_secret(secret: str) -> bytes:
    """Return what is stored. A plain hash is enough: the secret has 256 bits, no dictionary does.

    Looking it up leaks no timing of use: an attacker cannot choose a hash's leading bytes.
    """
    return hashlib.sha256(secret.encode()).digest()


class Authenticate:
    """Find the live key of a secret; a revoked key stops working within a second."""

    def __init__(self, keys: KeyStore, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._seen: dict[bytes, tuple[int, ApiKey]] = {}

    async def __call__(self, secret: str) -> ApiKey | None:
        """Return the key, or None when it is unknown or revoked. Raises StoreDown."""
        digest = hash_secret(secret)
        now = self._clock.now_ms()
        cached = self._seen.get(digest)
        if cached is not None and now - cached[0] < LASTS_MS:
            return cached[1]
        self._seen.pop(digest, None)
        key = await self._keys.find(digest)
        if key is None or key.revoked_at_ms is not None:
            return None
        self._remember(digest, now, key)
        return key

    def _remember(self, digest: bytes, now: int, key: ApiKey) -> None:
        if len(self._seen) >= _CACHE_SIZE:
            self._seen.clear()
        self._seen[digest] = (now, key)
