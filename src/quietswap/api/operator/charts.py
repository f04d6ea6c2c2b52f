"""Charts as SVG, drawn by the server: a line or bars over slots of time."""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.api.operator.html import Markup, element

_WIDTH, _HEIGHT = 320, 80
_TOP, _BOTTOM = 6, 74


@dataclass(frozen=True, slots=True)
class Series:
    """Values by slot; None is a gap. `style` is a class of the style sheet."""

    name: str
    values: Sequence[float | None]
    style: str = "first"


def chart(title: str, unit: str, series: Sequence[Series], *, zero: bool = True) -> Markup:
    """Return lines of `series` over the same slots, with the range in words for who cannot see it.

    `zero`: the axis includes zero. A chart without a value says so.
    """
    values = [value for one in series for value in one.values if value is not None]
    if not values:
        return element(
            "figure", element("figcaption", title), element("p", "no figures yet", class_="none")
        )
    low, high = min(values), max(values)
    low, high = (min(low, 0), max(high, 0)) if zero else (low, high)
    said = f"{title}: between {min(values):g} and {max(values):g} {unit}"
    drawn = [_line(one, low, high) for one in series]
    axis = element("line", x1=0, x2=_WIDTH, y1=_y(0, low, high), y2=_y(0, low, high), class_="axis")
    legend = [
        element("span", one.name, class_=f"key {one.style}") for one in series if len(series) > 1
    ]
    return element(
        "figure",
        element("figcaption", title, " ", element("small", f"{low:g} to {high:g} {unit}")),
        element(
            "svg",
            axis if low <= 0 <= high else None,
            drawn,
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
            aria_label=said,
            preserveAspectRatio="none",
        ),
        element("p", legend, class_="legend") if legend else None,
    )


def _y(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.5
    return f"{_BOTTOM - share * (_BOTTOM - _TOP):.1f}"


def _line(series: Series, low: float, high: float) -> list[Markup]:
    """Return the runs of values between gaps; a single value is a short dash."""
    width = _WIDTH / max(len(series.values), 1)
    runs: list[list[str]] = [[]]
    for slot, value in enumerate(series.values):
        if value is None:
            runs.append([])
            continue
        y = _y(value, low, high)
        runs[-1].append(f"{slot * width:.1f},{y} {(slot + 1) * width:.1f},{y}")
    return [element("polyline", points=" ".join(run), class_=series.style) for run in runs if run]
