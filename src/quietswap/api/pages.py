"""The pages anyone may read: the interface's description and a sign of life."""

from collections.abc import Mapping

import msgspec

from quietswap.api import docs_page, openapi
from quietswap.api.reply import HTML, Page, Reply

_ALIVE = Reply(200, b'{"ok":true,"data":{"alive":true}}')
_SELF_CONTAINED = ((b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),)


def fixed(reply: Reply) -> Page:
    """Return a page that always says the same."""

    async def page() -> Reply:
        return reply

    return page


def public_pages(*, docs: bool) -> Mapping[str, Page]:
    """Return pages by path; `/healthz` says only that the process answers."""
    pages = {"/healthz": fixed(_ALIVE)}
    if docs:
        document = openapi.document()
        written = Reply(200, docs_page.page(document).encode(), HTML, _SELF_CONTAINED)
        pages["/openapi.json"] = fixed(Reply(200, msgspec.json.encode(document)))
        pages["/docs"] = fixed(written)
    return pages
