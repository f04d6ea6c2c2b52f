"""API keys are found by the SHA-256 of their secret. Clients own what keys create."""

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import Unauthorized
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.credentials import SecretCache
from quietswap.service.storage.api_keys import KeyStore


class Authenticate:
    """Find the live key of a secret; a revoked key stops working within a second.

    So does every key of a client that is disabled. The last use of each key is kept in memory until
    `store_uses`, so that no request waits for it.
    """

    def __init__(self, keys: KeyStore, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._live = SecretCache(self._find, clock)
        self._used: dict[str, int] = {}

    async def __call__(self, secret: str) -> ApiKey | None:
        """Return the key, or None when it is unknown or revoked.

        Raises Unauthorized for an expired key and for one of a disabled client, StoreUnavailable.
        """
        key = await self._live.get(secret)
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

    async def _find(self, digest: bytes) -> ApiKey | None:
        key = await self._keys.find(digest)
        if key is not None and key.revoked_at_ms is not None:
            observe.revoked_key_used(key.id)
            return None
        if key is not None and key.is_client_disabled:
            raise Unauthorized("CLIENT_DISABLED")
        return key
