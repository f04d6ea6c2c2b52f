"""POST /web/session: begins or continues the anonymous session of a browser."""

from dataclasses import dataclass

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from quietswap.api.middleware.rate_limit import limit_exceeded
from quietswap.api.options import ApiOptions, RateLimits
from quietswap.api.request_parsing.body_memory import BodyMemory
from quietswap.api.request_parsing.body_reader import check_media_type, read_body
from quietswap.api.request_parsing.body_shape import parse_body
from quietswap.api.responses.json_values import iso_timestamp
from quietswap.api.use_cases import UseCases
from quietswap.api.wallet_rpc.connected import CONNECTED_DATA, CONNECTED_TO
from quietswap.api.web.authentication import count_address
from quietswap.api.web.cookies import is_of_the_page, session_cookie, session_secret
from quietswap.api.web.options import WebOptions
from quietswap.contract.web import (
    ConnectionCheck,
    WebSessionBody,
    WebSessionEnvelope,
    WebSessionResponse,
)
from quietswap.domain.address import Address, BadAddress, from_any_case
from quietswap.domain.errors.http import Unauthorized
from quietswap.domain.errors.request import InvalidAddress
from quietswap.domain.transaction.unsigned import MAINNET
from quietswap.ports.clients import ApiKey
from quietswap.ports.clock import Clock

PATH = "/web/session"
_MAX_BODY = 1024
_MINUTE_S = 60
_BODIES = "web"
"""Whose memory holds bodies of visitors that have no session yet: that of all visitors."""


@dataclass(frozen=True, slots=True)
class WebSessionEndpoint:
    """Answers with what the page needs to know, and sets the cookie.

    Raises Unauthorized for a request of another origin, RateLimitExceeded, and InvalidAddress.
    """

    use_cases: UseCases
    web: WebOptions
    options: ApiOptions
    body_memory: BodyMemory
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        if scope["method"] != "POST":
            raise HTTPException(405, headers={"Allow": "POST"})
        if not is_of_the_page(scope):
            raise Unauthorized
        client = await count_address(scope, self.use_cases, self.web, self.options, self.clock)
        address = await self._wallet(scope, receive)
        key, secret = await self._session(scope, client)
        end_ms = key.expires_at_ms or 0
        lasts_s = max(end_ms - self.clock.now_ms(), 0) // 1000
        cookie = session_cookie(secret, lasts_s, secure=self.web.secure)
        body = msgspec.json.encode(
            WebSessionEnvelope(
                ok=True,
                data=WebSessionResponse(
                    chain_id=MAINNET,
                    explorer_url=self.web.explorer_url,
                    connected=ConnectionCheck(to=CONNECTED_TO, data=CONNECTED_DATA),
                    quote_seconds=self.web.quote_s,
                    expires_at=iso_timestamp(end_ms),
                    address=address,
                ),
            )
        )
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"set-cookie", cookie.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _session(self, scope: Scope, client: str) -> tuple[ApiKey, str]:
        """Return the key and the secret of the browser's session, or of a new one."""
        secret = session_secret(scope, secure=self.web.secure)
        if secret is not None:
            try:
                key = await self.use_cases.authenticate(secret)
            except Unauthorized:  # it expired: a new one follows
                key = None
            if key is not None and key.is_web_session:
                return await self.web.renew(key), secret
        await self._count_new(scope, client)
        return await self.web.begin(client)

    async def _count_new(self, scope: Scope, client: str) -> None:
        """Bound how fast sessions of an address replace each other. Raises RateLimitExceeded."""
        limits = RateLimits(self.web.sessions, window_s=_MINUTE_S)
        window = await self.use_cases.guesses.hit(
            f"web-new:{client}", limits.requests, limits.window_s
        )
        if not window.allowed:
            scope["state"]["rate_window"] = window
            text = f"more than {limits.requests} sessions of this address began in a minute"
            raise limit_exceeded(window, limits, self.clock, text)

    async def _wallet(self, scope: Scope, receive: Receive) -> Address | None:
        headers = dict(scope["headers"])
        check_media_type(headers)
        with self.body_memory.reserve(_BODIES) as reservation:
            timeout_s = self.options.body_timeout_s
            raw = await read_body(headers, receive, _MAX_BODY, timeout_s, reservation)
        given = parse_body(raw, WebSessionBody).get("address")
        if given is None:
            return None
        try:
            return from_any_case(given)
        except BadAddress as error:
            raise InvalidAddress(provided=given[:100], reason=str(error), field="address") from None
