"""Node: the heights each process saw, lag of the tracker, errors and reorganisations."""

from collections.abc import Sequence

from quietswap.api.operator.charts import Series, chart
from quietswap.api.operator.html import Child, element, facts, joined, moment, table
from quietswap.api.operator.page import Page, periods
from quietswap.api.operator.pages.words import listed, spread, state
from quietswap.domain.operator.figures import (
    FigureWindow,
    Measure,
    by_detail,
    by_slot,
    distribution,
)
from quietswap.ports.operator_view import ProcessReport

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
    rows = [(name, listed([*by_detail(window.of(Measure.NODE_ERROR, name)).items()]))
            for name in window.subjects(Measure.NODE_ERROR)]  # fmt: skip
    return Page(
        "Node",
        joined(
            table(
                ("process", "node", "block", "lags", "circuit", "seen (UTC)"),
                _nodes(reports),
                caption="Nodes as each process last saw them",
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
                chart("Lag of the tracker, highest", "blocks", [_highest(window)]),
                chart("Failed calls", "calls", _counts(window, Measure.NODE_ERROR)),
                chart("Reorganisations", "times", _counts(window, Measure.REORG)),
                class_="cards",
            ),
            table(("node", "failed calls by kind"), rows, caption="Failed calls"),
        ),
        above=periods("/node", hours, choices),
    )


def _nodes(reports: Sequence[ProcessReport]) -> list[tuple[Child, ...]]:
    rows: list[tuple[Child, ...]] = []
    for report in reports:
        nodes = report.state.get("nodes")
        for node in nodes if isinstance(nodes, list) else ():
            height = node.get("height")
            rows.append(
                (
                    report.process_id,
                    str(node.get("name")),
                    "not read yet" if height is None else str(height),
                    "yes" if node.get("lags") else "no",
                    state(str(node.get("circuit"))),
                    moment(report.seen_at_ms),
                )
            )
    return rows


def _highest(window: FigureWindow) -> Series:
    slots = by_slot(window.of(Measure.TRACKER_LAG))
    values = [
        max((row.value for row in slots[at]), default=None) if at in slots else None
        for at in window.slots
    ]
    return Series("highest", values)


def _counts(window: FigureWindow, measure: Measure) -> list[Series]:
    slots = by_slot(window.of(measure))
    values = [float(sum(row.n for row in slots.get(at, ()))) for at in window.slots]
    return [Series("count", values)] if slots else []
