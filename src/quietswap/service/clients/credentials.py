"""New clients, keys and operators: secrets of 256 random bits, which are stored by their SHA-256.

Without `observe`, so that the commands that create them start quickly.
"""

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Generic, TypeVar

from quietswap.rules.clients import ApiKey, Client, KeyScope
from quietswap.rules.operator.operators import Operator
from quietswap.service.base.clock import Clock

T = TypeVar("T")
LASTS_MS = 1000
_CACHE_SIZE = 4096


def new_client(name: str, now_ms: int) -> Client:
    return Client(f"client_{secrets.token_hex(8)}", name, now_ms)


def new_key(
    client_id: str,
    name: str,
    now_ms: int,
    scope: KeyScope = KeyScope.TRADE,
    expires_at_ms: int | None = None,
) -> tuple[ApiKey, str]:
    """Return a key of a client and its secret; the secret is shown once and never stored."""
    identity = f"key_{secrets.token_hex(8)}"
    key = ApiKey(identity, name, now_ms, None, client_id, scope, expires_at_ms)
    return key, f"qs_{secrets.token_hex(32)}"


class KeyRefused(Exception):
    """The key, or its client, is in no state for this; the message tells an operator why."""


def key_for(owner: Client, key: ApiKey) -> ApiKey:
    """Return a new key as one of `owner`. Raises KeyRefused."""
    if owner.is_web_session:
        raise KeyRefused(
            f"{owner.id} is a visitor's session of the wallet page: a key would open its orders"
        )
    if owner.disabled_at_ms is not None:
        raise KeyRefused(f"the client {owner.id} ({owner.name}) is disabled")
    return replace(key, client_id=owner.id)


def no_live_key(key_id: str) -> KeyRefused:
    """Return the error for the id of a key that is unknown or has ended."""
    return KeyRefused(f"there is no live key {key_id}: see quietswap keys list")


def rotated(
    old: ApiKey | None, old_id: str, overlap_ms: int, now_ms: int
) -> tuple[ApiKey, str, int]:
    """Return the successor of a key, its secret, and the end of the old key in Unix ms.

    Client, name, scope and lifetime are the same. An expired key may be rotated, and a key only
    once: then its successor is. Raises KeyRefused.
    """
    if old is None or old.is_web_session or old.revoked_at_ms is not None:
        raise no_live_key(old_id)
    if old.is_client_disabled:
        raise KeyRefused(f"the client {old.client_id} of {old_id} is disabled")
    if old.replaced_by is not None:
        raise KeyRefused(
            f"the key {old_id} was replaced by {old.replaced_by} already. If the new secret is"
            f" lost: quietswap keys rotate {old.replaced_by}"
        )
    if old.expires_at_ms is None:
        old_ends, ends = now_ms + overlap_ms, None
    else:
        old_ends = min(old.expires_at_ms, now_ms + overlap_ms)
        ends = now_ms + old.expires_at_ms - old.created_at_ms
    return *new_key(old.client_id, old.name, now_ms, old.scope, ends), old_ends


def trading_key(found: ApiKey | None, key_id: str, now_ms: int) -> ApiKey:
    """Return a key that may post orders at this time. Raises KeyRefused."""
    if found is None or found.is_web_session or found.state(now_ms) in ("revoked", "expired"):
        raise no_live_key(key_id)
    if found.is_client_disabled:
        raise KeyRefused(f"the client of {key_id} is disabled: see quietswap clients")
    if found.scope is not KeyScope.TRADE:
        raise KeyRefused(f"{key_id} may only read (scope read): a wallet must send")
    return found


def hash_secret(secret: str) -> bytes:
    """Return the stored hash. The secret has 256 random bits, so a plain hash is enough.

    The lookup time reveals nothing useful: an attacker cannot choose the first bytes of a hash.
    """
    return hashlib.sha256(secret.encode()).digest()


class SecretCache(Generic[T]):
    """What secrets belong to, by their hash: a revoked one works for up to `LASTS_MS` longer."""

    def __init__(self, find: Callable[[bytes], Awaitable[T | None]], clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._seen: dict[bytes, tuple[int, T]] = {}

    async def get(self, secret: str) -> T | None:
        """Return what `find` returns for the hash, and raise what it raises."""
        digest, now = hash_secret(secret), self._clock.now_ms()
        cached = self._seen.get(digest)
        if cached is not None and 0 <= now - cached[0] < LASTS_MS:
            return cached[1]
        self._seen.pop(digest, None)
        credential = await self._find(digest)
        if credential is not None:
            if len(self._seen) >= _CACHE_SIZE:
                self._seen.clear()
            self._seen[digest] = (now, credential)
        return credential


def new_operator(name: str, now_ms: int) -> tuple[Operator, str]:
    """Return an operator and the secret, which is shown once and never stored."""
    return Operator(f"opr_{secrets.token_hex(8)}", name, now_ms), f"qo_{secrets.token_hex(32)}"
