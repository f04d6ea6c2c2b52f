"""CORS (https://fetch.spec.whatwg.org/#http-cors-protocol) for listed origins only.

A web page that calls the API gives the API key to its visitors, so CORS is off by default.
Credentials are never allowed: the key is a header, and the API uses no cookie.
"""

import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        """Serve one ASGI connection."""
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
        """Add the CORS headers to the start of an answer."""
        if message["type"] == "http.response.start":
            more = [(b"vary", b"origin")]
            origin = request_headers.get("origin", "")
            if self.is_allowed_origin(origin):
                more += [(b"access-control-allow-origin", origin.encode("latin-1")), _EXPOSED]
            message["headers"] = [*message["headers"], *more]
        await send(message)
