"""The pages anyone may read: the interface's description and a sign of life."""

from collections.abc import Mapping

from quietswap.api.reply import JSON, Page, Reply


def fixed(reply: Reply) -> Page:
    """Return a page that always says the same."""

    async def page() -> Reply:
        return reply

    return page


def public_pages(*, docs: bool) -> Mapping[str, Page]:
    """Return pages by path: `/healthz` says only that the process answers."""
    return {"/healthz": fixed(Reply(200, b'{"ok":true,"data":{"alive":true}}', JSON))}
