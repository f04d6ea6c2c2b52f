"""CORS (https://fetch.spec.whatwg.org/#http-cors-protocol) for listed origins only.

A web page that calls the API gives the API key to its visitors, so CORS is off by default.
Credentials are never allowed: the key is a header, and the API uses no cookie.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietswap.rules.errors.base import HostNotAllowed
from quietswap.service.api.middleware.errors import error_response, request_id_of
from quietswap.service.api.middleware.rate_limits import rate_limit_headers
from quietswap.service.api.parsing.query import shown

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_PREFLIGHT = {
    "vary": "origin",
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "content-type, x-api-key, x-request-id, traceparent",
    "access-control-max-age": "7200",
}
_EXPOSED = (
    b"access-control-expose-headers",
    b"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id",
)


class InvalidOrigin(ValueError):
    """The text is not an origin; the message says what an origin is."""


def checked_origin(text: str) -> str:
    """Return an origin as browsers send it. Raises InvalidOrigin, also for `*`."""
    if not _ORIGIN.fullmatch(text):
        raise InvalidOrigin(
            f"{text}: an origin is http(s)://host or http(s)://host:port, lower case"
        )
    return text


class ListedOriginsMiddleware(CORSMiddleware):
    """Starlette's CORS, but other origins get the answer of `app` without any CORS header.

    Starlette answers their preflight requests with 400 in plain text, and exposes headers to them.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        """Raises InvalidOrigin."""
        super().__init__(app, allow_origins=frozenset(map(checked_origin, origins)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not self.is_allowed_origin(headers.get("origin", "")):
                await self.simple_response(scope, receive, send, request_headers=headers)
                return
        await super().__call__(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return 204 to a listed origin. The browser compares the method and the headers."""
        origin = {"access-control-allow-origin": request_headers["origin"]}
        return Response(status_code=204, headers=origin | _PREFLIGHT)

    async def send(self, message: Message, send: Send, request_headers: Headers) -> None:
        if message["type"] == "http.response.start":
            more = [(b"vary", b"origin")]
            origin = request_headers.get("origin", "")
            if self.is_allowed_origin(origin):
                more += [(b"access-control-allow-origin", origin.encode("latin-1")), _EXPOSED]
            message["headers"] = [*message["headers"], *more]
        await send(message)


FIXED_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


@dataclass(frozen=True, slots=True)
class ResponseHeadersMiddleware:
    """Adds X-Request-Id, the X-RateLimit headers of a counted request and the fixed headers.

    An answer with a Cache-Control of its own keeps it.

    Removes the body of an answer to HEAD. Stores the status in `scope["state"]["status"]` when the
    answer starts.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["state"]
        is_head = scope["method"] == "HEAD"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                state["status"] = message["status"]
                own = message.get("headers", ())
                is_cacheable = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [
                    *own,
                    (b"x-request-id", state["request_id"].encode()),
                    *(FIXED_HEADERS[1:] if is_cacheable else FIXED_HEADERS),
                    *rate_limit_headers(state["rate_window"]),
                ]
            elif is_head:
                message["body"] = b""
            await send(message)

        await self.app(scope, receive, send_with_headers)


# The names in `Host` that the API answers to: protection against DNS rebinding.
#
# A web page can have its own name resolve to 127.0.0.1 and then reads, as its own origin, what
# listens there. CORS does not help: for the browser it is the same origin. The request still has
# the page's name in `Host`, so this name is compared.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_SPLIT = re.compile(r"(\[[0-9A-Fa-f:.]*\]|[^:\[\]]*)(?::\d{0,5})?")


class InvalidHost(ValueError):
    """The text is not a host; the message says what a host is."""


def checked_host(text: str) -> str:
    """Return a host as it is compared. Raises InvalidHost, also for a port, scheme or pattern."""
    if not _NAME.fullmatch(text) and not _is_address(text):
        raise InvalidHost(
            f"{text}: a host is a name in lower case or an address (IPv6 in brackets), without port"
        )
    return text


class TrustedHostsMiddleware:
    """`app` for requests with one `Host` in `names`, with any port; 421 for all other requests.

    With `addresses` any IP address passes, too: probes and scrapers call a pod by its address, and
    an address cannot be rebound. Starlette's TrustedHostMiddleware compares only the first of two
    `Host` headers, has no rule for addresses and answers 400 in plain text.
    """

    def __init__(self, app: ASGIApp, names: Collection[str], *, addresses: bool) -> None:
        """Raises InvalidHost."""
        self._app = app
        self._names = frozenset(checked_host(name) for name in names)
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not self._is_allowed(hosts[0]):
                error = HostNotAllowed(provided=shown(hosts[0] if hosts else ""))
                response = error_response(error, "other")
                request_id = b"x-request-id", request_id_of(scope).encode()
                response.raw_headers += [request_id, *FIXED_HEADERS]
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_allowed(self, host: str) -> bool:
        host_parts = _SPLIT.fullmatch(host)
        name = host_parts.group(1).lower().removesuffix(".") if host_parts else ""
        return name in self._names or (self._addresses and _is_address(name))


def _is_address(text: str) -> bool:
    try:
        if text.startswith("["):
            ipaddress.IPv6Address(text[1:-1])
            return text.endswith("]")
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True
