"""The static files of the web page, from package data, with their content security policy."""

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.service.server import docs_page, openapi

Page = Callable[[Request], Awaitable[Response]]
"""Answers GET without an API key."""


def public_pages(*, docs: bool) -> Mapping[str, Page]:
    """Return the pages by path; `/healthz` says only that the process answers."""
    pages: dict[str, Page] = {"/healthz": _alive}
    if docs:
        pages["/openapi.json"] = _generated_page(_document)
        pages["/docs"] = _generated_page(_html)
    return pages


async def _alive(_: Request) -> Response:
    return Response(b'{"ok":true,"data":{"alive":true}}', media_type="application/json")


@cache
def _document() -> "_Content":
    return _Content(msgspec.json.encode(openapi.document()), "application/json", {})


@cache
def _html() -> "_Content":
    made = docs_page.page(msgspec.json.decode(_document().plain)).encode()
    headers = SECURITY_HEADERS | {"content-security-policy": docs_page.POLICY}
    return _Content(made, _TYPES["html"], headers | {"cache-control": _COMPARED})


def _generated_page(content: "Callable[[], _Content]") -> Page:
    """Return a page whose content is made at its first request, in a thread.

    The two documents take a fifth of a second: no start of a process waits for them.
    """

    async def page(request: Request) -> Response:
        return await (await asyncio.to_thread(content)).answer(request)

    return page


_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
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
    folder = resources.files("quietswap.service.web").joinpath("assets")
    hashed = [file for file in folder.iterdir() if not file.name.endswith((".html", ".br"))]
    pages = {f"/assets/{file.name}": _page(folder, file.name, _FOREVER) for file in hashed}
    pages |= {path: _page(folder, name, _COMPARED) for path, name in documents.items()}
    return pages


def lost_page(otherwise: ASGIApp) -> ASGIApp:
    """Answer a browser at a path that does not exist with a page, everybody else by `otherwise`."""
    file = resources.files("quietswap.service.web").joinpath("assets", "lost.html")
    page = Response(file.read_bytes(), 404, SECURITY_HEADERS, _TYPES["html"])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_person = is_read and "text/html" in _accepted(Headers(scope=scope).get("accept", ""))
        await (page if is_person else otherwise)(scope, receive, send)

    return app


class _Content:
    """What GET of a page answers, compressed as the browser accepts it."""

    def __init__(
        self, plain: bytes, media_type: str, headers: Mapping[str, str], brotli: bytes | None = None
    ) -> None:
        self.plain = plain
        self._encoded = ({} if brotli is None else {"br": brotli}) | {
            "gzip": gzip.compress(plain, mtime=0)
        }
        self._media_type = media_type
        etag = f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"'
        self._headers = {**headers, "etag": etag, "vary": "accept-encoding"}

    async def answer(self, request: Request) -> Response:
        headers = self._headers
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        accepted = _accepted(request.headers.get("accept-encoding", ""))
        for coding, body in self._encoded.items():
            if coding in accepted:
                coded = {**headers, "content-encoding": coding}
                return Response(body, headers=coded, media_type=self._media_type)
        return Response(self.plain, headers=headers, media_type=self._media_type)


def _page(folder: Traversable, name: str, caching: str) -> Page:
    brotli = folder.joinpath(f"{name}.br")
    return _Content(
        folder.joinpath(name).read_bytes(),
        _TYPES[name.rpartition(".")[2]],
        {**SECURITY_HEADERS, "cache-control": caching},
        brotli.read_bytes() if brotli.is_file() else None,
    ).answer


def _accepted(header: str) -> frozenset[str]:
    """Return what an Accept or Accept-Encoding header names, without what has quality 0."""
    parts = (part.strip().lower().partition(";") for part in header.split(","))
    refused = ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return frozenset(name.strip() for name, _, quality in parts if quality.strip() not in refused)
