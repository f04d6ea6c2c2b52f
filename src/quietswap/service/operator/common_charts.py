"""The charts that more than one page has."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from markupsafe import Markup

from quietswap.rules.operator.figures import FigureRow, FigureWindow, Measure
from quietswap.service.operator.chart import (
    COLOURS,
    ENDS,
    Series,
    chart,
    counts_of,
    over_time,
    percentile,
)


def _percentile_lines(window: FigureWindow, rows: Sequence[FigureRow]) -> list[Series]:
    """Return median and 90th percentile of each slot."""
    return over_time(window, rows, {"median": percentile("p50"), "p90": percentile("p90")})


def won_chart(names: Sequence[str], window: FigureWindow) -> Markup:
    """Return whose routes the quotes had. A source has the same colour in each chart."""
    won = counts_of(window, window.of(Measure.SOURCE_WON), subject, colours(names))
    return chart("Quotes by the source that won", "quotes", window, won, stacked=True)


def colours(names: Sequence[str]) -> Mapping[str, str]:
    return dict(zip(names, cycle(COLOURS), strict=False))


def subject(row: FigureRow) -> str:
    return row.subject


def percentiles_chart(
    title: str, unit: str, window: FigureWindow, measure: Measure, subject: str | None = None
) -> Markup:
    lines = _percentile_lines(window, window.of(measure, subject))
    return chart(title, unit, window, lines)


def inclusion_chart(window: FigureWindow) -> Markup:
    return percentiles_chart("Acceptance to inclusion", "s", window, Measure.INCLUSION_S)


def answers_chart(window: FigureWindow) -> Markup:
    """Return what relays answered to submissions."""
    rows = window.of(Measure.RELAY_OUTCOME)
    series = counts_of(window, rows, lambda r: r.detail.replace("_", " "), {"accepted": "good"})
    return chart("Answers of relays", "submissions", window, series, stacked=True)


def orders_chart(window: FigureWindow) -> Markup:
    """Return how orders ended, at the time of their end."""
    rows = [row for row in window.of(Measure.ORDER_MOVED) if row.detail in ENDS]
    styles = dict(ENDS.values())
    series = counts_of(window, rows, lambda row: ENDS[row.detail][0], styles)
    return chart("Orders by outcome", "orders", window, series, stacked=True)
