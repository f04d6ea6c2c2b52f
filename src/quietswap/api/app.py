"""The ASGI application: every answer it gives, of whatever kind, is the interface's envelope.

Order of checks: key, rate, path and method, shape, meaning; then the use case.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from quietswap import observe
from quietswap.api import errors
from quietswap.api.asgi import App, Receive, Scope, Send, decline
from quietswap.api.body import parse_body
from quietswap.api.endpoints import Call
from quietswap.api.exchange import Exchange, refusal_headers
from quietswap.api.guard import Guard, Limits
from quietswap.api.intake import Network, check_media_type, client_address, read_body
from quietswap.api.operations import Operation, find
from quietswap.api.pages import public_pages
from quietswap.api.reply import Page, Reply
from quietswap.api.use_cases import UseCases
from quietswap.domain.errors import ApiError, Unauthorized
from quietswap.domain.refusals import InternalServerError
from quietswap.ports.outside import ChainDown, Clock
from quietswap.ports.stores import StoreDown

_API = "/api/"
_encode = msgspec.json.Encoder().encode

Answered = Callable[[str, int, float], None]
"""Told after each answer: the endpoint's name, the HTTP status, and the seconds it took."""


@dataclass(frozen=True, slots=True)
class EdgeOptions:
    """The operator's choices. The X-Forwarded-For of `trusted_proxies` counts."""

    limits: Limits = field(default_factory=Limits)
    max_body_bytes: int = 1 << 20
    """A transaction has at most 128 KiB of calldata, 256 KiB as hex, and an order has it twice."""
    body_patience_s: float = 15.0
    trusted_proxies: tuple[Network, ...] = ()
    docs: bool = True


class Edge:
    """The application; see `build_app`."""

    def __init__(
        self,
        use: UseCases,
        options: EdgeOptions,
        clock: Clock,
        pages: Mapping[str, Page],
        answered: Answered | None,
    ) -> None:
        self._use = use
        self._options = options
        self._clock = clock
        self._pages = pages
        self._answered = answered
        self._guard = Guard(use, options.limits, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await decline(scope, receive, send)
            return
        started = self._clock.monotonic()
        exchange = Exchange(scope, receive)
        observe.request_began(exchange.request_id)
        reply = await self._reply(exchange)
        headers = exchange.answer_headers(reply)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        body = b"" if exchange.method == "HEAD" else reply.body
        await send({"type": "http.response.body", "body": body})
        if self._answered:
            self._answered(exchange.name, reply.status, self._clock.monotonic() - started)

    async def _reply(self, exchange: Exchange) -> Reply:
        try:
            return await self._serve(exchange)
        except Exception as error:  # noqa: BLE001  the last resort: `_refusal` logs the unforeseen
            refusal = self._refusal(exchange, error)
        observe.request_refused(refusal.code)
        status = errors.status_of(refusal.code, exchange.name)
        return Reply(status, _encode(errors.envelope(refusal)), headers=refusal_headers(refusal))

    async def _serve(self, exchange: Exchange) -> Reply:
        page = self._pages.get(exchange.path)
        if page is not None:
            exchange.allow("GET")
            return await page()
        found = find(exchange.path)
        if found is not None:
            exchange.operation, exchange.tail = found
        elif not exchange.path.startswith(_API):
            raise exchange.not_found()
        call = await self._admit(exchange)
        if exchange.operation is None:
            raise exchange.not_found()
        return Reply(200, _encode(await exchange.operation.run(self._use, call)))

    async def _admit(self, exchange: Exchange) -> Call:
        secret = exchange.headers.get(b"x-api-key", b"").decode("latin-1")
        key = await self._guard.identify(secret)
        if key is None:
            trusted = self._options.trusted_proxies
            client = client_address(exchange.scope, exchange.headers, trusted)
            window = await self._guard.guessed(client) if secret else None
            if window is not None and not window.allowed:
                exchange.window = window
                raise self._guard.exceeded(window)
            raise Unauthorized
        observe.key_recognised(key.id)
        exchange.window = await self._guard.count(key)
        if not exchange.window.allowed:
            raise self._guard.exceeded(exchange.window)
        if exchange.operation is None:
            return Call(key)
        exchange.allow(exchange.operation.method)
        body = await self._body(exchange, exchange.operation)
        return Call(key, exchange.scope["query_string"], exchange.tail, body)

    async def _body(self, exchange: Exchange, operation: Operation) -> dict[str, Any]:
        if not operation.body:
            return {}
        check_media_type(exchange.headers)
        limit, patience = self._options.max_body_bytes, self._options.body_patience_s
        raw = await read_body(exchange.headers, exchange.receive, limit, patience)
        return parse_body(raw, operation.body)

    def _refusal(self, exchange: Exchange, error: Exception) -> ApiError:
        """Return what the caller is told; only outages and the unforeseen are logged here."""
        if isinstance(error, ApiError):
            return error
        if isinstance(error, StoreDown | ChainDown):
            observe.request_unserved(exchange.request_id, exchange.name, str(error))
            return errors.outage(exchange.operation.codes if exchange.operation else ())
        observe.request_failed(exchange.request_id, exchange.name, error)
        return InternalServerError(request_id=exchange.request_id)


def build_app(
    use: UseCases,
    options: EdgeOptions,
    clock: Clock,
    *,
    pages: Mapping[str, Page] | None = None,
    answered: Answered | None = None,
) -> App:
    """Return the ASGI application.

    `pages` adds pages served to GET without a key by exact path (`/readyz`, `/metrics`);
    `answered` is told of every answer.
    """
    return Edge(use, options, clock, {**public_pages(docs=options.docs), **(pages or {})}, answered)
