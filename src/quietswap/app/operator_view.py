"""The operator view of one process: its use cases, and the background task that stores figures.

Figures are counted in memory and added to the database every few seconds, by every process. What a
process alone knows, such as its circuits, is in its report, which the view marks as that process's.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from quietswap import __version__, observe
from quietswap.adapters.audit_file import JsonAuditFile
from quietswap.api.operator.pages.clients import PAGE
from quietswap.api.operator.use_cases import OperatorOptions, OperatorUseCases
from quietswap.app.container import Container
from quietswap.app.operator_pages import tracker_role
from quietswap.app.order_ids import PREFIXES
from quietswap.app.token_factories import token_catalogue
from quietswap.app.web import is_local, is_secure, is_web_enabled
from quietswap.domain.client_limits import day_of
from quietswap.ports.clock import Clock
from quietswap.ports.operator_view import ClientRow, Health, ProcessReport
from quietswap.ports.stores import RateStore, StoreUnavailable
from quietswap.services.operator.act import ActionRefused, ActionUnrecorded, OperatorActions
from quietswap.services.operator.find_orders import FindOrders
from quietswap.services.operator.read_figures import ReadFigures
from quietswap.services.operator.sessions import OperatorSessions, form_token
from quietswap.services.turns import guarded
from quietswap.settings.schema import Settings
from quietswap.storage.factory import Storage
from quietswap.storage.stores.operator_view import SqlOperatorSearch

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
) -> tuple[OperatorUseCases, OperatorOptions]:
    """Return what the operator view needs. `health` is the one of /readyz."""
    settings = parts.settings
    options = OperatorOptions(
        sources=tuple(source.name for source in parts.outside.sources),
        explorer_url=settings.tracking.explorer_url.rstrip("/"),
        session_s=settings.operator.session_s,
        logins_per_minute=settings.operator.logins_per_minute,
        secure=is_secure(settings.server),
        tokens=token_catalogue(settings),
    )
    use_cases = operator_use_cases(
        parts.storage,
        clock,
        options,
        health,
        audit_file=settings.observe.audit_file,
        guesses=parts.use.guesses,
        is_stopping=lambda: parts.feed.is_stopping,
    )
    return use_cases, options


def operator_use_cases(
    storage: Storage,
    clock: Clock,
    options: OperatorOptions,
    health: Callable[[], Awaitable[Health]],
    *,
    audit_file: str | None,
    guesses: RateStore,
    is_stopping: Callable[[], bool],
) -> OperatorUseCases:
    """Return the use cases of the operator view on a database."""
    search = SqlOperatorSearch(storage.database, PREFIXES)
    orders = FindOrders(search, storage.orders, storage.clients)
    figures = ReadFigures(storage.figures, clock)
    sessions = OperatorSessions(storage.operators, clock, lasts_s=options.session_s)
    actions = OperatorActions(
        storage.keys,
        storage.paused_sources,
        clock,
        sources=options.sources,
        audit_file=JsonAuditFile(audit_file),
    )

    async def clients(text: str, after: tuple[int, str] | None) -> Sequence[ClientRow]:
        day = day_of(clock.now_ms())
        if not text:
            return await search.clients(after, PAGE + 1, day)
        key = await search.key(text)
        owners = await storage.clients.find(key.client_id if key else text)
        return [await search.client(owner, day) for owner in owners[:PAGE]]

    return OperatorUseCases(
        log_in=sessions.log_in,
        session=sessions.find,
        log_out=sessions.log_out,
        form_token=form_token,
        find_orders=orders,
        order=orders.diary,
        open_orders=search.open_orders,
        figures=figures,
        reports=figures.reports,
        changes=figures.changes,
        clients=clients,
        key=search.key,
        paused=storage.paused_sources.list,
        health=health,
        audit=lambda limit: storage.audit.list(0, limit),
        revoke_key=actions.revoke_key,
        pause_source=actions.pause_source,
        resume_source=actions.resume_source,
        refused=ActionRefused,
        unrecorded=ActionUnrecorded,
        guesses=guesses,
        is_stopping=is_stopping,
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
            await self.parts.outside.rpc.survey()
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

    keeping = asyncio.create_task(keep())

    async def stop() -> None:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await store()
        observe.forget_figures()

    stack.push_async_callback(stop)
