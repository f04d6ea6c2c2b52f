"""The static files of the web page, from package data, with their content security policy."""

import gzip
import hashlib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from quietswap.api.public_pages import Page

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
