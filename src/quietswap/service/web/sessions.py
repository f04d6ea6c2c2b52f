"""Anonymous sessions of the web page: each is a client of its own, with one key that expires."""

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from quietswap.rules.clients import WEB_SECRET_PREFIX, ApiKey, Client, WebSessionBounds, visitor_id
from quietswap.rules.errors.base import RateLimitExceeded
from quietswap.rules.time_units import DAY_MS
from quietswap.service.base.clock import Clock
from quietswap.service.clients.credentials import hash_secret

if TYPE_CHECKING:  # it stores the records of this module
    from quietswap.service.storage.web_sessions import WebSessionStore


FIRST_MS = DAY_MS
"""Life of a session that was never continued."""
LASTS_MS = 30 * DAY_MS
"""Life of a session after it was continued. Then the RPC URL in the wallet ends, too."""
_EXTEND_AFTER_MS = DAY_MS
BATCH = 200
_RETRY_S = 3600
_NAME = "web page"


class WebSessions:
    """Begins, continues and deletes sessions. Their keys have ids that begin with `web_`."""

    def __init__(self, store: "WebSessionStore", clock: Clock, bounds: WebSessionBounds) -> None:
        self._store = store
        self._clock = clock
        self._bounds = bounds
        self._salt = secrets.token_bytes(32)

    async def begin(self, address: str) -> tuple[ApiKey, str]:
        """Store a session of a visitor at a client address; return its key and its secret.

        An address with too many loses the one that was used least lately and has no order. Raises
        RateLimitExceeded when there is none, or the service has too many, and StoreUnavailable.
        """
        now = self._clock.now_ms()
        identity = visitor_id(address, self._salt, secrets.token_hex(8))
        key = ApiKey(identity, _NAME, now, None, identity, expires_at_ms=now + FIRST_MS)
        secret = WEB_SECRET_PREFIX + secrets.token_hex(32)
        client = Client(identity, _NAME, now)
        if not await self._store.add(key, hash_secret(secret), client, address, self._bounds):
            raise RateLimitExceeded(
                retry_after=_RETRY_S,
                limit=self._bounds.per_address,
                window=FIRST_MS // 1000,
                message="too many visitors began a session; close other browsers, or come later",
            )
        return key, secret

    async def renew(self, key: ApiKey) -> ApiKey:
        """Return the key of a session that goes on, with its later end. Raises StoreUnavailable."""
        end = self._clock.now_ms() + LASTS_MS
        if key.expires_at_ms is None or end - key.expires_at_ms < _EXTEND_AFTER_MS:
            return key
        await self._store.extend(key.id, end)
        return replace(key, expires_at_ms=end)

    async def purge(self) -> bool:
        """Delete a batch of ended sessions; return whether more may be left.

        Raises StoreUnavailable.
        """
        return await self._store.purge(self._clock.now_ms(), BATCH) >= BATCH
