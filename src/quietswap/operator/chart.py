"""Charts as SVG, drawn by the server: lines or stacked bars over slots of time, with both axes.

A chart has no script and no inline style, so it obeys the policy of the pages. Its figures are in
a table below it, for those who cannot see it or want a value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from quietswap.operator.figures import FigureRow, FigureWindow, by_slot, distribution
from quietswap.operator.page import Markup, age, element, moment, table

_LEFT, _RIGHT = 13, 98
"""Edges of the plot, in percent of the width."""
_TOP, _BOTTOM = 8, 148
"""Edges of the plot, in pixels."""
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_TIMES = [hours * _HOUR_MS for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168)]
"""Distances of labels on the axis of time."""
COLOURS = tuple(f"s{place}" for place in range(8))
"""Classes of the style sheet for things without a meaning of their own, such as sources."""

Figure = Callable[[Sequence[FigureRow]], int]
"""Returns the figure of some rows, which are never empty."""


@dataclass(frozen=True, slots=True)
class Series:
    """A value for each slot of a window; None is a gap. `style` is a class of the style sheet."""

    name: str
    values: Sequence[int | None]
    style: str


def over_time(
    window: FigureWindow, rows: Sequence[FigureRow], figures: Mapping[str, Figure]
) -> list[Series]:
    """Return each figure of the rows of each slot."""
    slots = by_slot(rows)
    return [
        Series(name, [of(slots[at]) if at in slots else None for at in window.slots], COLOURS[n])
        for n, (name, of) in enumerate(figures.items())
    ]


def percentile(rank: str, sign: int = 1) -> Figure:
    """Return the figure of a member of Percentiles; `sign` -1 counts from the greatest value."""
    return lambda rows: (
        sign
        * int(getattr(distribution(row._replace(value=sign * row.value) for row in rows), rank))
    )


def percentile_lines(window: FigureWindow, rows: Sequence[FigureRow]) -> list[Series]:
    """Return median and 90th percentile of each slot."""
    return over_time(window, rows, {"median": percentile("p50"), "p90": percentile("p90")})


def counts_of(
    window: FigureWindow,
    rows: Sequence[FigureRow],
    name_of: Callable[[FigureRow], str],
    styles: Mapping[str, str],
) -> list[Series]:
    """Return how often each name occurs in each slot: first the names of `styles`, in their order.

    A name without a style gets a colour.
    """
    slots = by_slot(rows)
    found = {name_of(row) for row in rows}
    named = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(sorted(found - {*styles}))}
    return [
        Series(
            name,
            [
                sum(row.n for row in slots.get(at, ()) if name_of(row) == name) or None
                for at in window.slots
            ],
            style,
        )
        for name, style in ({**styles} | named).items()
        if name in found
    ]


def chart(
    title: str, unit: str, window: FigureWindow, series: Sequence[Series], *, stacked: bool = False
) -> Markup:
    """Return `series` over the slots of a window, with the axes of time (UTC) and of value.

    Lines by default; `stacked`: bars, of counts. The axis of value includes zero. A chart without
    a value says so.
    """
    about = f"{unit} · steps of {age(window.step_ms)} · UTC"
    caption = element("figcaption", title, " ", element("small", about))
    columns = [*zip(*(one.values for one in series), strict=True)]
    if stacked:
        reach = [sum(value or 0 for value in column) for column in columns if any(column)]
    else:
        reach = [value for column in columns for value in column if value is not None]
    if not reach:
        return element("figure", caption, element("p", "none in this time", class_="none"))
    ticks = _ticks(min(*reach, 0), max(*reach, 0))
    grid = "".join(f"M0,{_y(tick, ticks)}H{len(columns)}" for tick in ticks)
    plot = element(
        "svg",
        element("path", d=grid, class_="grid"),
        _bars(series, ticks) if stacked else _lines(series, ticks),
        x=f"{_LEFT}%", y=_TOP, width=f"{_RIGHT - _LEFT}%", height=_BOTTOM - _TOP,
        viewBox=f"0 0 {len(columns)} 100", preserveAspectRatio="none",
    )  # fmt: skip
    drawn = element(
        "svg",
        plot,
        [_label(tick, ticks) for tick in ticks],
        _times(window),
        role="img",
        aria_label=f"{title}: between {min(reach)} and {max(reach)} {unit}",
        class_="bars" if stacked else "lines",
    )
    keys = [element("span", one.name, class_=f"key {one.style}") for one in series]
    legend = element("p", keys, class_="legend")
    return element("figure", caption, drawn, legend, _figures(title, window, series, columns))


def _ticks(low: int, high: int) -> range:
    """Return about four round values; the first and the last enclose the range."""
    least = -(-max(high - low, 1) // 4)
    power = 10 ** (len(str(least)) - 1)
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= least)
    return range(low // step * step, max(-(-high // step), low // step + 1) * step + 1, step)


def _y(value: int, ticks: range) -> str:
    """Return the place of a value in percent of the height, from above."""
    return f"{100 * (ticks[-1] - value) / (ticks[-1] - ticks[0]):.2f}"


def _lines(series: Sequence[Series], ticks: range) -> list[Markup]:
    """Return steps: each value is a level as long as its slot."""
    drawn = []
    for one in series:
        path, is_open = "", False
        for slot, value in enumerate(one.values):
            if value is not None:
                y = _y(value, ticks)
                path += f"{f'V{y}' if is_open else f'M{slot},{y}'}H{slot + 1}"
            is_open = value is not None
        drawn.append(element("path", d=path, class_=one.style))
    return drawn


def _bars(series: Sequence[Series], ticks: range) -> list[Markup]:
    """Return bars that stand on each other."""
    drawn = []
    sums = [0] * len(series[0].values)
    for one in series:
        path = ""
        for slot, value in enumerate(one.values):
            if value:
                low, sums[slot] = sums[slot], sums[slot] + value
                path += f"M{slot}.1,{_y(low, ticks)}h.8V{_y(sums[slot], ticks)}h-.8z"
        drawn.append(element("path", d=path, class_=one.style))
    return drawn


def _label(tick: int, ticks: range) -> Markup:
    y = _TOP + float(_y(tick, ticks)) * (_BOTTOM - _TOP) / 100
    return element("text", f"{tick:,}", x=f"{_LEFT - 2}%", y=f"{y + 4:.0f}", class_="value")


def _times(window: FigureWindow) -> list[Markup]:
    """Return marks and labels at round times."""
    first, length = window.slots[0], window.step_ms * len(window.slots)
    every = next(ms for ms in _TIMES if 5 * ms >= length)
    words = "%H:%M" if every < _DAY_MS else "%d %b"
    drawn = []
    for at in range(-(-first // every) * every, first + length, every):
        x = f"{_LEFT + (_RIGHT - _LEFT) * (at - first) / length:.2f}%"
        label = f"{datetime.fromtimestamp(at / 1000, UTC):{words}}"
        drawn += [
            element("line", x1=x, x2=x, y1=_BOTTOM, y2=_BOTTOM + 4, class_="grid"),
            element("text", label, x=x, y=_BOTTOM + 17, class_="time"),
        ]
    return drawn


def _figures(
    title: str,
    window: FigureWindow,
    series: Sequence[Series],
    columns: Sequence[tuple[int | None, ...]],
) -> Markup:
    """Return the slots that have a value, newest first, as a table that opens."""
    rows = [
        (
            moment(at, form="%d %b %H:%M"),
            *("–" if value is None else str(value) for value in column),
        )
        for at, column in zip(window.slots, columns, strict=True)
        if any(value is not None for value in column)
    ]
    header = ("from (UTC)", *(one.name for one in series))
    return element(
        "details",
        element("summary", f"{title} as a table"),
        element(
            "div",
            table(header, reversed(rows), caption=title, stacks=False),
            class_="scroll", tabindex=0, role="region", aria_label=f"{title} as a table",
        ),
    )  # fmt: skip
