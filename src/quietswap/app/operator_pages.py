"""The operator's pages: readiness and metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from quietswap import observe
from quietswap.api.public_pages import Page
from quietswap.app import factories
from quietswap.app.connectivity import Address, ConnectivityProbe, address_of
from quietswap.app.container import Container
from quietswap.ports.chain import NodeUnavailable
from quietswap.ports.clock import Clock
from quietswap.ports.operator_view import Health
from quietswap.ports.relay import Relay
from quietswap.ports.stores import StoreUnavailable


def readiness(parts: Container, clock: Clock) -> Callable[[], Awaitable[Health]]:
    """Return the checks of this process, for /readyz and for the operator view."""
    reach = _reach(parts, clock)

    async def health() -> Health:
        checks = await _checks(parts, reach)
        return Health(checks, tracker_role(parts), _warnings(parts))

    return health


def operator_pages(health: Callable[[], Awaitable[Health]]) -> Mapping[str, Page]:
    """Return /readyz and /metrics by path."""

    async def ready(_: Request) -> Response:
        found = await health()
        report = {"ok": found.is_ready, "checks": found.checks, "tracker": found.tracker}
        if found.warnings:
            report["warnings"] = found.warnings
        status = 200 if found.is_ready else 503
        return Response(msgspec.json.encode(report), status, media_type="application/json")

    async def metrics(_: Request) -> Response:
        # rendering takes milliseconds: a thread keeps the event loop free
        body = await asyncio.to_thread(observe.exposition)
        return Response(body, media_type=CONTENT_TYPE_LATEST)

    return {"/readyz": ready, "/metrics": metrics}


def tracker_role(parts: Container) -> str:
    """Return the part of this process in order tracking: off, leading or standing by."""
    if not parts.settings.tracking.enabled:
        return "off"
    return "leading" if parts.storage.leadership.is_held else "standing by"


def _warnings(parts: Container) -> dict[str, str]:
    """Return by relay what it answered instead of taking a transaction, in its words."""
    relays = parts.outside.relays.values()
    return {f"relay {one.name}": one.last_miss[1] for one in relays if one.last_miss}


async def _checks(parts: Container, reach: ConnectivityProbe) -> dict[str, str]:
    """Return `ok` or the reason for each dependency without which the service cannot work."""
    settings, outside = parts.settings, parts.outside
    database, node, unreachable = await asyncio.gather(
        _outcome(parts.ping()), _outcome(outside.chain.head()), reach.unreachable()
    )
    sources = [(one, factories.source_url(settings, one.name)) for one in outside.sources]
    urls = factories.relay_urls(settings)
    relays = [(one, urls[tier]) for tier, one in outside.relays.items()]
    return {
        "database": database,
        "node": node,
        "sources": _any_up(sources, unreachable),
        "relay": _relays(relays, unreachable),
    }


def _reach(parts: Container, clock: Clock) -> ConnectivityProbe:
    names = [source.name for source in parts.outside.sources]
    urls = [factories.source_url(parts.settings, name) for name in names]
    urls += factories.relay_urls(parts.settings).values()
    return ConnectivityProbe(map(address_of, urls), clock)


class _Circuit(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_up(self) -> bool: ...


def _any_up(parts: Sequence[tuple[_Circuit, str]], unreachable: Collection[Address]) -> str:
    """Return `ok` if one of them accepts connections and its circuit breaker is closed.

    A circuit breaker closes by time, so that a service without requests does not stay unready.
    """
    lost = [one.name for one, url in parts if address_of(url) in unreachable]
    paused = [one.name for one, _ in parts if not one.is_up and one.name not in lost]
    if len(lost) + len(paused) < len(parts):
        return "ok"
    said = {"no connection": lost, "silent lately, and left alone for a while": paused}
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in said.items() if names)


def _relays(parts: Sequence[tuple[Relay, str]], unreachable: Collection[Address]) -> str:
    """Return the same, with what each relay said last."""
    found = _any_up(parts, unreachable)
    said = [f"{one.name}: {one.last_miss[1]}" for one, _ in parts if one.last_miss]
    return found if found == "ok" else "; ".join([found, *said])


async def _outcome(check: Awaitable[object]) -> str:
    try:
        await check
    except (NodeUnavailable, StoreUnavailable) as error:
        return str(error) or "no answer"
    return "ok"
