"""The pages without authentication: the description of the interface and a liveness probe."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from quietswap.api.openapi import docs_page
from quietswap.api.openapi import document as openapi_document

Page = Callable[[Request], Awaitable[Response]]
"""Answers GET without an API key."""

_SELF_CONTAINED = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def public_pages(*, docs: bool) -> Mapping[str, Page]:
    """Return the pages by path; `/healthz` says only that the process answers."""
    pages: dict[str, Page] = {"/healthz": _alive}
    if docs:
        pages["/openapi.json"] = _page(_document)
        pages["/docs"] = _page(_html, "text/html", _SELF_CONTAINED)
    return pages


async def _alive(_: Request) -> Response:
    return Response(b'{"ok":true,"data":{"alive":true}}', media_type="application/json")


@cache
def _document() -> bytes:
    return msgspec.json.encode(openapi_document.document())


@cache
def _html() -> bytes:
    return docs_page.page(msgspec.json.decode(_document())).encode()


def _page(
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
