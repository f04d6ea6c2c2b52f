"""The static files of the web page, from package data, with their content security policy."""

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from quietswap.api.openapi import docs_page
from quietswap.api.openapi import document as openapi_document
from quietswap.clients.client import ApiKey
from quietswap.operator.operators import Health
from quietswap.orders.statistics import Percentiles

# The operator's options of the web page, and the use cases of its sessions.


INCLUSION_DAYS = 7
RATE_PREFIX = "web:"
"""Of the rate window of a client address, for all requests of the page."""


@dataclass(frozen=True, slots=True)
class WebOptions:
    """`requests` of one client address in a rate window, and `sessions` that it may begin in a
    minute; `secure`: browsers reach it by TLS."""

    begin: Callable[[str], Awaitable[tuple[ApiKey, str]]]
    """Begin a session of a client address; return its key and its secret. Raises
    RateLimitExceeded."""
    renew: Callable[[ApiKey], Awaitable[ApiKey]]
    """Let a session end later; return its key."""
    health: Callable[[], Awaitable[Health]]
    """The checks of /readyz."""
    inclusion: Callable[[], Awaitable[Percentiles | None]]
    """Seconds to a block without a tip, of the last `INCLUSION_DAYS`; None without a record."""
    explorer_url: str
    quote_s: int
    """Seconds that a swap quote is valid."""
    requests: int
    sessions: int
    secure: bool


# The pages without authentication: the description of the interface and a liveness probe.


Page = Callable[[Request], Awaitable[Response]]
"""Answers GET without an API key."""

_SELF_CONTAINED = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def public_pages(*, docs: bool) -> Mapping[str, Page]:
    """Return the pages by path; `/healthz` says only that the process answers."""
    pages: dict[str, Page] = {"/healthz": _alive}
    if docs:
        pages["/openapi.json"] = _generated_page(_document)
        pages["/docs"] = _generated_page(_html, "text/html", _SELF_CONTAINED)
    return pages


async def _alive(_: Request) -> Response:
    return Response(b'{"ok":true,"data":{"alive":true}}', media_type="application/json")


@cache
def _document() -> bytes:
    return msgspec.json.encode(openapi_document.document())


@cache
def _html() -> bytes:
    return docs_page.page(msgspec.json.decode(_document())).encode()


def _generated_page(
    body: Callable[[], bytes],
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Page:
    """Return a page whose body is made at its first request, in a thread.

    The two documents take a fifth of a second: no start of a process waits for them.
    """

    async def page(_: Request) -> Response:
        made = await asyncio.to_thread(body)
        return Response(made, headers=headers, media_type=media_type)

    return page


_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "x-frame-options": "DENY",
}
"""Own scripts and styles only, and no frame around the page: a frame could hide what is signed."""
_FOREVER = "public, max-age=31536000, immutable"
"""For files whose name contains a hash of their content."""
_COMPARED = "no-cache"
"""The browser asks for each use whether its copy is still right."""


def web_pages(documents: Mapping[str, str]) -> Mapping[str, Page]:
    """Return GET pages by path: `documents` (path to HTML file), and each asset in `/assets/`."""
    folder = resources.files("quietswap.web").joinpath("assets")
    hashed = [file for file in folder.iterdir() if not file.name.endswith((".html", ".br"))]
    pages = {f"/assets/{file.name}": _page(folder, file.name, _FOREVER) for file in hashed}
    pages |= {path: _page(folder, name, _COMPARED) for path, name in documents.items()}
    return pages


def _page(folder: Traversable, name: str, caching: str) -> Page:
    """Return a page with a file, compressed as the browser accepts it."""
    plain = folder.joinpath(name).read_bytes()
    brotli = folder.joinpath(f"{name}.br")
    encoded = {"br": brotli.read_bytes()} if brotli.is_file() else {}
    encoded["gzip"] = gzip.compress(plain, mtime=0)
    headers = {
        **SECURITY_HEADERS,
        "cache-control": caching,
        "etag": f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"',
        "vary": "accept-encoding",
    }
    media_type = _TYPES[name.rpartition(".")[2]]

    async def page(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        accepted = _accepted(request.headers.get("accept-encoding", ""))
        for coding, body in encoded.items():
            if coding in accepted:
                coded = {**headers, "content-encoding": coding}
                return Response(body, headers=coded, media_type=media_type)
        return Response(plain, headers=headers, media_type=media_type)

    return page


def _accepted(header: str) -> frozenset[str]:
    """Return the codings that an Accept-Encoding header names, without those of quality 0."""
    parts = (part.strip().lower().partition(";") for part in header.split(","))
    refused = ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return frozenset(
        coding.strip() for coding, _, quality in parts if quality.strip() not in refused
    )
