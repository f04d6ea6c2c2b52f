"""Rate limits of each API key and of wrong keys by client address, and the authentication."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap import observe
from quietswap.api.operation import ApiOptions, RateLimits, UseCases
from quietswap.api.parsing.headers import client_address
from quietswap.clock import Clock
from quietswap.errors.base import RateLimitExceeded, Unauthorized
from quietswap.orders.stores import RateStore, RateWindow
from quietswap.web.sessions import SECRET_PREFIX

# The rate limits of each API key and of its client, and the X-RateLimit headers.


_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class RateLimitMiddleware:
    """Counts a request of the API key in `scope["user"]`, for all endpoints together.

    Stores the window in `scope["state"]["rate_window"]`: the one with less left of the key's and
    the client's. Raises RateLimitExceeded.
    """

    app: ASGIApp
    store: RateStore
    limits: RateLimits
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one authenticated HTTP request."""
        limits = self.limits
        name = f"key:{scope['user'].id}"
        window = await self.store.hit(name, limits.requests, limits.window_s)
        scope["state"]["rate_window"] = window
        if not window.allowed:
            raise limit_exceeded(window, limits, self.clock)
        await self._count_client(scope)
        await self.app(scope, receive, send)

    async def _count_client(self, scope: Scope) -> None:
        """Count the request for the client, if the operator gave it a limit. All its keys share it.

        Stores the window in `scope["state"]["client_window"]`. Raises RateLimitExceeded.
        """
        key = scope["user"]
        if key.limits is None or key.limits.requests_per_minute is None:
            return
        name, limit = f"client:{key.client_id}", key.limits.requests_per_minute
        window = await self.store.hit(name, limit, _MINUTE_S)
        scope["state"]["client_window"] = window
        of_key: RateWindow = scope["state"]["rate_window"]
        if not window.allowed or window.remaining < of_key.remaining:
            scope["state"]["rate_window"] = window
        if not window.allowed:
            message = f"this client may send {limit} requests a minute, with all its keys together"
            raise limit_exceeded(window, RateLimits(limit, window_s=_MINUTE_S), self.clock, message)


def limit_exceeded(
    window: RateWindow, limits: RateLimits, clock: Clock, message: str | None = None
) -> RateLimitExceeded:
    """Return the error for an exhausted window; `retryAfter` is the rest of it in whole seconds."""
    wait_ms = window.reset_ms - clock.now_ms()
    return RateLimitExceeded(
        retry_after=max(-(-wait_ms // 1000), 1),
        limit=window.limit,
        window=limits.window_s,
        message=message,
    )


def bodies_exceeded(limits: RateLimits) -> RateLimitExceeded:
    """Return the error for a client whose concurrent requests hold too many bytes of bodies."""
    return RateLimitExceeded(
        retry_after=1,
        limit=limits.requests,
        window=limits.window_s,
        message="the requests this client has under way hold too many bytes of bodies",
    )


def rate_limit_headers(window: RateWindow | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the X-RateLimit headers; Reset is the end of the window in Unix seconds."""
    if window is None:
        return ()
    return (
        (b"x-ratelimit-limit", b"%d" % window.limit),
        (b"x-ratelimit-remaining", b"%d" % window.remaining),
        (b"x-ratelimit-reset", b"%d" % -(-window.reset_ms // 1000)),
    )


_LONGEST_SECRET = 256


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
        """Serve one HTTP request."""
        if "user" in scope:  # a session of the web page
            await self.app(scope, receive, send)
            return
        secret = dict(scope["headers"]).get(b"x-api-key", b"").decode("latin-1")
        is_plausible = 0 < len(secret) <= _LONGEST_SECRET and not secret.startswith(SECRET_PREFIX)
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
            window = await self.use_cases.guesses.hit(
                f"guess:{client}", limits.failures, limits.window_s
            )
            if not window.allowed:
                scope["state"]["rate_window"] = window
                text = (
                    f"more than {limits.failures} requests in {limits.window_s} seconds from this "
                    "address had no valid API key"
                )
                raise limit_exceeded(window, limits, self.clock, text)
        raise error
