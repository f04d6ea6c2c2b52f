"""Readiness, the gauges of it, and the pages /readyz and /metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.operator.operators import Health
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.clients.failures import guarded
from quietswap.service.quoting.sources import Source
from quietswap.service.relays.probe import ProbeRelays
from quietswap.service.relays.relay import Relay
from quietswap.service.server import factories
from quietswap.service.server.checks import try_quote
from quietswap.service.server.connectivity import ConnectivityProbe, TcpAddress, address_of
from quietswap.service.server.container import Container, ExternalServices
from quietswap.service.server.shutdown import run_until_end
from quietswap.service.server.web_assets import Page
from quietswap.service.storage.rate_limits import SharedOrOwnShare


def readiness(parts: Container, clock: Clock) -> Callable[[], Awaitable[Health]]:
    """Return the checks of this process, for /readyz and for the operator view."""
    reach = _reach(parts, clock)
    probe = ProbeRelays(parts.outside.relays.values(), clock)
    trial = _Trial(parts.outside, clock)

    async def health() -> Health:
        checks, trial_fault, notices = await asyncio.gather(
            _checks(parts, reach, probe), trial(), _notices(parts)
        )
        warnings = _warnings(parts) | notices
        if isinstance(trial_fault, NodeUnavailable):
            checks["node"] = str(trial_fault) if checks["node"] == "ok" else checks["node"]
        elif trial_fault is not None:
            warnings["simulation"] = trial_fault
        return Health(checks, tracker_role(parts), warnings)

    return health


WITHIN_S = 5.0
"""The node's part of /readyz. The probe of a replica waits 8 s (deploy/), and several nodes that
hang take longer: only the database may take a replica out of service."""
T = TypeVar("T")


async def _in_time(work: Awaitable[T]) -> T:
    """Return the result of `work`. Raises NodeUnavailable after `WITHIN_S`."""
    try:
        async with asyncio.timeout(WITHIN_S):
            return await work
    except TimeoutError:
        raise NodeUnavailable(f"no answer in {WITHIN_S:g} s") from None


async def _notices(parts: Container) -> dict[str, str]:
    """Return what the operator should mend at the node; nothing while it is away."""
    try:
        return await _in_time(parts.outside.chain.warnings())
    except NodeUnavailable:  # `checks` has it
        return {}


_WATCH_S = 15.0
"""A Prometheus reads as often, and a trial costs the node three round trips."""


def start_watch(
    parts: Container,
    health: Callable[[], Awaitable[Health]],
    clock: Clock,
    stack: AsyncExitStack,
) -> None:
    """Keep the gauges of /readyz and the clock's, and how many processes share a limit, current."""

    async def look() -> None:
        storage = parts.storage
        observe.dependencies_checked((await health()).checks)
        processes = max(await storage.serving_processes(), parts.settings.server.workers)
        for share in storage.shares:
            share.processes = processes
        ahead_ms = await storage.clock_ahead_ms(clock)
        if ahead_ms is not None:
            observe.clock_compared(ahead_ms)

    async def watch() -> None:
        while True:
            await guarded("watch", look, lambda _: None)
            await clock.sleep(_WATCH_S)

    run_until_end(stack, watch())


_TRIAL_S = 5.0
"""A trial is three round trips: a probe that asks more often gets the last result."""


class _Trial:
    """What a quote would meet at the node: an error, why it could not simulate, or None."""

    def __init__(self, outside: ExternalServices, clock: Clock) -> None:
        self._outside = outside
        self._clock = clock
        self._in_flight: SingleFlight[None, str | NodeUnavailable | None] = SingleFlight()
        self._last: tuple[str | NodeUnavailable | None, float] | None = None

    async def __call__(self) -> str | NodeUnavailable | None:
        if self._last is not None and self._clock.monotonic() - self._last[1] < _TRIAL_S:
            return self._last[0]
        try:
            return await _in_time(self._in_flight(None, self._ask))
        except NodeUnavailable as late:  # three round trips: the node may answer each
            return str(late)

    async def _ask(self) -> str | NodeUnavailable | None:
        fault: str | NodeUnavailable | None
        try:
            fault = await try_quote(self._outside, self._clock)
        except NodeUnavailable as error:
            fault = error
        if fault is None:
            self._last = None, self._clock.monotonic()
        return fault


def operator_pages(health: Callable[[], Awaitable[Health]]) -> Mapping[str, Page]:
    """Return /readyz and /metrics by path."""

    async def ready(_: Request) -> Response:
        health_now = await health()
        report = {
            "ok": health_now.is_ready,
            "checks": health_now.checks,
            "tracker": health_now.tracker,
        }
        if health_now.warnings:
            report["warnings"] = health_now.warnings
        status = 200 if health_now.is_ready else 503
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
    """Return by relay that it does not answer, or what it answered instead of taking a transaction,
    in its words.
    """
    warnings = {}
    for relay in parts.outside.relays.values():
        if relay.silence:
            warnings[f"relay {relay.name}"] = f"it does not answer: {relay.silence}"
        elif relay.last_miss:
            warnings[f"relay {relay.name}"] = relay.last_miss[1]
    return warnings


async def _checks(parts: Container, reach: ConnectivityProbe, probe: ProbeRelays) -> dict[str, str]:
    """Return `ok` or the reason for each dependency. Only the database decides about traffic."""
    settings, outside, shares = parts.settings, parts.outside, parts.storage.shares
    database, node, unreachable, _, _ = await asyncio.gather(
        _outcome(parts.ping()),
        _outcome(_in_time(outside.chain.head())),
        reach.unreachable(),
        probe(),
        asyncio.gather(*(share.probe() for share in shares)),
    )
    sources = [(one, factories.source_url(settings, one.name)) for one in outside.sources]
    checks = {
        "database": database,
        "node": node,
        "sources": _any_up(sources, unreachable),
        "relay": _relays(outside.relays.values()),
    }
    if shares:
        checks["rates"] = next(filter(None, map(_share_taken, shares)), "ok")
    return checks


def _share_taken(share: SharedOrOwnShare) -> str | None:
    if share.fault is None:
        return None
    part = "all" if share.processes == 1 else f"one {share.processes}th"
    return f"{share.fault}; this process allows {part} of each limit"


def _reach(parts: Container, clock: Clock) -> ConnectivityProbe:
    names = [source.name for source in parts.outside.sources]
    urls = [factories.source_url(parts.settings, name) for name in names]
    return ConnectivityProbe(map(address_of, urls), clock)


def _any_up(parts: Sequence[tuple[Source, str]], unreachable: Collection[TcpAddress]) -> str:
    """Return `ok` if one of them accepts connections and its circuit breaker is closed.

    A circuit breaker closes by time, so that a service without requests does not stay unready.
    """
    lost = [one.name for one, url in parts if address_of(url) in unreachable]
    paused = [one.name for one, _ in parts if not one.is_up and one.name not in lost]
    if len(lost) + len(paused) < len(parts):
        return "ok"
    fault_hosts = {"no connection": lost, "circuit open after timeouts": paused}
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in fault_hosts.items() if names)


def _relays(relays: Collection[Relay]) -> str:
    """Return `ok` if a quote can name one that answers; else why not, and what each said last."""
    if any(relay.is_answering for relay in relays):
        return "ok"
    names: dict[str, list[str]] = {}
    for relay in relays:
        names.setdefault(relay.silence or "circuit open after timeouts", []).append(relay.name)
    outages = [f"{reason}: {', '.join(silent)}" for reason, silent in names.items()]
    last_misses = [f"{relay.name}: {relay.last_miss[1]}" for relay in relays if relay.last_miss]
    return "; ".join([*outages, *last_misses])


async def _outcome(check: Awaitable[object]) -> str:
    try:
        await check
    except (NodeUnavailable, StoreUnavailable) as error:
        return str(error) or "no answer"
    return "ok"
