"""Values in their JSON form, so that msgspec encodes them without a Python call per value.

The contract declares these members with the types that a client decodes: WireAmount, Decimal and
datetime. A Struct that is built to be encoded holds strings and floats instead, hence `Any`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a naive UTC value, the quickest to print


_SECONDS = tuple(f"{second:02d}." for second in range(60))
_MILLISECONDS = tuple(f"{ms:03d}Z" for ms in range(1000))


@lru_cache(maxsize=16_384)
def _minute(minutes: int) -> str:
    return (_EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:")


def iso_timestamp(unix_ms: int) -> Any:
    """Return Unix milliseconds as ISO 8601 in UTC, always with three decimals and `Z`.

    Most times of a page are in a few minutes, whose text is cached.
    """
    seconds, ms = divmod(unix_ms, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{_minute(minutes)}{_SECONDS[second]}{_MILLISECONDS[ms]}"


def number(value: Decimal | None) -> Any:
    """Return a USD value or a percentage, rounded to six decimals; 0 where it is unknown."""
    return 0.0 if value is None else round(float(value), 6)


amount: Callable[[int | None], Any] = str
"""Returns an amount in smallest units or wei as a decimal string."""


def json_form(value: Any) -> Any:
    """Return a value that already has its JSON form."""
    return value
