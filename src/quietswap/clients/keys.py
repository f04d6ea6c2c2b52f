"""API keys are found by the SHA-256 of their secret. Clients own what keys create."""

from quietswap import observe
from quietswap.clients.client import ApiKey
from quietswap.clients.credentials import hash_secret
from quietswap.clock import Clock
from quietswap.errors.base import Unauthorized
from quietswap.storage.clients import KeyStore

LASTS_MS = 1000
"""Cache time of a key: the longest time until a revoked key stops working."""
_CACHE_SIZE = 4096


class Authenticate:
    """Find the live key of a secret; a revoked key stops working within a second.

    So does every key of a client that is disabled. The last use of each key is kept in memory until
    `store_uses`, so that no request waits for it.
    """

    def __init__(self, keys: KeyStore, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._seen: dict[bytes, tuple[int, ApiKey]] = {}
        self._used: dict[str, int] = {}

    async def __call__(self, secret: str) -> ApiKey | None:
        """Return the key, or None when it is unknown or revoked.

        Raises Unauthorized for an expired key and for one of a disabled client, StoreUnavailable.
        """
        key = await self._live(secret)
        if key is not None:
            now = self._clock.now_ms()
            if key.expires_at_ms is not None and key.expires_at_ms <= now:
                raise Unauthorized("EXPIRED")
            self._used[key.id] = now
        return key

    async def store_uses(self) -> None:
        """Store the last use of each key since the last call. Raises StoreUnavailable."""
        uses, self._used = self._used, {}
        if not uses:
            return
        try:
            await self._keys.used(uses)
        except BaseException:
            self._used = {**uses, **self._used}
            raise

    async def _live(self, secret: str) -> ApiKey | None:
        digest = hash_secret(secret)
        now = self._clock.now_ms()
        cached = self._seen.get(digest)
        if cached is not None and 0 <= now - cached[0] < LASTS_MS:
            return cached[1]
        self._seen.pop(digest, None)
        key = await self._keys.find(digest)
        if key is not None and key.revoked_at_ms is not None:
            observe.revoked_key_used(key.id)
        if key is None or key.revoked_at_ms is not None:
            return None
        if key.is_client_disabled:
            raise Unauthorized("CLIENT_DISABLED")
        self._remember(digest, now, key)
        return key

    def _remember(self, digest: bytes, now: int, key: ApiKey) -> None:
        if len(self._seen) >= _CACHE_SIZE:
            self._seen.clear()
        self._seen[digest] = (now, key)
