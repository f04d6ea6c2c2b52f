"""What each page of the operator view shows, and which action a posted form takes."""

from asyncio import gather
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from quietswap.rules.clients import ClientLimits, day_of
from quietswap.rules.operator.figures import (
    AS_PROMISED,
    FigureRow,
    FigureWindow,
    Measure,
    by_detail,
    by_subject,
    distribution,
    is_below,
)
from quietswap.rules.operator.operators import (
    ClientRow,
    Health,
    OrderPlace,
    PausedSource,
    ProcessReport,
)
from quietswap.rules.orders.order import OrderEventType
from quietswap.service.base.clock import Clock
from quietswap.service.operator import chart, common_charts
from quietswap.service.operator.act import ActionRefused, ActionUnrecorded
from quietswap.service.operator.inclusion_record import inclusion_record
from quietswap.service.operator.node_rows import node_rows
from quietswap.service.operator.operator_parts import OperatorParts
from quietswap.service.operator.overview_stats import LONG_OPEN_MS, MOST_LAG, stats
from quietswap.service.operator.page import HOURS, OperatorOptions, PageRequest, page, redirect
from quietswap.service.operator.source_record import source_record
from quietswap.service.operator.value_text import age, cents, listed, share, spread

_DAY_H = 24
_CLIENTS, _ENTRIES = 25, 100
"""Clients on one page, and entries of the audit log."""
_SOURCES = (
    Measure.SOURCE_OUTCOME, Measure.SOURCE_MS, Measure.SOURCE_CHECK, Measure.SOURCE_WON,
    Measure.SOURCE_DELIVERED,
)  # fmt: skip
_RELAY = (
    Measure.RELAY_OUTCOME, Measure.RELAY_MS, Measure.INCLUSION_BLOCKS, Measure.INCLUSION_S,
    Measure.ORDER_MOVED, Measure.ORDER_RESENT, Measure.ORDER_REFUNDED,
)  # fmt: skip
_NODE = (Measure.NODE_ERROR, Measure.TRACKER_LAG, Measure.REORG)
_OVERVIEW = (
    *_SOURCES[:4], Measure.RELAY_OUTCOME, *_RELAY[2:], *_NODE,
)  # fmt: skip
Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Views:
    """All methods return None if there is no such page, and raise StoreUnavailable."""

    parts: OperatorParts
    options: OperatorOptions
    clock: Clock

    async def show(self, request: PageRequest) -> Response | None:
        """Return the page of a path."""
        match request.path.split("/")[1:]:
            case []:
                return await self._overview(request)
            case ["orders" | "sources" | "relay" | "node" | "clients" | "health" | "audit" as name]:
                response: Response = await getattr(self, f"_{name}")(request)
                return response
            case ["orders", order_id]:
                return await self._order(request, order_id)
            case ["keys", key_id, "revoke"]:
                if key := await self.parts.search.key(key_id):
                    now_ms = self.clock.now_ms()
                    return page("action.html", request=request, key=key, now_ms=now_ms)
            case ["sources", name, "pause" | "resume"] if name in self.options.sources:
                return page("action.html", request=request, name=name, key=None)
        return None

    async def act(self, request: PageRequest) -> Response | None:
        """Do what a form asks, and return where to go, or what was refused."""
        actions, operator = self.parts.actions, request.session.operator
        where = "/clients" if "/keys/" in request.path else "/sources"
        try:
            match request.path.split("/")[1:]:
                case ["keys", key_id, "revoke"]:
                    await actions.revoke_key(operator, key_id)
                    return redirect("/audit")
                case ["sources", name, "pause"]:
                    await actions.pause_source(operator, name, request.form.get("reason", ""))
                    return redirect("/sources")
                case ["sources", name, "resume"]:
                    await actions.resume_source(operator, name)
                    return redirect("/sources")
        except ActionRefused as refusal:
            title, outcome, status = "Not done", f"Nothing was changed: {refusal}.", 409
        except ActionUnrecorded as error:
            title, status = "Done, but not in the audit file", 200
            outcome = f"It was done, and the audit log has it, but {error}."
        else:
            return None
        return page("outcome.html", status, request=request, title=title, said=outcome, where=where)

    async def _overview(self, request: PageRequest) -> Response:
        """Show what needs attention first, then the figures of the last day."""
        parts = self.parts
        health, open_orders, window, reports, paused = await gather(
            parts.health(),
            parts.search.open_orders(),
            parts.figures(_OVERVIEW, _DAY_H),
            parts.figures.reports(),
            parts.paused_sources.list(),
        )
        names, paused_names = self.options.sources, {one.name for one in paused}
        outcomes = by_detail(window.of(Measure.SOURCE_OUTCOME))
        seconds, blocks = window.of(Measure.INCLUSION_S), window.of(Measure.INCLUSION_BLOCKS)
        return page(
            "overview.html",
            request=request,
            concerns=_concerns(health, open_orders, window, reports, paused),
            stats=stats(reports, window, open_orders, {*names} - paused_names, names),
            charts=[
                common_charts.orders_chart(window),
                common_charts.inclusion_chart(window),
                common_charts.won_chart(names, window),
                common_charts.answers_chart(window),
            ],
            ends=_ends(window),
            sources=[
                _source_row(one, window, reports) | {"held": one in paused_names} for one in names
            ],
            speed=[
                ("acceptance to inclusion, median / p90 / p99", spread(distribution(seconds), "s")),
                ("in blocks", spread(distribution(blocks), "blocks")),
                ("requests to sources", outcomes.total()),
                ("answered with a route", share(outcomes["answered"], outcomes.total())),
            ],
            reports=reports,
        )

    async def _orders(self, request: PageRequest) -> Response:
        text = _text(request)
        orders = await self.parts.orders(text, _place(request))
        return page("orders.html", request=request, text=text, found=orders)

    async def _order(self, request: PageRequest, order_id: str) -> Response | None:
        """Show what was promised, what the chain proved, and each event."""
        detail = await self.parts.orders.detail(order_id)
        if detail is None:
            return None
        return page(
            "order.html",
            request=request,
            order=detail.order,
            events=detail.events,
            client_name=detail.client_name,
            explorer_url=self.options.explorer_url,
            tokens=self.options.tokens,
        )

    async def _sources(self, request: PageRequest) -> Response:
        parts, hours, names = self.parts, _hours(request), self.options.sources
        window, reports, paused, record = await gather(
            parts.figures(_SOURCES, hours),
            parts.figures.reports(),
            parts.paused_sources.list(),
            source_record(parts.figures),
        )
        pause_of = {one.name: one for one in paused}
        rows = [row for row in window.of(Measure.SOURCE_CHECK) if is_below(row.detail)]
        short = chart.counts_of(window, rows, common_charts.subject, common_charts.colours(names))
        return page(
            "sources.html",
            request=request,
            hours=hours,
            charts=[
                common_charts.won_chart(names, window),
                chart.chart("Routes below their promise", "routes", window, short, stacked=True),
            ],
            record=record,
            found=[_source(one, window, reports) | {"held": pause_of.get(one)} for one in names],
        )

    async def _relay(self, request: PageRequest) -> Response:
        hours = _hours(request)
        window, reports, included = await gather(
            self.parts.figures(_RELAY, hours),
            self.parts.figures.reports(),
            self.parts.inclusion(-(-hours // _DAY_H)),
        )
        relay_names = {name for one in reports for name in one.state.get("relays", ())}
        return page(
            "relay.html",
            request=request,
            hours=hours,
            answer_charts=[
                common_charts.answers_chart(window),
                common_charts.percentiles_chart(
                    "Answer of the relay", "ms", window, Measure.RELAY_MS
                ),
            ],
            relays=[
                (
                    name,
                    by_detail(window.of(Measure.RELAY_OUTCOME, name)),
                    spread(distribution(window.of(Measure.RELAY_MS, name)), "ms"),
                    _circuits("relays", name, reports),
                    _last_miss(name, reports),
                )
                for name in sorted(relay_names | {*window.subjects(Measure.RELAY_OUTCOME)})
            ],
            inclusion_charts=[
                common_charts.inclusion_chart(window),
                common_charts.percentiles_chart(
                    "Blocks to inclusion", "blocks", window, Measure.INCLUSION_BLOCKS
                ),
            ],
            inclusion=_inclusion(window),
            inclusion_record=inclusion_record(included),
            orders_chart=common_charts.orders_chart(window),
            ends=_ends(window),
        )

    async def _node(self, request: PageRequest) -> Response:
        """Show the nodes as the processes see them, and what went wrong."""
        hours = _hours(request)
        window, reports = await gather(
            self.parts.figures(_NODE, hours), self.parts.figures.reports()
        )
        lag, reorgs = window.of(Measure.TRACKER_LAG), window.of(Measure.REORG)
        errors, nodes = window.of(Measure.NODE_ERROR), node_rows(reports)
        highest = chart.over_time(
            window, lag, {"highest": lambda rows: max(row.value for row in rows)}
        )
        failed = chart.counts_of(window, errors, common_charts.subject, {})
        forks = chart.counts_of(window, reorgs, lambda _: "reorganisations", {})
        return page(
            "node.html",
            request=request,
            hours=hours,
            nodes=nodes,
            highest=max((one.height or 0 for one in nodes), default=0),
            figures=[
                ("tracker lag, median / p90 / p99", spread(distribution(lag), "blocks")),
                ("failed calls", sum(row.n for row in errors)),
                ("reorganisations", sum(row.n for row in reorgs)),
                ("deepest", f"{max((row.value for row in reorgs), default=0)} blocks"),
            ],
            charts=[
                chart.chart("Lag of the tracker, highest", "blocks", window, highest),
                chart.chart("Failed calls", "calls", window, failed, stacked=True),
                chart.chart("Reorganisations", "times", window, forks, stacked=True),
            ],
            failed=[
                (name, listed(by_detail(window.of(Measure.NODE_ERROR, name))))
                for name in window.subjects(Measure.NODE_ERROR)
            ],
        )

    async def _clients(self, request: PageRequest) -> Response:
        text, now_ms = _text(request), self.clock.now_ms()
        clients = await self._found_clients(text, _place(request), day_of(now_ms))
        shown = clients[:_CLIENTS]
        last = shown[-1].client if len(clients) > _CLIENTS else None
        return page(
            "clients.html",
            request=request,
            text=text,
            found=shown,
            now_ms=now_ms,
            further_limits=_further_limits,
            following=last and f"{last.created_at_ms}.{last.id}",
        )

    async def _found_clients(
        self, text: str, place: OrderPlace | None, day: int
    ) -> Sequence[ClientRow]:
        """Return the clients that `text` names, or all; one more than a page if there are more."""
        search = self.parts.search
        if not text:
            after = (place.created_at_ms, place.order_id) if place else None
            return await search.clients(after, _CLIENTS + 1, day)
        key = await search.key(text)
        owners = await self.parts.orders.clients.find(key.client_id if key else text)
        return [await search.client(owner, day) for owner in owners[:_CLIENTS]]

    async def _health(self, request: PageRequest) -> Response:
        """Show what /readyz of this process says, and why it matters."""
        health, reports = await gather(self.parts.health(), self.parts.figures.reports())
        return page("health.html", request=request, health=health, reports=reports)

    async def _audit(self, request: PageRequest) -> Response:
        entries = await self.parts.audit.list(0, _ENTRIES)
        return page("audit.html", request=request, entries=entries)


def _text(request: PageRequest) -> str:
    return request.query.get("q", "").strip()[:200]


def _hours(request: PageRequest) -> int:
    """Return the chosen length of time; a day for anything else than a choice."""
    chosen = request.query.get("hours", "")
    return next((hours for hours in HOURS if str(hours) == chosen), _DAY_H)


def _place(request: PageRequest) -> OrderPlace | None:
    """Return the place that a link to the next page names; None for anything else."""
    created, _, order_id = request.query.get("after", "").partition(".")
    if not (created.isascii() and created.isdecimal() and len(created) <= 15 and order_id):
        return None
    return OrderPlace(int(created), order_id[:100])


def _concerns(
    health: Health,
    open_orders: Mapping[str, tuple[int, int]],
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    paused: Sequence[PausedSource],
) -> list[str]:
    """Return in words what an operator should look at, the worst first."""
    concerns = [f"{name}: {check}" for name, check in health.checks.items() if check != "ok"]
    concerns += [f"{name}: {words}" for name, words in health.warnings.items()]
    if not any(one.state.get("tracker") == "leading" for one in reports):
        concerns.append("no process that reports here follows the orders")
    unsafe = by_subject(row for row in window.of(Measure.SOURCE_CHECK) if row.detail == "unsafe")
    concerns += [
        f"source {name}: {count} routes broke a fund safety rule in the last 24 hours"
        for name, count in sorted(unsafe.items())
    ]
    for status, (count, oldest) in sorted(open_orders.items()):
        if window.until_ms - oldest > LONG_OPEN_MS:
            waits = age(window.until_ms - oldest)
            concerns.append(f"an order is {status} for {waits} ({count} have this status)")
    lag = [row for row in window.of(Measure.TRACKER_LAG) if row.at_ms == window.slots[-1]]
    behind = max((row.value for row in lag), default=0)
    if behind > MOST_LAG:
        concerns.append(f"the tracker was up to {behind} blocks behind in the current time slot")
    concerns += [f"source {one.name} is paused by {one.paused_by}: {one.reason}" for one in paused]
    return concerns


def _further_limits(limits: ClientLimits) -> list[tuple[str, str, str]]:
    limit_texts = []
    if limits.requests_per_minute is not None:
        limit_texts.append(f"{limits.requests_per_minute} requests a minute")
    if limits.usd_cents_per_swap is not None:
        limit_texts.append(f"{cents(limits.usd_cents_per_swap)} a swap")
    if limits.wallets:
        limit_texts.append(f"{len(limits.wallets)} wallets only")
    if limits.tokens:
        limit_texts.append(f"{len(limits.tokens)} tokens only")
    return [("further limits", "", ", ".join(limit_texts))] if limit_texts else []


def _circuits(kind: str, name: str, reports: Sequence[ProcessReport]) -> dict[str, str]:
    """Return a circuit of `sources` or `relays` by process."""
    return {one.process_id: one.state.get(kind, {}).get(name, "not configured") for one in reports}


def _last_miss(name: str, reports: Sequence[ProcessReport]) -> tuple[int, str] | None:
    """Return when and why a source or a relay took nothing last, in any process."""
    misses_at: list[tuple[int, str]] = []
    for report in reports:
        misses = report.state.get("misses")
        miss = misses.get(name) if isinstance(misses, dict) else None
        if isinstance(miss, list | tuple) and len(miss) == 2 and isinstance(miss[0], int):
            misses_at.append((miss[0], str(miss[1])))
    return max(misses_at, default=None)


def _source_row(
    name: str, window: FigureWindow, reports: Sequence[ProcessReport]
) -> dict[str, Any]:
    """Return the figures of a source that every list of sources has."""
    won = by_subject(window.of(Measure.SOURCE_WON))
    checks = by_detail(window.of(Measure.SOURCE_CHECK, name))
    short = sum(n for detail, n in checks.items() if is_below(detail))
    times = distribution(window.of(Measure.SOURCE_MS, name))
    return {
        "name": name,
        "outcomes": by_detail(window.of(Measure.SOURCE_OUTCOME, name)),
        "time": spread(times, "ms"),
        "median": f"{times.p50} ms" if times else "–",
        "won": won[name],
        "circuits": _circuits("sources", name, reports),
        "shares": [
            share(won[name], won.total()),
            share(short, checks[AS_PROMISED] + short),
        ],
    }


def _source(name: str, window: FigureWindow, reports: Sequence[ProcessReport]) -> dict[str, Any]:
    """Return the figures and the charts of a source."""
    outcomes = window.of(Measure.SOURCE_OUTCOME, name)
    delivered = window.of(Measure.SOURCE_DELIVERED, name)
    kinds = chart.counts_of(
        window,
        outcomes,
        lambda row: row.detail if row.detail == "answered" else "anything else",
        {"answered": "good", "anything else": "bad"},
    )
    figures = {"median": chart.percentile("p50"), "worst tenth": chart.percentile("p90", -1)}
    promise = chart.over_time(window, delivered, figures)
    return _source_row(name, window, reports) | {
        "delivered": [f"{of(delivered):+d} bps" if delivered else "–" for of in figures.values()],
        "missed": _last_miss(name, reports),
        "checks": by_detail(window.of(Measure.SOURCE_CHECK, name)),
        "mined": sum(row.n for row in delivered),
        "charts": [
            chart.chart("Requests by outcome", "requests", window, kinds, stacked=True),
            common_charts.percentiles_chart("Latency", "ms", window, Measure.SOURCE_MS, name),
            chart.chart("Delivered against promised", "bps", window, promise),
        ],
    }


def _inclusion(window: FigureWindow) -> list[tuple[str, ...]]:
    """Return mined orders, blocks and time: of all, by endpoint and by tip."""
    blocks, seconds = window.of(Measure.INCLUSION_BLOCKS), window.of(Measure.INCLUSION_S)

    def of(name: str, some: Iterable[FigureRow], times: Iterable[FigureRow]) -> tuple[str, ...]:
        some = list(some)
        spreads = spread(distribution(some), "blocks"), spread(distribution(times), "s")
        return name, str(sum(row.n for row in some)), *spreads

    inclusion_rows = [of("all", blocks, seconds)]
    for kind, column in (("endpoint", "subject"), ("tip", "detail")):
        for value in sorted({getattr(row, column) for row in blocks}):
            some, times = (
                [row for row in rows if getattr(row, column) == value] for rows in (blocks, seconds)
            )
            inclusion_rows.append(of(f"{kind} {value}", some, times))
    return inclusion_rows


def _ends(window: FigureWindow) -> Facts:
    """Return the shares of orders that were mined, ended otherwise, were resent or refunded."""
    moves = by_detail(window.of(Measure.ORDER_MOVED))
    mined = moves[OrderEventType.INCLUDED] + moves[OrderEventType.REVERTED]
    ended = sum(moves[one] for one in chart.ENDS)
    resent = by_subject(window.of(Measure.ORDER_RESENT))
    refunds = by_subject(window.of(Measure.ORDER_REFUNDED))
    return [
        ("ended", str(ended)),
        ("mined", f"{mined} ({share(mined, ended)})"),
        ("reverted in a block", str(moves[OrderEventType.REVERTED])),
        ("expired", str(moves[OrderEventType.EXPIRED])),
        ("refused or not sent", str(moves["refused"] + moves["not_sent"])),
        ("replaced by the wallet", str(moves[OrderEventType.NONCE_TAKEN])),
        ("taken back by a reorganisation", str(moves[OrderEventType.REORGANISED])),
        ("times sent again", _total(resent)),
        ("refunded", f"{_total(refunds)} ({share(refunds.total(), mined)} of mined)"),
    ]


def _total(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values())}: {listed(counts)}" if counts else "0"
