"""Values in words, the same on every page."""

from collections.abc import Mapping
from datetime import UTC, datetime

from markupsafe import Markup

from quietswap.rules.orders.statistics import Percentiles
from quietswap.rules.time_units import DAY_S, HOUR_S, MINUTE_S


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
    return f"{found.p50} / {found.p90} / {found.p99} {unit}" if found else "–"


def age(ms: int) -> str:
    """Return a span of time in its largest unit, rounded down."""
    seconds = max(ms, 0) // 1000
    for unit, length in (("d", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def listed(counts: Mapping[str, int]) -> str:
    """Return names with their counts, the greatest first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in ordered) or "–"


def cents(amount: int | None) -> str:
    """Return USD cents as an amount."""
    return "–" if amount is None else f"{amount // 100:,}.{amount % 100:02} USD"


def moment(at_ms: object, otherwise: str = "–", form: str = "%Y-%m-%d %H:%M:%S") -> Markup | str:
    """Return a time in Unix ms as UTC text, in a form of strftime; `otherwise` without a number."""
    if not isinstance(at_ms, int):
        return otherwise
    try:
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(at_ms)
    element = Markup('<time datetime="{}">{}</time>')
    return element.format(at.isoformat(timespec="milliseconds"), f"{at:{form}}")
