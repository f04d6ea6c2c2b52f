"""Authentication by the session cookie of the web page, for the operations that the page needs."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap import observe
from quietswap.api.endpoint import operation_of
from quietswap.api.middleware.rate_limit import limit_exceeded
from quietswap.api.options import ApiOptions, RateLimits
from quietswap.api.request_parsing.client_address import client_address
from quietswap.api.use_cases import UseCases
from quietswap.api.web.cookies import session_secret
from quietswap.api.web.options import RATE_PREFIX, WebOptions
from quietswap.domain.errors.http import Unauthorized
from quietswap.ports.clock import Clock

PAGE_OPERATIONS = frozenset(
    {
        "event_stream",
        "order_cancel",
        "order_history",
        "order_status",
        "rpc_token_create",
        "rpc_token_list",
        "rpc_token_revoke",
        "swap_quote",
        "token_balances",
        "token_list",
        "token_price",
        "wrap_info",
        "wrap_quote",
    }
)
"""What a session may do. Signed transactions come by the wallet's RPC URL alone."""


@dataclass(frozen=True, slots=True)
class SessionCookieMiddleware:
    """Stores the key of a session in `scope["user"]`, before the check of API keys.

    A request with an API key, without the cookie, of another origin or for another operation passes
    unchanged. Raises RateLimitExceeded for too many requests of one client address.
    """

    app: ASGIApp
    use_cases: UseCases
    web: WebOptions
    options: ApiOptions
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        secret = self._secret(scope)
        if secret is not None:
            await count_address(scope, self.use_cases, self.web, self.options, self.clock)
            try:
                key = await self.use_cases.authenticate(secret)
            except Unauthorized:  # it expired: as without a session
                key = None
            if key is not None and key.is_web_session:
                observe.key_recognised(key.id, key.client_id)
                scope["user"], scope["auth"] = key, secret
        await self.app(scope, receive, send)

    def _secret(self, scope: Scope) -> str | None:
        if any(name == b"x-api-key" for name, _ in scope["headers"]):
            return None
        operation = operation_of(scope)
        if operation is None or operation.name not in PAGE_OPERATIONS:
            return None
        return session_secret(scope, secure=self.web.secure)


async def count_address(
    scope: Scope, use_cases: UseCases, web: WebOptions, options: ApiOptions, clock: Clock
) -> str:
    """Count a request of the page for its client address and return that address.

    Raises RateLimitExceeded.
    """
    address = client_address(scope, options.trusted_proxies)
    limits = RateLimits(requests=web.requests, window_s=options.limits.window_s)
    window = await use_cases.guesses.hit(
        f"{RATE_PREFIX}{address}", limits.requests, limits.window_s
    )
    if not window.allowed:
        scope["state"]["rate_window"] = window
        raise limit_exceeded(window, limits, clock)
    return address
