"""The operator's pages: readiness and metrics."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from quietswap import __version__
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.operator.operators import Health, ProcessReport
from quietswap.rules.orders.stores import RateStore, StoreUnavailable
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.clients.failures import guarded
from quietswap.service.operator.act import OperatorActions, OperatorParts
from quietswap.service.operator.audit_file import AuditFile
from quietswap.service.operator.find_orders import FindOrders
from quietswap.service.operator.page import OperatorOptions
from quietswap.service.operator.read_figures import ReadFigures
from quietswap.service.operator.sessions import OperatorSessions
from quietswap.service.quoting.sources import Source
from quietswap.service.relays.relay import Relay
from quietswap.service.server import factories
from quietswap.service.server.checks import ConnectivityProbe, TcpAddress, address_of, try_quote
from quietswap.service.server.container import Container, ExternalServices
from quietswap.service.server.shutdown import run_until_end
from quietswap.service.server.web import is_local, is_secure, is_web_enabled
from quietswap.service.server.web_assets import Page
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.operator_view import OperatorSearch
from quietswap.service.storage.rate_limits import SharedOrOwnShare


def readiness(parts: Container, clock: Clock) -> Callable[[], Awaitable[Health]]:
    """Return the checks of this process, for /readyz and for the operator view."""
    reach = _reach(parts, clock)

    trial = _Trial(parts.outside, clock)

    async def health() -> Health:
        checks, said = await asyncio.gather(_checks(parts, reach), trial())
        warnings = _warnings(parts)
        with suppress(NodeUnavailable):  # `checks` has it
            warnings |= await parts.outside.chain.warnings()
        if isinstance(said, NodeUnavailable):
            checks["node"] = str(said) if checks["node"] == "ok" else checks["node"]
        elif said is not None:
            warnings["simulation"] = said
        return Health(checks, tracker_role(parts), warnings)

    return health


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
        asked_ms = clock.now_ms()
        answered_ms = await storage.clock_ms()
        if answered_ms is not None:
            observe.clock_compared((asked_ms + clock.now_ms()) // 2 - answered_ms)

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
        return await self._in_flight(None, self._ask)

    async def _ask(self) -> str | NodeUnavailable | None:
        found: str | NodeUnavailable | None
        try:
            found = await try_quote(self._outside, self._clock)
        except NodeUnavailable as error:
            found = error
        if found is None:
            self._last = None, self._clock.monotonic()
        return found


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
    """Return `ok` or the reason for each dependency. Only the database decides about traffic."""
    settings, outside = parts.settings, parts.outside
    database, node, unreachable = await asyncio.gather(
        _outcome(parts.ping()), _outcome(outside.chain.head()), reach.unreachable()
    )
    sources = [(one, factories.source_url(settings, one.name)) for one in outside.sources]
    urls = factories.relay_urls(settings)
    relays = [(one, urls[tier]) for tier, one in outside.relays.items()]
    checks = {
        "database": database,
        "node": node,
        "sources": _any_up(sources, unreachable),
        "relay": _relays(relays, unreachable),
    }
    shares = parts.storage.shares
    await asyncio.gather(*(share.probe() for share in shares))
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
    urls += factories.relay_urls(parts.settings).values()
    return ConnectivityProbe(map(address_of, urls), clock)


def _any_up(
    parts: Sequence[tuple[Source | Relay, str]], unreachable: Collection[TcpAddress]
) -> str:
    """Return `ok` if one of them accepts connections and its circuit breaker is closed.

    A circuit breaker closes by time, so that a service without requests does not stay unready.
    """
    lost = [one.name for one, url in parts if address_of(url) in unreachable]
    paused = [one.name for one, _ in parts if not one.is_up and one.name not in lost]
    if len(lost) + len(paused) < len(parts):
        return "ok"
    said = {"no connection": lost, "circuit open after timeouts": paused}
    return "; ".join(f"{why}: {', '.join(names)}" for why, names in said.items() if names)


def _relays(parts: Sequence[tuple[Relay, str]], unreachable: Collection[TcpAddress]) -> str:
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


# The operator view of one process: its use cases, and the background task that stores figures.
#
# Figures are counted in memory and added to the database every few seconds, by every process. What
# a process alone knows, such as its circuits, is in its report, which the view marks as that
# process's.


_STORE_EVERY_S = 2.0
_REPORT_EVERY_S = 10.0
"""A process without news says so often that it runs."""
_PURGE_EVERY_S = 3600.0
_DAY_MS = 86_400_000


def is_enabled(settings: Settings) -> bool:
    """Return whether the operator view is served.

    By default only where this machine alone reaches it: a proxy may serve the whole world.
    """
    chosen = settings.operator.enabled
    return is_local(settings.server) if chosen is None else chosen


def operator_view(
    parts: Container, clock: Clock, health: Callable[[], Awaitable[Health]]
) -> tuple[OperatorParts, OperatorOptions]:
    """Return what the operator view needs. `health` is the one of /readyz."""
    settings = parts.settings
    options = OperatorOptions(
        sources=tuple(source.name for source in parts.outside.sources),
        explorer_url=settings.tracking.explorer_url.rstrip("/"),
        session_s=settings.operator.session_s,
        logins_per_minute=settings.operator.logins_per_minute,
        secure=is_secure(settings.server),
        tokens=factories.token_catalogue(settings),
    )
    found = operator_parts(
        parts.storage,
        clock,
        options,
        health,
        audit_file=settings.observe.audit_file,
        guesses=parts.use.guesses,
        is_stopping=lambda: parts.feed.is_stopping,
    )
    return found, options


def operator_parts(
    storage: Storage,
    clock: Clock,
    options: OperatorOptions,
    health: Callable[[], Awaitable[Health]],
    *,
    audit_file: str | None,
    guesses: RateStore,
    is_stopping: Callable[[], bool],
) -> OperatorParts:
    """Return what the operator view reads and does on a database."""
    search = OperatorSearch(storage.database)
    actions = OperatorActions(
        storage.keys,
        storage.paused_sources,
        clock,
        sources=options.sources,
        audit_file=AuditFile(audit_file),
    )
    return OperatorParts(
        search,
        OperatorSessions(storage.operators, clock, lasts_s=options.session_s),
        FindOrders(search, storage.orders, storage.clients),
        ReadFigures(storage.figures, clock),
        actions,
        storage.paused_sources,
        storage.audit,
        health,
        guesses,
        is_stopping,
    )


@dataclass(slots=True)
class _Reporter:
    """Stores what this process counted, and its state."""

    parts: Container
    clock: Clock
    started_ms: int
    changes: int = 0
    reported_at: float | None = None
    surveyed_at: float | None = None

    async def store(self) -> None:
        """Store figures and state, if there is news or the last report is old.

        Raises StoreUnavailable; the figures then wait for the next turn.
        """
        figures = observe.take_figures()
        now = self.clock.monotonic()
        is_due = self.reported_at is None or now - self.reported_at >= _REPORT_EVERY_S
        if not figures and not is_due:
            return
        if self.surveyed_at is None or now - self.surveyed_at >= _REPORT_EVERY_S:
            self.surveyed_at = now  # nothing else reads the height of a single node
            await self.parts.outside.rpc.probe()
        self.changes += sum(figures.values()) or 1  # a page's figures may be seconds old
        report = ProcessReport(
            f"{socket.gethostname()}:{os.getpid()}", self.clock.now_ms(), self.changes, self.state()
        )
        try:
            await self.parts.storage.figures.record(figures, report)
        except StoreUnavailable:
            observe.return_figures(figures)
            raise
        self.reported_at = now

    def state(self) -> dict[str, Any]:
        """Return what only this process knows, as JSON values."""
        outside = self.parts.outside
        now = self.clock.now_ms()
        misses = {one.name: one.last_miss for one in outside.sources}
        misses |= {one.name: one.last_miss for one in outside.relays.values()}
        return {
            "version": __version__,
            "startedAt": self.started_ms,
            "tracker": tracker_role(self.parts),
            "sources": {source.name: source.circuit_state for source in outside.sources},
            "misses": {name: miss for name, miss in misses.items() if miss},
            "relays": {one.name: _circuit(one.is_up) for one in outside.relays.values()},
            "nodes": [
                {
                    "name": node.name,
                    "height": node.height,
                    "readAt": None if node.height is None else now - round(node.age_s * 1000),
                    "lags": node.lags,
                    "circuit": _circuit(not node.is_paused),
                }
                for node in outside.rpc.nodes()
            ],
        }


def _circuit(is_closed: bool) -> str:
    return "closed" if is_closed else "open"


def start_figures(parts: Container, clock: Clock, stack: AsyncExitStack) -> None:
    """Count figures and store them until the end of `stack`, if the view or the page is served."""
    if not (is_enabled(parts.settings) or is_web_enabled(parts.settings)):
        return
    observe.keep_figures()
    reporter = _Reporter(parts, clock, clock.now_ms())
    kept_ms = parts.settings.operator.figures_kept_days * _DAY_MS

    async def store() -> None:
        await guarded("figures", reporter.store, observe.figures_unstored)

    async def purge() -> None:
        await parts.storage.figures.purge(clock.now_ms() - kept_ms)

    async def keep() -> None:
        purge_at = clock.monotonic()
        while True:
            await store()
            if clock.monotonic() >= purge_at:
                purge_at = clock.monotonic() + _PURGE_EVERY_S
                await guarded("figures", purge, observe.figures_unstored)
            await clock.sleep(_STORE_EVERY_S)

    async def end() -> None:
        await store()
        observe.forget_figures()

    run_until_end(stack, keep(), end)
