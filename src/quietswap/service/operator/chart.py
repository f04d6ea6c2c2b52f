"""Charts as SVG, drawn by the server: lines or stacked bars over slots of time, with both axes.

A chart has no script and no inline style, so it obeys the policy of the pages. Its figures are in
a table below it, for those who cannot see it or want a value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from quietswap.rules.operator.figures import FigureRow, FigureWindow, by_slot, distribution
from quietswap.rules.orders.order import OrderEventType
from quietswap.rules.time_units import DAY_MS, HOUR_MS
from quietswap.service.operator.page import render

_PLOT = {"x0": 13, "x1": 98, "y0": 8, "y1": 148}
"""Edges of the plot: x in percent of the width, y in pixels."""
_TIMES = [hours * HOUR_MS for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168)]
"""Distances of labels on the axis of time."""
COLOURS = tuple(f"s{place}" for place in range(8))
"""Classes of the style sheet for things without a meaning of their own, such as sources."""

ENDS: dict[str, tuple[str, str]] = {
    OrderEventType.INCLUDED: ("confirmed", "good"),
    OrderEventType.REVERTED: ("reverted", "bad"),
    OrderEventType.EXPIRED: ("expired", "s0"),
    OrderEventType.REFUSED: ("refused or not sent", "s3"),
    OrderEventType.NOT_SENT: ("refused or not sent", "s3"),
    OrderEventType.NONCE_TAKEN: ("replaced by the wallet", "quiet"),
}
"""Name and colour of each end of an order."""
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
    present = {name_of(row) for row in rows}
    named = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(sorted(present - {*styles}))}
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
        if name in present
    ]


def chart(
    title: str, unit: str, window: FigureWindow, series: Sequence[Series], *, stacked: bool = False
) -> Markup:
    """Return `series` over the slots of a window, with the axes of time (UTC) and of value.

    Lines by default; `stacked`: bars, of counts. The axis of value includes zero. A chart without
    a value says so.
    """
    columns = [*zip(*(one.values for one in series), strict=True)]
    if stacked:
        reach = [sum(value or 0 for value in column) for column in columns if any(column)]
    else:
        reach = [value for column in columns for value in column if value is not None]
    ticks = _ticks(min(*reach, 0), max(*reach, 0)) if reach else range(0)
    paths = (_bars(series, ticks) if stacked else _lines(series, ticks)) if reach else []
    return render(
        "chart.html",
        title=title,
        unit=unit,
        window=window,
        kind="bars" if stacked else "lines",
        reach=reach,
        plot=_PLOT,
        ticks=[(_y(tick, ticks), f"{tick:,}") for tick in ticks],
        times=_times(window),
        drawn=[*zip(series, paths, strict=False)],
        names=[one.name for one in series],
        rows=[*zip(window.slots, columns, strict=bool(reach))],
    )


def _ticks(low: int, high: int) -> range:
    """Return about four round values; the first and the last enclose the range."""
    least = -(-max(high - low, 1) // 4)
    power = 10 ** (len(str(least)) - 1)
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= least)
    return range(low // step * step, max(-(-high // step), low // step + 1) * step + 1, step)


def _y(value: int, ticks: range) -> str:
    """Return the place of a value in percent of the height, from above."""
    return f"{100 * (ticks[-1] - value) / (ticks[-1] - ticks[0]):.2f}"


def _lines(series: Sequence[Series], ticks: range) -> list[str]:
    """Return steps: each value is a level as long as its slot."""
    drawn = []
    for one in series:
        path, is_open = "", False
        for slot, value in enumerate(one.values):
            if value is not None:
                y = _y(value, ticks)
                path += f"{f'V{y}' if is_open else f'M{slot},{y}'}H{slot + 1}"
            is_open = value is not None
        drawn.append(path)
    return drawn


def _bars(series: Sequence[Series], ticks: range) -> list[str]:
    """Return bars that stand on each other."""
    drawn = []
    sums = [0] * len(series[0].values)
    for one in series:
        path = ""
        for slot, value in enumerate(one.values):
            if value:
                low, sums[slot] = sums[slot], sums[slot] + value
                path += f"M{slot}.1,{_y(low, ticks)}h.8V{_y(sums[slot], ticks)}h-.8z"
        drawn.append(path)
    return drawn


def _times(window: FigureWindow) -> list[tuple[str, str]]:
    """Return place in percent of the width and label of round times."""
    first, length = window.slots[0], window.step_ms * len(window.slots)
    every = next(ms for ms in _TIMES if 5 * ms >= length)
    words, width = "%H:%M" if every < DAY_MS else "%d %b", _PLOT["x1"] - _PLOT["x0"]
    return [
        (
            f"{_PLOT['x0'] + width * (at - first) / length:.2f}",
            f"{datetime.fromtimestamp(at / 1000, UTC):{words}}",
        )
        for at in range(-(-first // every) * every, first + length, every)
    ]
