"""API keys: 256 random bits, stored and recognised by their SHA-256."""

import hashlib
import secrets

from quietswap.ports.outside import Clock
from quietswap.ports.stores import ApiKey, KeyStore

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
    """Find the live key of a secret; a revoked key stops working within `cache_ms`.

    With 0 every request asks the store, which is right for an embedded database; across a
    network a second of memory saves a round trip a request.
    """

    def __init__(self, keys: KeyStore, clock: Clock, *, cache_ms: int = 0) -> None:
        self._keys = keys
        self._clock = clock
        self._cache_ms = cache_ms
        self._seen: dict[bytes, tuple[int, ApiKey]] = {}

    async def __call__(self, secret: str) -> ApiKey | None:
        """Return the key, or None when it is unknown or revoked. Raises StoreDown."""
        digest = hash_secret(secret)
        now = self._clock.now_ms()
        cached = self._seen.get(digest)
        if cached is not None and now - cached[0] < self._cache_ms:
            return cached[1]
        self._seen.pop(digest, None)
        key = await self._keys.find(digest)
        if key is None or key.revoked_at_ms is not None:
            return None
        if self._cache_ms:
            self._remember(digest, now, key)
        return key

    def _remember(self, digest: bytes, now: int, key: ApiKey) -> None:
        if len(self._seen) >= _CACHE_SIZE:
            self._seen.clear()
        self._seen[digest] = (now, key)
