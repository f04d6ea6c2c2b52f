"""Which page a path shows, and which action a posted form takes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quietswap.clock import Clock
from quietswap.operator.page import Page, PageRequest
from quietswap.operator.pages import clients, health, orders, relay, sources
from quietswap.operator.pages import health as node
from quietswap.operator.pages.clients import (
    pause_source_page,
    refused_page,
    resume_source_page,
    revoke_key_page,
    unrecorded_page,
)
from quietswap.operator.use_cases import OperatorOptions, OperatorUseCases

HOURS = (6, 24, 168)
"""Lengths of time that can be chosen."""
_DAY_H = 24
_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class Views:
    """`show` returns a page, `act` the path to go to after an action."""

    use_cases: OperatorUseCases
    options: OperatorOptions
    clock: Clock

    async def show(self, request: PageRequest) -> Page | None:
        """Return the page of a path; None if there is none. Raises StoreUnavailable."""
        pages: dict[str, Callable[[PageRequest], Awaitable[Page]]] = {
            "": self._overview,
            "/orders": self._orders,
            "/sources": self._sources,
            "/relay": self._relay,
            "/node": self._node,
            "/clients": self._clients,
            "/health": self._health,
            "/audit": self._audit,
        }
        found = pages.get(request.path)
        if found is not None:
            return await found(request)
        match request.path.split("/")[1:]:
            case ["orders", order_id]:
                detail = await self.use_cases.order(order_id)
                return orders.order_page(detail, self.options) if detail else None
            case ["keys", key_id, "revoke"]:
                key = await self.use_cases.key(key_id)
                return revoke_key_page(request, key, self.clock.now_ms()) if key else None
            case ["sources", name, "pause"] if name in self.options.sources:
                return pause_source_page(request, name)
            case ["sources", name, "resume"] if name in self.options.sources:
                return resume_source_page(request, name)
        return None

    async def act(self, request: PageRequest) -> Page | str | None:
        """Do what a form asks, and return where to go; a page if it was refused.

        Raises StoreUnavailable.
        """
        use, operator = self.use_cases, request.session.operator
        try:
            match request.path.split("/")[1:]:
                case ["keys", key_id, "revoke"]:
                    await use.revoke_key(operator, key_id)
                    return "/audit"
                case ["sources", name, "pause"]:
                    await use.pause_source(operator, name, request.form.get("reason", ""))
                    return "/sources"
                case ["sources", name, "resume"]:
                    await use.resume_source(operator, name)
                    return "/sources"
        except use.refused as refusal:
            return refused_page("Not done", str(refusal), _back(request))
        except use.unrecorded as error:
            return unrecorded_page(str(error), _back(request))
        return None

    async def _overview(self, _: PageRequest) -> Page:
        use = self.use_cases
        return health.overview_page(
            *await asyncio.gather(
                use.health(),
                use.open_orders(),
                use.figures(health.OVERVIEW, _DAY_H),
                use.reports(),
                use.paused(),
            ),
            sources=self.options.sources,
        )

    async def _orders(self, request: PageRequest) -> Page:
        text = request.query.get("q", "").strip()[:200]
        place = orders.place_of(request.query.get("after", ""))
        return orders.orders_page(text, await self.use_cases.find_orders(text, place))

    async def _sources(self, request: PageRequest) -> Page:
        use, hours = self.use_cases, _hours(request)
        window, reports, paused = await asyncio.gather(
            use.figures(sources.MEASURES, hours), use.reports(), use.paused()
        )
        names = self.options.sources
        return sources.sources_page(names, window, reports, paused, hours=hours, choices=HOURS)

    async def _relay(self, request: PageRequest) -> Page:
        hours = _hours(request)
        window, reports = await asyncio.gather(
            self.use_cases.figures(relay.MEASURES, hours), self.use_cases.reports()
        )
        return relay.relay_page(window, reports, hours=hours, choices=HOURS)

    async def _node(self, request: PageRequest) -> Page:
        hours = _hours(request)
        window, reports = await asyncio.gather(
            self.use_cases.figures(node.MEASURES, hours), self.use_cases.reports()
        )
        return node.node_page(window, reports, hours=hours, choices=HOURS)

    async def _clients(self, request: PageRequest) -> Page:
        text = request.query.get("q", "").strip()[:200]
        place = orders.place_of(request.query.get("after", ""))
        after = None if place is None else (place.created_at_ms, place.order_id)
        found = await self.use_cases.clients(text, after)
        return clients.clients_page(text, found, self.clock.now_ms())

    async def _health(self, _: PageRequest) -> Page:
        return health.health_page(
            *await asyncio.gather(self.use_cases.health(), self.use_cases.reports())
        )

    async def _audit(self, _: PageRequest) -> Page:
        return health.audit_page(await self.use_cases.audit(_ENTRIES))


def _back(request: PageRequest) -> str:
    """Return the page of what an action was about."""
    return "/clients" if "/keys/" in request.path else "/sources"


def _hours(request: PageRequest) -> int:
    """Return the chosen length of time; a day for anything else than a choice."""
    chosen = request.query.get("hours", "")
    return next((hours for hours in HOURS if str(hours) == chosen), _DAY_H)
