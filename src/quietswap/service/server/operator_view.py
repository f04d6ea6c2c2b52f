"""The operator view of one process: its use cases, and the background task that stores figures.

Figures are counted in memory and added to the database every few seconds, by every process. What
a process alone knows, such as its circuits, is in its report, which the view marks as that
process's.
"""

import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from quietswap import __version__
from quietswap.rules.operator.operators import Health, ProcessReport
from quietswap.rules.orders.stores import RateStore, StoreUnavailable
from quietswap.rules.time_units import DAY_MS
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.clients.failures import guarded
from quietswap.service.operator.act import OperatorActions
from quietswap.service.operator.audit_file import AuditFile
from quietswap.service.operator.find_orders import FindOrders
from quietswap.service.operator.operator_parts import OperatorParts
from quietswap.service.operator.page import OperatorOptions
from quietswap.service.operator.read_figures import ReadFigures
from quietswap.service.operator.sessions import OperatorSessions
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.server import token_catalogue
from quietswap.service.server.container import Container
from quietswap.service.server.readiness import tracker_role
from quietswap.service.server.shutdown import run_until_end
from quietswap.service.server.web import is_local, is_secure, is_web_enabled
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.operator_view import OperatorSearch

_STORE_EVERY_S = 2.0
_REPORT_EVERY_S = 10.0
"""A process without news says so often that it runs."""
_PURGE_EVERY_S = 3600.0


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
        tokens=token_catalogue.token_catalogue(settings),
    )
    parts_of_view = operator_parts(
        parts.storage,
        clock,
        options,
        health,
        audit_file=settings.observe.audit_file,
        guesses=parts.use.guesses,
        is_stopping=lambda: parts.feed.is_stopping,
        inclusion=parts.use.inclusion,
    )
    return parts_of_view, options


def operator_parts(
    storage: Storage,
    clock: Clock,
    options: OperatorOptions,
    health: Callable[[], Awaitable[Health]],
    *,
    audit_file: str | None,
    guesses: RateStore,
    is_stopping: Callable[[], bool],
    inclusion: GetInclusion,
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
        inclusion,
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
    kept_ms = parts.settings.operator.figures_kept_days * DAY_MS

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
