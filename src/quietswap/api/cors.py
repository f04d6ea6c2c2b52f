"""Cross-origin requests (https://fetch.spec.whatwg.org/#http-cors-protocol), for listed pages only.

A page that calls the API from a browser shows its users the API key, so this is off by default.
Credentials are never allowed: the key is a header, and no cookie means anything here.
"""

import re
from collections.abc import Collection

from quietswap.api.asgi import App, Message, Receive, Scope, Send
from quietswap.api.reply import HeaderList

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_PREFLIGHT: HeaderList = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type, x-api-key, x-request-id, traceparent"),
    (b"access-control-max-age", b"7200"),
    (b"content-length", b"0"),
)
_EXPOSED = (
    b"access-control-expose-headers",
    b"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id",
)
_VARY = (b"vary", b"origin")


class BadOrigin(ValueError):
    """What was given is no origin; the message says what one is."""


def checked_origin(text: str) -> str:
    """Return an origin as browsers send it. Raises BadOrigin, also for `*`: list each page's."""
    if not _ORIGIN.fullmatch(text):
        raise BadOrigin(f"{text}: an origin is http(s)://host or http(s)://host:port, lower case")
    return text


class Cors:
    """`app` for the pages of `origins`; for everybody else exactly `app`."""

    def __init__(self, app: App, origins: Collection[str]) -> None:
        """Raises BadOrigin."""
        self._app = app
        self._origins = frozenset(checked_origin(origin).encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin: bytes = headers.get(b"origin", b"")
        mine = ((b"access-control-allow-origin", origin),) if origin in self._origins else ()
        if mine and scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            answer = [*mine, _VARY, *_PREFLIGHT]
            await send({"type": "http.response.start", "status": 204, "headers": answer})
            await send({"type": "http.response.body", "body": b""})
            return
        more = [*mine, _EXPOSED, _VARY] if mine else [_VARY]

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, with_headers)
