"""The wallet page over HTTP: the cookie of a session (POST /web/session), and GET /web/status."""

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.rules.clients import WEB_SECRET_PREFIX, ApiKey
from quietswap.rules.contract import clients as contract
from quietswap.rules.errors.base import Unauthorized
from quietswap.rules.errors.requests import InvalidAddress
from quietswap.rules.quotes.issued_quote import GRACE_MS
from quietswap.rules.time_units import MINUTE_S
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.tx.address import Address, BadAddress, from_any_case
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import Envelope
from quietswap.service import observe
from quietswap.service.api.endpoint import operation_of
from quietswap.service.api.json import iso_timestamp, send_json
from quietswap.service.api.middleware.rate_limits import count_request
from quietswap.service.api.operation import ApiOptions, RateLimits, UseCases
from quietswap.service.api.parsing.body import BodyMemory, check_media_type, parse_body, read_body
from quietswap.service.api.parsing.headers import (
    client_address,
    cookie_value,
    is_same_origin,
    set_cookie,
)
from quietswap.service.base.clock import Clock
from quietswap.service.wallet_rpc.dispatch import CONNECTED_DATA, CONNECTED_TO
from quietswap.service.web.options import INCLUSION_DAYS, WebOptions

Answer = tuple[Envelope[Any], list[tuple[bytes, bytes]]]
"""The body of an answer, and its own headers."""


_NAME = "quietswap_session"
_LONGEST = 128


def cookie_name(*, secure: bool) -> str:
    """Return the cookie's name. By TLS no other host of the same domain can set it.

    https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
    """
    return f"__Host-{_NAME}" if secure else _NAME


def session_secret(scope: Scope, *, secure: bool) -> str | None:
    """Return the session's secret of a request that the page itself makes, else None."""
    secret = cookie_value(scope["headers"], cookie_name(secure=secure))
    if secret is None or not is_of_the_page(scope):
        return None
    return secret if secret.startswith(WEB_SECRET_PREFIX) and len(secret) <= _LONGEST else None


def is_of_the_page(scope: Scope) -> bool:
    is_read = scope["method"] in ("GET", "HEAD")
    return is_same_origin(scope["headers"], needs_origin=not is_read)


PAGE_OPERATIONS = frozenset(
    (
        "event_stream",
        "order_cancel",
        "order_history",
        "order_status",
        "rpc_token_create",
        "rpc_token_list",
        "rpc_token_revoke",
        "swap_quote",
        "swap_quote_stream",
        "token_balances",
        "token_list",
        "token_price",
        "wrap_info",
        "wrap_quote",
    )
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
        secret = self._secret(scope)
        if secret is not None:
            await count_address(scope, self.use_cases, self.web, self.options, self.clock)
            key = await live_session(self.use_cases, secret)
            if key is not None:
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


async def live_session(use_cases: UseCases, secret: str) -> ApiKey | None:
    """Return the key of a session; None once it has expired, as without a session."""
    try:
        key = await use_cases.authenticate(secret)
    except Unauthorized:
        return None
    return key if key is not None and key.is_web_session else None


async def count_address(
    scope: Scope, use_cases: UseCases, web: WebOptions, options: ApiOptions, clock: Clock
) -> str:
    """Count a request of the page for its client address and return that address.

    Raises RateLimitExceeded.
    """
    address = client_address(scope, options.trusted_proxies)
    limits = RateLimits(requests=web.requests, window_s=options.limits.window_s)
    await count_request(scope, use_cases.guesses, f"web:{address}", limits, clock)
    return address


@dataclass(frozen=True, slots=True)
class _PageEndpoint:
    """Answers the page itself.

    Raises Unauthorized for a request of another origin, and RateLimitExceeded.
    """

    method: ClassVar[str]

    use_cases: UseCases
    web: WebOptions
    options: ApiOptions
    body_memory: BodyMemory
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != self.method:
            raise HTTPException(405, headers={"Allow": self.method})
        if not is_of_the_page(scope):
            raise Unauthorized
        client = await count_address(scope, self.use_cases, self.web, self.options, self.clock)
        body, headers = await self._answer(scope, receive, client)
        await send_json(send, msgspec.json.encode(body), headers)

    async def _answer(self, scope: Scope, receive: Receive, client: str) -> Answer:
        raise NotImplementedError


PATH = "/web/session"
_MAX_BODY = 1024
_BODIES = "web"
"""Whose memory holds bodies of visitors that have no session yet: that of all visitors."""


class WebSessionEndpoint(_PageEndpoint):
    """Answers with what the page needs to know, and sets the cookie. Raises InvalidAddress."""

    method = "POST"

    async def _answer(self, scope: Scope, receive: Receive, client: str) -> Answer:
        address = await self._wallet(scope, receive)
        key, secret = await self._session(scope, client)
        end_ms, secure = key.expires_at_ms or 0, self.web.secure
        lasts_s = max(end_ms - self.clock.now_ms(), 0) // 1000
        cookie = set_cookie(cookie_name(secure=secure), secret, lasts_s, path="/", secure=secure)
        data = contract.WebSessionResponse(
            chain_id=MAINNET,
            explorer_url=self.web.explorer_url,
            connected=contract.ConnectionCheck(to=CONNECTED_TO, data=CONNECTED_DATA),
            quote_seconds=self.web.quote_s,
            taken_seconds=self.web.quote_s + GRACE_MS // 1000,
            expires_at=iso_timestamp(end_ms),
            version=self.web.version,
            address=address,
        )
        return contract.WebSessionEnvelope(ok=True, data=data), [(b"set-cookie", cookie.encode())]

    async def _session(self, scope: Scope, client: str) -> tuple[ApiKey, str]:
        """Return the key and the secret of the browser's session, or of a new one."""
        secret = session_secret(scope, secure=self.web.secure)
        if secret is not None:
            key = await live_session(self.use_cases, secret)
            if key is not None:
                return await self.web.renew(key), secret
        # how fast sessions of an address replace each other
        limits = RateLimits(self.web.sessions, window_s=MINUTE_S)
        text = f"more than {limits.requests} sessions of this address began in a minute"
        guesses = self.use_cases.guesses
        await count_request(scope, guesses, f"web-new:{client}", limits, self.clock, message=text)
        return await self.web.begin(client)

    async def _wallet(self, scope: Scope, receive: Receive) -> Address | None:
        headers = dict(scope["headers"])
        check_media_type(headers)
        with self.body_memory.reserve(_BODIES) as grow:
            timeout_s = self.options.body_timeout_s
            raw = await read_body(headers, receive, _MAX_BODY, timeout_s, grow)
        wallet = parse_body(raw, contract.WebSessionBody).get("address")
        if wallet is None:
            return None
        try:
            return from_any_case(wallet)
        except BadAddress as error:
            raise InvalidAddress(
                provided=wallet[:100], reason=str(error), field="address"
            ) from None


STATUS_PATH = "/web/status"
MANY = 100
"""More orders are told as this number: visitors do not learn how many the service has."""


class WebStatusEndpoint(_PageEndpoint):
    """Answers the page, with or without a session. It names no host and no reason."""

    method = "GET"

    async def _answer(self, scope: Scope, receive: Receive, client: str) -> Answer:
        checks, inclusion = (await self.web.health()).checks, await self.web.inclusion()
        record = None
        if inclusion is not None:
            orders = min(inclusion.count, MANY)
            record = contract.InclusionRecord(
                orders=orders,
                days=INCLUSION_DAYS,
                half_blocks=inclusion.p50,
                most_blocks=inclusion.p90,
                half_s=inclusion.p50 * SLOT_S,
                most_s=inclusion.p90 * SLOT_S,
            )
        data = contract.WebStatusResponse(
            node=checks["node"] == "ok",
            relay=checks["relay"] == "ok",
            sources=checks["sources"] == "ok",
            inclusion=record,
            source_names=self.web.source_names,
        )
        return contract.WebStatusEnvelope(ok=True, data=data), []
