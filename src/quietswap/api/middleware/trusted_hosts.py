"""The names in `Host` that the API answers to: protection against DNS rebinding.

A web page can have its own name resolve to 127.0.0.1 and then reads, as its own origin, what
listens there. CORS does not help: for the browser it is the same origin. The request still has the
page's name in `Host`, so this name is compared.
"""

import ipaddress
import re
from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.api.middleware.error_handler import error_response
from quietswap.api.middleware.request_id import request_id_of
from quietswap.api.middleware.response_headers import FIXED_HEADERS
from quietswap.api.request_parsing.query_string import shown
from quietswap.domain.errors.http import HostNotAllowed

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


def is_loopback(host: str) -> bool:
    """Return whether a socket on `host` can be reached from the same machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            if len(given) != 1 or not self._is_allowed(given[0]):
                error = HostNotAllowed(provided=shown(given[0] if given else ""))
                response = error_response(error, "other")
                request_id = b"x-request-id", request_id_of(scope).encode()
                response.raw_headers += [request_id, *FIXED_HEADERS]
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_allowed(self, host: str) -> bool:
        found = _SPLIT.fullmatch(host)
        name = found.group(1).lower().removesuffix(".") if found else ""
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
