"""Overview, health and the audit log."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from quietswap.clients.client import AuditEntry
from quietswap.operator.chart import chart, counts_of, over_time
from quietswap.operator.figures import FigureWindow, Measure, by_detail, distribution
from quietswap.operator.operators import Health, PausedSource, ProcessReport
from quietswap.operator.page import (
    PATH,
    Child,
    Markup,
    Page,
    age,
    code,
    element,
    facts,
    joined,
    listed,
    moment,
    periods,
    share,
    spread,
    state,
    table,
)
from quietswap.operator.pages.relay import answers_chart, ends, inclusion_chart, orders_chart
from quietswap.operator.pages.sources import won_chart

OVERVIEW = (
    Measure.SOURCE_OUTCOME,
    Measure.SOURCE_CHECK,
    Measure.SOURCE_WON,
    Measure.RELAY_OUTCOME,
    Measure.INCLUSION_S,
    Measure.INCLUSION_BLOCKS,
    Measure.ORDER_MOVED,
    Measure.ORDER_RESENT,
    Measure.ORDER_REFUNDED,
    Measure.NODE_ERROR,
    Measure.TRACKER_LAG,
    Measure.REORG,
)
_LONG_OPEN_MS = 600_000
_MOST_LAG = 2
_WHAT = {
    "database": "Orders, quotes and keys. Without it nothing is answered but /healthz.",
    "node": "Balances, nonces, blocks and receipts. Without it no quote is made or order followed.",
    "sources": "At least one accepts connections and answers. Without one no swap is quoted.",
    "relay": "At least one accepts connections and answers. Without one no order is sent.",
}
_TRACKER = {
    "leading": "This process follows the orders.",
    "standing by": "Another process follows the orders; this one takes over when it ends.",
    "off": "This process may not follow orders (tracking.enabled).",
}


def overview_page(
    health: Health,
    open_orders: Mapping[str, tuple[int, int]],
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    paused: Sequence[PausedSource],
    *,
    sources: Sequence[str],
) -> Page:
    """Return what needs attention first, then the figures of the last day."""
    concerns = find_concerns(health, open_orders, window, reports, paused)
    verdict = (
        element("ul", [element("li", one, class_="bad") for one in concerns])
        if concerns
        else element("p", "Nothing needs attention.", class_="good")
    )
    outcomes = by_detail(window.of(Measure.SOURCE_OUTCOME))
    now = window.until_ms
    counts = [(status, f"{n}, the oldest for {age(now - at)}") for status, (n, at) in
              sorted(open_orders.items())]  # fmt: skip
    return Page(
        "Overview",
        joined(
            element("h2", "Needs attention"),
            verdict,
            element("h2", "Now"),
            facts([*(counts or [("open orders", "none")]), *_heights(reports, now)]),
            element("h2", "The last 24 hours"),
            element(
                "div",
                orders_chart(window),
                inclusion_chart(window),
                won_chart(sources, window),
                answers_chart(window),
                class_="cards",
            ),
            element("h3", "Orders"),
            ends(window),
            element("h3", "Speed and sources"),
            facts(
                [
                    (
                        "acceptance to inclusion, median / p90 / p99",
                        spread(distribution(window.of(Measure.INCLUSION_S)), "s"),
                    ),
                    (
                        "in blocks",
                        spread(distribution(window.of(Measure.INCLUSION_BLOCKS)), "blocks"),
                    ),
                    ("requests to sources", str(outcomes.total())),
                    ("answered with a route", share(outcomes["answered"], outcomes.total())),
                ]
            ),
            element("h2", "Processes"),
            _processes(reports),
        ),
    )


def find_concerns(
    health: Health,
    open_orders: Mapping[str, tuple[int, int]],
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    paused: Sequence[PausedSource],
) -> list[str]:
    """Return in words what an operator should look at, the worst first."""
    said = [f"{name}: {check}" for name, check in health.checks.items() if check != "ok"]
    said += [f"{name} took nothing: {words}" for name, words in health.warnings.items()]
    if not any(one.state.get("tracker") == "leading" for one in reports):
        said.append("no process that reports here follows the orders")
    unsafe = [row for row in window.of(Measure.SOURCE_CHECK) if row.detail == "unsafe"]
    for name in sorted({row.subject for row in unsafe}):
        count = sum(row.n for row in unsafe if row.subject == name)
        said.append(f"source {name}: {count} routes broke a fund safety rule in the last 24 hours")
    for status, (count, oldest) in sorted(open_orders.items()):
        if window.until_ms - oldest > _LONG_OPEN_MS:
            waits = age(window.until_ms - oldest)
            said.append(f"an order is {status} for {waits} ({count} have this status)")
    lag = [row for row in window.of(Measure.TRACKER_LAG) if row.at_ms == window.slots[-1]]
    behind = max((row.value for row in lag), default=0)
    if behind > _MOST_LAG:
        said.append(f"the tracker was up to {behind} blocks behind in the current time slot")
    said += [f"source {one.name} is paused by {one.paused_by}: {one.reason}" for one in paused]
    return said


def _heights(reports: Sequence[ProcessReport], now_ms: int) -> list[tuple[str, Child]]:
    """Return the block of each node by its latest reading in any process."""
    nodes = _nodes(reports)
    highest = max((node.height or 0 for node in nodes), default=0)
    latest = {node.name: node for node in sorted(nodes, key=lambda node: node.read_at_ms or 0)}
    return [
        (
            f"block of {name}",
            "no answer"
            if node.height is None
            else f"{node.height}, {highest - node.height} behind"
            f", read {age(now_ms - (node.read_at_ms or 0))} ago",
        )
        for name, node in latest.items()
    ]


def _processes(reports: Sequence[ProcessReport]) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            one.process_id,
            str(one.state.get("version", "")),
            str(one.state.get("tracker", "")),
            moment(_whole(one.state.get("startedAt"))),
            moment(one.seen_at_ms),
        )
        for one in reports
    ]
    header = ("process", "version", "tracker", "started (UTC)", "last report (UTC)")
    return table(header, rows, caption="Processes that reported in the last minute")


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def health_page(health: Health, reports: Sequence[ProcessReport]) -> Page:
    """Return what /readyz of this process says, and why it matters."""
    rows: list[tuple[Child, ...]] = [
        (
            name,
            state("ok") if check == "ok" else element("span", check, class_="bad"),
            _WHAT.get(name, ""),
        )
        for name, check in health.checks.items()
    ]
    rows += [
        (name, element("span", words, class_="bad"), "Its last answer took no transaction.")
        for name, words in health.warnings.items()
    ]
    word = "ready" if health.is_ready else "not ready"
    verdict = element("strong", word, class_="good" if health.is_ready else "bad")
    return Page(
        "Health",
        joined(
            element("p", "This process is ", verdict, " (", code("GET /readyz"), ")."),
            table(("part", "state", "what it is for"), rows, caption="Parts of this process"),
            facts([("tracker", joined(health.tracker, ": ", _TRACKER.get(health.tracker, "")))]),
            element("h2", "All processes"),
            _processes(reports),
        ),
    )


def audit_page(entries: Sequence[AuditEntry]) -> Page:
    """Return the latest actions, newest first."""
    rows: list[tuple[Child, ...]] = [
        (
            moment(one.at_ms),
            _who(one.actor),
            one.event.replace("_", " "),
            code(msgspec.json.encode(one.details).decode()),
        )
        for one in reversed(entries)
    ]
    header = ("time (UTC)", "who", "action", "details")
    note = element(
        "p",
        "What operators and administrators changed. The database refuses to change or delete an"
        " entry. All of them: ",
        code("quietswap audit list"),
        class_="quiet",
    )
    return Page("Audit", joined(note, table(header, rows, caption="The latest 100 actions")))


def _who(actor: Mapping[str, str]) -> str:
    if "operator" in actor:
        return f"operator {actor['operator']}"
    return f"{actor.get('user', '?')}@{actor.get('host', '?')}"


def login_page(token: str, fault: str | None) -> Markup:
    """Return the login form; `fault` says why the last attempt failed."""
    return joined(
        element("p", fault, class_="bad", role="alert") if fault else None,
        element(
            "form",
            element("input", type="hidden", name="token", value=token),
            element(
                "label",
                "Operator's secret",
                element(
                    "input",
                    type="password",
                    name="secret",
                    autocomplete="current-password",
                    required=True,
                    autofocus=True,
                ),
            ),
            element("button", "Log in"),
            method="post",
            action=f"{PATH}/login",
            class_="act",
        ),
        element("p", "Make one on the service's host: ", code("quietswap operators create NAME")),
    )


# Node: the heights each process saw, lag of the tracker, errors and reorganisations.


MEASURES = (Measure.NODE_ERROR, Measure.TRACKER_LAG, Measure.REORG)


def node_page(
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    *,
    hours: int,
    choices: Sequence[int],
) -> Page:
    """Return the nodes as the processes see them, and what went wrong."""
    lag, reorgs = window.of(Measure.TRACKER_LAG), window.of(Measure.REORG)
    errors = window.of(Measure.NODE_ERROR)
    nodes = _nodes(reports)
    top = max((one.height or 0 for one in nodes), default=0)
    highest = over_time(window, lag, {"highest": lambda rows: max(row.value for row in rows)})
    failed = counts_of(window, errors, lambda row: row.subject, {})
    forks = counts_of(window, reorgs, lambda _: "reorganisations", {})
    rows = [(name, listed([*by_detail(window.of(Measure.NODE_ERROR, name)).items()]))
            for name in window.subjects(Measure.NODE_ERROR)]  # fmt: skip
    return Page(
        "Node",
        joined(
            table(
                ("process", "node", "block", "lags", "circuit", "behind", "read (UTC)"),
                [
                    (
                        one.process_id,
                        one.name,
                        "no answer" if one.height is None else str(one.height),
                        "yes" if one.lags else "no",
                        state(one.circuit),
                        "–" if one.height is None else f"{top - one.height} blocks",
                        moment(one.read_at_ms),
                    )
                    for one in nodes
                ],
                caption="Nodes as each process last saw them; behind: the highest block of all",
            ),
            facts(
                [
                    ("tracker lag, median / p90 / p99", spread(distribution(lag), "blocks")),
                    ("failed calls", str(sum(row.n for row in errors))),
                    ("reorganisations", str(sum(row.n for row in reorgs))),
                    ("deepest", f"{max((row.value for row in reorgs), default=0)} blocks"),
                ]
            ),
            element(
                "div",
                chart("Lag of the tracker, highest", "blocks", window, highest),
                chart("Failed calls", "calls", window, failed, stacked=True),
                chart("Reorganisations", "times", window, forks, stacked=True),
                class_="cards",
            ),
            table(("node", "failed calls by kind"), rows, caption="Failed calls"),
        ),
        above=periods("/node", hours, choices),
    )


class _Node(NamedTuple):
    """A node as a process saw it; times in Unix ms."""

    process_id: str
    name: str
    height: int | None
    read_at_ms: int | None
    lags: bool
    circuit: str


def _nodes(reports: Sequence[ProcessReport]) -> list[_Node]:
    return [
        _Node(
            one.process_id,
            str(node.get("name")),
            _whole(node.get("height")),
            _whole(node.get("readAt")),  # 0.3.0 reports none
            bool(node.get("lags")),
            str(node.get("circuit")),
        )
        for one in reports
        for node in one.state.get("nodes", ())
    ]
