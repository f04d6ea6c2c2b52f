"""Sources: outcomes, latency, what was delivered against the promise, circuits and pauses."""

from collections.abc import Sequence

from quietswap.operator.figures import (
    FigureRow,
    FigureWindow,
    Measure,
    by_detail,
    by_slot,
    distribution,
)
from quietswap.operator.operators import PausedSource, ProcessReport
from quietswap.operator.page import (
    PATH,
    Child,
    Markup,
    Page,
    Series,
    chart,
    element,
    facts,
    joined,
    moment,
    periods,
    table,
)
from quietswap.operator.pages.words import listed, share, spread, state
from quietswap.orders.statistics import Percentiles

MEASURES = (
    Measure.SOURCE_OUTCOME,
    Measure.SOURCE_MS,
    Measure.SOURCE_CHECK,
    Measure.SOURCE_WON,
    Measure.SOURCE_DELIVERED,
)


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
        "delivered, worst tenth", "circuit",
    )  # fmt: skip
    rows = [_row(name, window, reports, held.get(name)) for name in names]
    return Page(
        "Sources",
        joined(
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
    median = distribution(delivered)
    low = _low(delivered)
    return (
        element("a", name, href=f"#{name}"),
        str(outcomes.total()),
        share(outcomes["answered"], outcomes.total()),
        spread(distribution(window.of(Measure.SOURCE_MS, name)), "ms"),
        str(sum(row.n for row in window.of(Measure.SOURCE_WON, name))),
        "–" if median is None else f"{median.p50:+d} bps",
        "–" if low is None else f"{-low.p90:+d} bps",
        element("span", "paused", class_="warn")
        if held
        else circuit_text("sources", name, reports),
    )


def _low(rows: Sequence[FigureRow]) -> Percentiles | None:
    """Return percentiles from below, negated: p90 is the value that a tenth does not reach."""
    return distribution(row._replace(value=-row.value) for row in rows)


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
            "div",
            chart("Requests by outcome", "requests", _outcomes(name, window)),
            chart("Latency", "ms", _latency(name, window)),
            chart("Delivered against promised", "bps", _delivered(name, window)),
            class_="cards",
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


def _outcomes(name: str, window: FigureWindow) -> list[Series]:
    slots = by_slot(window.of(Measure.SOURCE_OUTCOME, name))
    answered: list[float | None] = []
    others: list[float | None] = []
    for at in window.slots:
        counts = by_detail(slots.get(at, ()))
        answered.append(counts["answered"])
        others.append(counts.total() - counts["answered"])
    if not slots:
        return []
    return [Series("answered", answered), Series("anything else", others, "second")]


def _latency(name: str, window: FigureWindow) -> list[Series]:
    slots = by_slot(window.of(Measure.SOURCE_MS, name))
    found = [distribution(slots.get(at, ())) for at in window.slots]
    return [
        Series("median", [one.p50 if one else None for one in found]),
        Series("p90", [one.p90 if one else None for one in found], "second"),
    ]


def _delivered(name: str, window: FigureWindow) -> list[Series]:
    slots = by_slot(window.of(Measure.SOURCE_DELIVERED, name))
    found = [
        (distribution(rows), _low(rows)) for rows in (slots.get(at, []) for at in window.slots)
    ]
    return [
        Series("median", [one.p50 if one else None for one, _ in found]),
        Series("worst tenth", [-low.p90 if low else None for _, low in found], "second"),
    ]
