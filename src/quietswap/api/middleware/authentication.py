"""Authentication by API key, and the limit of wrong keys per client address."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap import observe
from quietswap.api.middleware.rate_limit import limit_exceeded
from quietswap.api.options import ApiOptions
from quietswap.api.request_parsing.client_address import client_address
from quietswap.api.use_cases import UseCases
from quietswap.domain.errors.http import Unauthorized
from quietswap.ports.clock import Clock
from quietswap.ports.web_sessions import SECRET_PREFIX

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
        error = Unauthorized()
        try:
            key = await self.use_cases.authenticate(secret) if is_plausible else None
        except Unauthorized as known:
            key, error = None, known
        if key is None:
            await self._reject(scope, secret, error)
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
