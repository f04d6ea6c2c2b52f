"""The record of inclusion as a picture and a table: what GET /api/v1/inclusion answers."""

from collections import Counter
from collections.abc import Iterator

from markupsafe import Markup

from quietswap.rules.operator.inclusion import Group, InclusionReport
from quietswap.rules.orders.statistics import percentiles
from quietswap.service.operator.page import render
from quietswap.service.operator.value_text import share, spread

_BARS = ((1, "next block"), (2, "2 blocks"), (5, "to 5 blocks"), (25, "to 25 blocks"))
_ROW_PX = 24


def inclusion_record(report: InclusionReport) -> Markup:
    """Return the section: bars of the blocks waited, and a row for each group."""
    rows = [_row("all", report.total)] if report.total.orders else []
    rows += [_row(f"endpoint {each.name}, tip {each.tip}", each) for each in report.endpoints]
    rows += [_row(f"relay {each.name}", each) for each in report.relays]
    rows += [_row(f"builder {each.name}", each) for each in report.builders]
    return render("inclusion_record.html", report=report, bars=[*_bars(report)], rows=rows)


def _bars(report: InclusionReport) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield name, value, width in percent, style and place in pixels of each bar."""
    total, before = report.total, 0
    counts: list[tuple[str, int, str]] = []
    for most, name in _BARS:
        within = total.within(most)
        counts.append((name, within - before, "good"))
        before = within
    counts += [("later", total.orders - before, "s3"), ("expired", report.expired, "bad")]
    decided = total.orders + report.expired
    for place, (name, n, style) in enumerate(counts):
        width = f"{100 * n / decided:.2f}" if decided else "0"
        yield name, f"{n} ({share(n, decided)})", width, style, place * _ROW_PX


def _row(name: str, group: Group) -> tuple[str, ...]:
    waited = percentiles(group.waited)
    return (
        name,
        str(group.orders),
        spread(waited, "blocks"),
        share(group.within(1), group.orders),
        _percent(group.fees),
        _percent(group.fullness),
    )


def _percent(values: Counter[int]) -> str:
    """Return median and 90th percentile of basis points."""
    ranked = percentiles(values)
    return f"{ranked.p50 / 100:.0f} / {ranked.p90 / 100:.0f} %" if ranked else "–"
