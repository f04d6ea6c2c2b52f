"""Values of the view in words, the same on every page."""

from collections.abc import Sequence

from quietswap.operator.page import Child, Markup, element
from quietswap.orders.statistics import Percentiles

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_GOOD = frozenset({"ok", "confirmed", "live", "closed", "answered"})
_BAD = frozenset({"failed", "revoked", "open", "down"})


def share(part: int, whole: int) -> str:
    """Return a share in percent; a dash of nothing. 100 % is all of it, and 0 % none."""
    if not whole:
        return "–"
    percent = 100 * part / whole
    if 0 < part < whole:
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f} %" if part not in (0, whole) else f"{percent:.0f} %"


def spread(found: Percentiles | None, unit: str) -> str:
    """Return median, 90th and 99th percentile."""
    if found is None:
        return "–"
    return f"{found.p50} / {found.p90} / {found.p99} {unit}"


def age(ms: int) -> str:
    """Return a span of time in its largest unit, rounded down."""
    seconds = max(ms, 0) // 1000
    for unit, length in (("d", _DAY_S), ("h", _HOUR_S), ("min", _MINUTE_S)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def state(word: str) -> Markup:
    """Return a word of state in its colour. The word itself says it, too."""
    kind = "good" if word in _GOOD else "bad" if word in _BAD else "quiet"
    return element("span", word, class_=kind)


def listed(counts: Sequence[tuple[str, int]]) -> Child:
    """Return names with their counts, the greatest first."""
    ordered = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in ordered) or "–"


def cents(amount: int | None) -> str:
    """Return USD cents as an amount."""
    return "–" if amount is None else f"{amount // 100:,}.{amount % 100:02} USD"
