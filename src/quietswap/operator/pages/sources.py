"""Sources: outcomes, latency, what was delivered against the promise, circuits and pauses."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from quietswap.operator.chart import (
    COLOURS,
    Series,
    chart,
    counts_of,
    over_time,
    percentile,
    percentile_lines,
)
from quietswap.operator.figures import (
    FigureRow,
    FigureWindow,
    Measure,
    by_detail,
    by_subject,
    distribution,
)
from quietswap.operator.operators import PausedSource, ProcessReport
from quietswap.operator.page import (
    PATH,
    Child,
    Markup,
    Page,
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

MEASURES = (
    Measure.SOURCE_OUTCOME,
    Measure.SOURCE_MS,
    Measure.SOURCE_CHECK,
    Measure.SOURCE_WON,
    Measure.SOURCE_DELIVERED,
)
_SHORT = "below its promise"
_MEDIAN, _WORST = percentile("p50"), percentile("p90", -1)


def sources_page(
    names: Sequence[str],
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    paused: Sequence[PausedSource],
    *,
    hours: int,
    choices: Sequence[int],
) -> Page:
    """Return all sources: a table to compare them, then the charts of each."""
    held = {one.name: one for one in paused}
    header = (
        "source", "requests", "answered", "time: median / p90 / p99", "won", "delivered, median",
        "delivered, worst tenth", "circuit", "win share", "below its promise",
    )  # fmt: skip
    rows = [_row(name, window, reports, held.get(name)) for name in names]
    return Page(
        "Sources",
        joined(
            element("div", won_chart(names, window), _short_chart(names, window), class_="cards"),
            table(header, rows, caption="Figures of all processes; circuits are each process's"),
            [_source(name, window, held.get(name), last_miss(name, reports)) for name in names],
        ),
        above=periods("/sources", hours, choices),
    )


def _row(
    name: str,
    window: FigureWindow,
    reports: Sequence[ProcessReport],
    held: PausedSource | None,
) -> tuple[Child, ...]:
    outcomes = by_detail(window.of(Measure.SOURCE_OUTCOME, name))
    delivered = window.of(Measure.SOURCE_DELIVERED, name)
    won = by_subject(window.of(Measure.SOURCE_WON))
    checks = by_detail(window.of(Measure.SOURCE_CHECK, name))
    simulated = checks["as promised"] + checks[_SHORT]
    return (
        element("a", name, href=f"#{name}"),
        str(outcomes.total()),
        share(outcomes["answered"], outcomes.total()),
        spread(distribution(window.of(Measure.SOURCE_MS, name)), "ms"),
        str(won[name]),
        f"{_MEDIAN(delivered):+d} bps" if delivered else "–",
        f"{_WORST(delivered):+d} bps" if delivered else "–",
        element("span", "paused", class_="warn")
        if held
        else circuit_text("sources", name, reports),
        share(won[name], won.total()),
        share(checks[_SHORT], simulated),
    )


def circuit_text(kind: str, name: str, reports: Sequence[ProcessReport]) -> Child:
    """Return a circuit in one word if all processes agree, else that of each.

    `kind` is `sources` or `relays`. An earlier configuration may have had others.
    """
    said = {one.process_id: one.state.get(kind, {}).get(name, "not configured") for one in reports}
    if len(set(said.values())) == 1:
        return state(next(iter(said.values())))
    return "; ".join(f"{process}: {word}" for process, word in said.items()) or "–"


def last_miss(name: str, reports: Sequence[ProcessReport]) -> Child:
    """Return when and why a source gave no route last, in any process."""
    found: list[tuple[int, str]] = []
    for report in reports:
        misses = report.state.get("misses")
        miss = misses.get(name) if isinstance(misses, dict) else None
        if isinstance(miss, list | tuple) and len(miss) == 2 and isinstance(miss[0], int):
            found.append((miss[0], str(miss[1])))
    if not found:
        return "–"
    at_ms, why = max(found)
    return joined(moment(at_ms), f": {why}")


def _source(name: str, window: FigureWindow, held: PausedSource | None, missed: Child) -> Markup:
    outcomes = by_detail(window.of(Measure.SOURCE_OUTCOME, name))
    checks = by_detail(window.of(Measure.SOURCE_CHECK, name))
    delivered = window.of(Measure.SOURCE_DELIVERED, name)
    return element(
        "section",
        element("h2", name, id=name),
        _pause(name, held),
        facts(
            [
                ("outcomes of requests", listed([*outcomes.items()])),
                ("last without a route", missed),
                ("what simulation said of routes", listed([*checks.items()])),
                ("swaps mined with its route", str(sum(row.n for row in delivered))),
            ]
        ),
        element(
            "details",
            element("summary", f"Charts of {name}"),
            element(
                "div",
                chart(
                    "Requests by outcome", "requests", window, _outcomes(name, window), stacked=True
                ),
                chart("Latency", "ms", window, _latency(name, window)),
                chart("Delivered against promised", "bps", window, _delivered(delivered, window)),
                class_="cards",
            ),
        ),
    )


def _pause(name: str, held: PausedSource | None) -> Markup:
    if held is None:
        action = element("a", "Pause this source…", href=f"{PATH}/sources/{name}/pause")
        return element("p", action)
    return element(
        "p",
        element("strong", "Paused", class_="warn"),
        f" by {held.paused_by} at ",
        moment(held.paused_at_ms),
        f": {held.reason or 'no reason given'}. ",
        element("a", "Resume this source…", href=f"{PATH}/sources/{name}/resume"),
    )


def won_chart(names: Sequence[str], window: FigureWindow) -> Markup:
    """Return whose routes the quotes had. A source has the same colour in each chart."""
    won = counts_of(window, window.of(Measure.SOURCE_WON), _subject, _colours(names))
    return chart("Quotes by the source that won", "quotes", window, won, stacked=True)


def _short_chart(names: Sequence[str], window: FigureWindow) -> Markup:
    rows = [row for row in window.of(Measure.SOURCE_CHECK) if row.detail == _SHORT]
    short = counts_of(window, rows, _subject, _colours(names))
    return chart("Routes below their promise", "routes", window, short, stacked=True)


def _colours(names: Sequence[str]) -> Mapping[str, str]:
    return dict(zip(names, cycle(COLOURS), strict=False))


def _subject(row: FigureRow) -> str:
    return row.subject


def _outcomes(name: str, window: FigureWindow) -> list[Series]:
    rows = window.of(Measure.SOURCE_OUTCOME, name)
    styles = {"answered": "good", "anything else": "bad"}
    return counts_of(
        window, rows, lambda r: r.detail if r.detail == "answered" else "anything else", styles
    )


def _latency(name: str, window: FigureWindow) -> list[Series]:
    return percentile_lines(window, window.of(Measure.SOURCE_MS, name))


def _delivered(rows: Sequence[FigureRow], window: FigureWindow) -> list[Series]:
    return over_time(window, rows, {"median": _MEDIAN, "worst tenth": _WORST})
