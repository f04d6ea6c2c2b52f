"""Rate limits of each API key and of wrong keys by client address, and the authentication."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.rules.clients import WEB_SECRET_PREFIX
from quietswap.rules.errors.base import RateLimitExceeded, Unauthorized
from quietswap.rules.orders.stores import RateStore, RateWindow
from quietswap.rules.time_units import MINUTE_S
from quietswap.service import observe
from quietswap.service.api.operation import ApiOptions, RateLimits, UseCases
from quietswap.service.api.parsing.headers import client_address
from quietswap.service.base.clock import Clock

_LONGEST_SECRET = 256


async def count_request(
    scope: Scope,
    store: RateStore,
    name: str,
    limits: RateLimits,
    clock: Clock,
    *,
    message: str | None = None,
) -> RateWindow:
    """Count a request in a window and return that. Raises RateLimitExceeded if it has too many.

    Then the window is in `scope["state"]["rate_window"]`, and `retryAfter` is the rest of it.
    """
    window = await store.hit(name, limits.requests, limits.window_s)
    if not window.allowed:
        scope["state"]["rate_window"] = window
        raise RateLimitExceeded(
            retry_after=max(-((clock.now_ms() - window.reset_ms) // 1000), 1),
            limit=window.limit,
            window=limits.window_s,
            message=message,
        )
    return window


@dataclass(frozen=True, slots=True)
class RateLimitMiddleware:
    """Counts a request of the API key in `scope["user"]`, for all endpoints together.

    If the operator gave the client a limit, all its keys share that, and its window is stored in
    `scope["state"]["client_window"]`. The window with less left of the two is stored in
    `scope["state"]["rate_window"]`. Raises RateLimitExceeded.
    """

    app: ASGIApp
    store: RateStore
    limits: RateLimits
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key, state = scope["user"], scope["state"]
        window = await count_request(scope, self.store, f"key:{key.id}", self.limits, self.clock)
        state["rate_window"] = window
        most = key.limits and key.limits.requests_per_minute
        if most is not None:
            text = f"this client may send {most} requests a minute, with all its keys together"
            name, limits = f"client:{key.client_id}", RateLimits(most, window_s=MINUTE_S)
            ours = await count_request(scope, self.store, name, limits, self.clock, message=text)
            state["client_window"] = ours
            state["rate_window"] = min(window, ours, key=lambda one: one.remaining)
        await self.app(scope, receive, send)


def rate_limit_headers(window: RateWindow | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the X-RateLimit headers; Reset is the end of the window in Unix seconds."""
    if window is None:
        return ()
    return (
        (b"x-ratelimit-limit", b"%d" % window.limit),
        (b"x-ratelimit-remaining", b"%d" % window.remaining),
        (b"x-ratelimit-reset", b"%d" % -(-window.reset_ms // 1000)),
    )


@dataclass(frozen=True, slots=True)
class AuthenticationMiddleware:
    """Stores the API key of a request in `scope["user"]`, and its secret in `scope["auth"]`.

    Raises Unauthorized for a missing, unknown, revoked or expired key, and RateLimitExceeded for
    too many wrong keys of one client address. A missing key is not counted. A valid key always
    passes, so another client of a shared address cannot lock it out.
    """

    app: ASGIApp
    use_cases: UseCases
    options: ApiOptions
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "user" in scope:  # a session of the web page
            await self.app(scope, receive, send)
            return
        secret = dict(scope["headers"]).get(b"x-api-key", b"").decode("latin-1")
        is_plausible = 0 < len(secret) <= _LONGEST_SECRET and not secret.startswith(
            WEB_SECRET_PREFIX
        )
        error = None
        try:
            key = await self.use_cases.authenticate(secret) if is_plausible else None
        except Unauthorized as known:
            key, error = None, known
        if key is None:
            await self._reject(scope, secret, error or Unauthorized())
        else:
            observe.key_recognised(key.id, key.client_id)
            scope["user"], scope["auth"] = key, secret
            await self.app(scope, receive, send)

    async def _reject(self, scope: Scope, secret: str, error: Unauthorized) -> None:
        if secret:
            client = client_address(scope, self.options.trusted_proxies)
            limits = self.options.limits
            text = (
                f"more than {limits.failures} requests in {limits.window_s} seconds from this "
                "address had no valid API key"
            )
            guessed = RateLimits(limits.failures, window_s=limits.window_s)
            guesses = self.use_cases.guesses
            await count_request(
                scope, guesses, f"guess:{client}", guessed, self.clock, message=text
            )
        raise error
