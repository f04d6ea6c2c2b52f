"""The operator's pages: is it ready, and its metrics."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

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
        told = {"ok": status == 200, "checks": checks, "tracker": _role(parts)}
        return Reply(status, msgspec.json.encode(told))

    async def metrics() -> Reply:
        # rendering takes milliseconds, so it leaves the loop to the requests
        body = await asyncio.to_thread(observe.exposition)
        return Reply(200, body, CONTENT_TYPE_LATEST.encode())

    return {"/readyz": ready, "/metrics": metrics}


def _role(parts: Parts) -> str:
    """Return what this process has to do with following orders."""
    if not parts.settings.tracking.enabled:
        return "off"
    return "leading" if parts.storage.leadership.is_held else "standing by"


async def _checks(parts: Parts) -> dict[str, str]:
    """Return `ok` or the reason for each part the service cannot do without."""
    outside = parts.outside
    database, node = await asyncio.gather(_outcome(parts.ping()), _outcome(outside.chain.head()))
    return {
        "database": database,
        "node": node,
        "sources": _any_up(outside.sources),
        "relay": _any_up(list(outside.relays.values())),
    }


class _Circuit(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_up(self) -> bool: ...


def _any_up(parts: Sequence[_Circuit]) -> str:
    """Return `ok` unless all were silent lately. Nobody is asked for this: requests have shown it.

    A pause ends by itself, so that a service without requests does not stay unready.
    """
    if any(part.is_up for part in parts):
        return "ok"
    return f"silent lately, and left alone for a while: {', '.join(part.name for part in parts)}"


async def _outcome(check: Awaitable[object]) -> str:
    try:
        await check
    except (ChainDown, StoreDown) as error:
        return str(error) or "no answer"
    return "ok"
