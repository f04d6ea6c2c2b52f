"""The record of each source by day: shares of its routes that were no good."""

from collections.abc import Iterator

from markupsafe import Markup

from quietswap.rules.operator.figures import (
    BELOW,
    FAR_BELOW,
    FAR_BELOW_BPS,
    FigureWindow,
    Measure,
    by_detail,
    by_slot,
)
from quietswap.rules.quotes.quote import SourceOutcome
from quietswap.rules.time_units import DAY_MS
from quietswap.service.operator.page import render
from quietswap.service.operator.read_figures import ReadFigures
from quietswap.service.operator.value_text import moment, share

DAYS = 7
"""Of the record, the current one among them."""


async def source_record(figures: ReadFigures) -> Markup:
    """Return the section: a row for each day (UTC) and source. Raises StoreUnavailable."""
    window = await figures((Measure.SOURCE_CHECK,), (DAYS - 1) * 24, DAY_MS)
    return render("source_record.html", days=DAYS, far_bps=FAR_BELOW_BPS, rows=[*_rows(window)])


def _rows(window: FigureWindow) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row, the newest day first.

    How far a route was below its promise is not known of a day with figures of an older version.
    """
    days = by_slot(window.rows)
    for at_ms in sorted(days, reverse=True):
        day = FigureWindow(at_ms, at_ms, DAY_MS, days[at_ms])
        for name in day.subjects(Measure.SOURCE_CHECK):
            checks = by_detail(day.of(Measure.SOURCE_CHECK, name))
            routes = checks.total()
            far = share(checks[FAR_BELOW], routes)
            verdicts = SourceOutcome.UNSAFE, SourceOutcome.UNVERIFIED, SourceOutcome.REVERTED
            yield (
                moment(at_ms, form="%Y-%m-%d"),
                name,
                str(routes),
                *(share(checks[verdict], routes) for verdict in verdicts),
                "–" if checks[BELOW] else far,
            )
