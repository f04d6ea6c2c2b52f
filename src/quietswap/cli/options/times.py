"""Times and spans of time as options: `30m`, `12h`, `7d`, or a UTC date."""

import re
from datetime import UTC, datetime
from typing import Any

import click

from quietswap.rules.time_units import DAY_MS, HOUR_MS, MINUTE_MS
from quietswap.service.base.clock import SystemClock

_SPAN = re.compile(r"(\d{1,6})([mhd])", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_UNIT_MS = {"m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}

_LONGEST_DAYS = 3650


def span_ms(text: str) -> int | None:
    """Return a span such as `24h` in ms; None for other text."""
    span = _SPAN.fullmatch(text)
    return None if span is None else int(span[1]) * _UNIT_MS[span[2]]


class _Moment(click.ParamType):  # type: ignore[type-arg]
    """A time as Unix ms, given as a UTC date or as a span before now; or `ahead`, after now."""

    name = "time"

    def __init__(self, *, ahead: bool) -> None:
        self._ahead = ahead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        now, span = SystemClock().now_ms(), span_ms(value)
        if span is not None:
            moment = now + span if self._ahead else now - span
        else:
            moment = self._date(value)
        if self._ahead and moment <= now:
            self.fail(f"{value!r} is over already")
        return moment

    def _date(self, value: str) -> int:
        try:
            if not _DATE.match(value):  # Python reads 1712011512345 as a time of the year 1712
                raise ValueError(value)
            moment = datetime.fromisoformat(value)
        except ValueError:
            hint = "; a Unix time is not taken" if value.isdecimal() else ""
            self.fail(f"{value!r} is neither 30m, 12h, 7d nor 2026-11-20 or 2026-11-20T08:00{hint}")
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class _Span(click.ParamType):  # type: ignore[type-arg]
    """A span of time in ms."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        span = span_ms(value) if isinstance(value, str) else value
        if span is None:
            self.fail(f"{value!r} is no span: write 30m, 24h or 7d; 0m is none")
        if span > _LONGEST_DAYS * _UNIT_MS["d"]:
            self.fail(f"{value!r} is too long: at most {_LONGEST_DAYS}d")
        return span


SINCE, EXPIRY = _Moment(ahead=False), _Moment(ahead=True)
SPAN = _Span()

since_option = click.option(
    "--since", type=SINCE, metavar="TIME", help="Not older than: 30m, 12h, 7d, or 2026-11-20 (UTC)."
)


def iso_text(unix_ms: int) -> str:
    """Return a time as ISO 8601 in UTC to the second, such as `2026-11-20T08:00:00Z`."""
    return datetime.fromtimestamp(unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_text(unix_ms: int | None, absent: str = "-") -> str:
    """Return a time as ISO 8601 in UTC to the minute, `absent` for None."""
    if unix_ms is None:
        return absent
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
