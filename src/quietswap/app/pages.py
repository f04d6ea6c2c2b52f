"""The operator's pages: is it ready, and its metrics."""

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST

from quietswap import observe
from quietswap.api.reply import Page, Reply
from quietswap.app import choices
from quietswap.app.parts import Parts
from quietswap.app.reach import Address, Reach, address_of
from quietswap.ports.outside import ChainDown, Clock
from quietswap.ports.stores import StoreDown


def operator_pages(parts: Parts, clock: Clock) -> Mapping[str, Page]:
    """Return /readyz and /metrics by path."""
    reach = _reach(parts, clock)

    async def ready() -> Reply:
        checks = await _checks(parts, reach)
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


async def _checks(parts: Parts, reach: Reach) -> dict[str, str]:
    """Return `ok` or the reason for each part the service cannot do without."""
    settings, outside = parts.settings, parts.outside
    database, node, away = await asyncio.gather(
        _outcome(parts.ping()), _outcome(outside.chain.head()), reach.away()
    )
    sources = [(one, choices.source_url(settings, one.name)) for one in outside.sources]
    urls = choices.relay_urls(settings)
    relays = [(one, urls[tier]) for tier, one in outside.relays.items()]
    return {
        "database": database,
        "node": node,
        "sources": _any_up(sources, away),
        "relay": _any_up(relays, away),
    }


def _reach(parts: Parts, clock: Clock) -> Reach:
    names = [source.name for source in parts.outside.sources]
    urls = [choices.source_url(parts.settings, name) for name in names]
    urls += choices.relay_urls(parts.settings).values()
    return Reach(map(address_of, urls), clock)


class _Circuit(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_up(self) -> bool: ...


def _any_up(parts: Sequence[tuple[_Circuit, str]], away: Collection[Address]) -> str:
    """Return `ok` unless none can be connected to and has answered requests lately.

    A pause ends by itself, so that a service without requests does not stay unready.
    """
    lost = [one.name for one, url in parts if address_of(url) in away]
    paused = [one.name for one, _ in parts if not one.is_up and one.name not in lost]
    if len(lost) + len(paused) < len(parts):
        return "ok"
    said = {"no connection": lost, "silent lately, and left alone for a while": paused}
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in said.items() if names)


async def _outcome(check: Awaitable[object]) -> str:
    try:
        await check
    except (ChainDown, StoreDown) as error:
        return str(error) or "no answer"
    return "ok"
