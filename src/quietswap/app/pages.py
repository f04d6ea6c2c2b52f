"""The operator's pages: is it ready, and its metrics."""

import asyncio
from collections.abc import Awaitable, Mapping

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST

from quietswap import observe
from quietswap.api.reply import Page, Reply
from quietswap.app.parts import Parts
from quietswap.ports.outside import ChainDown
from quietswap.ports.stores import StoreDown


def operator_pages(parts: Parts) -> Mapping[str, Page]:
    """Return /readyz and /metrics by path."""

    async def ready() -> Reply:
        checks = await _checks(parts)
        status = 200 if all(check == "ok" for check in checks.values()) else 503
        return Reply(status, msgspec.json.encode({"ok": status == 200, "checks": checks}))

    async def metrics() -> Reply:
        # rendering takes milliseconds, so it leaves the loop to the requests
        body = await asyncio.to_thread(observe.exposition)
        return Reply(200, body, CONTENT_TYPE_LATEST.encode())

    return {"/readyz": ready, "/metrics": metrics}


async def _checks(parts: Parts) -> dict[str, str]:
    """Return `ok` or the reason for each part the service cannot do without."""
    outside = parts.outside
    database, node = await asyncio.gather(
        _outcome(parts.storage.ping()), _outcome(outside.chain.head())
    )
    sources = "ok" if any(source.is_up for source in outside.sources) else "every source is paused"
    relay = "ok" if any(relay.is_up for relay in outside.relays.values()) else "no relay is up"
    return {"database": database, "node": node, "sources": sources, "relay": relay}


async def _outcome(check: Awaitable[object]) -> str:
    try:
        await check
    except (ChainDown, StoreDown) as error:
        return str(error) or "no answer"
    return "ok"
