"""Limits for the numbers of a service or node; a number outside is refused or limited.

Without them a hostile service could make a client poll without pause, sleep for years, run out of
memory or print a megabyte. They are no part of the API: real answers are far within them. The waits
that a caller sets have limits, too: a client without a pause would use up the limits of its key.
"""

import math
from decimal import Decimal

LEAST_INTERVAL_S, MOST_INTERVAL_S = 1.0, 60.0
"""The range of the poll interval that a service may set, in s."""
MOST_RETRY_S = 300.0
"""The longest wait for a `retryAfter`, in s."""
MAX_BODY = 4 * 2**20
"""Largest body of an answer that is read, in bytes after decompression."""
MOST_WAIT_S = 86_400.0
"""The longest pause or timeout that a caller may set, in s: a day."""
MAX_AMOUNT = 2**256 - 1
"""The largest EVM integer; larger amounts cannot exist."""

_MOST_DIGITS = len(str(MAX_AMOUNT))
_MOST_USD = Decimal(10) ** 18
_FINEST_EXPONENT = -60


def amount(text: str) -> int:
    """Return an amount of smallest units or wei. Raises ValueError unless it fits into 256 bits."""
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise ValueError("expected a decimal string of at most 78 digits")
    found = int(text)
    if found > MAX_AMOUNT:
        raise ValueError("an amount is at most 2^256 - 1")
    return found


def figure(value: Decimal) -> None:
    """Refuse a USD value or percentage outside any realistic range. Raises ValueError."""
    if not value.is_finite() or abs(value) > _MOST_USD:
        raise ValueError("expected a number between -10^18 and 10^18")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent < _FINEST_EXPONENT:
        raise ValueError("expected a number of at most 60 decimals")


def wait(name: str, seconds: float) -> None:
    """Refuse a pause or timeout of the caller that is not above 0 s, or is more than a day.

    Raises ValueError.
    """
    if not 0 < seconds <= MOST_WAIT_S:
        raise ValueError(
            f"{name} must be seconds above 0, at most {MOST_WAIT_S:.0f}, not {seconds}"
        )


def interval(suggested_s: float) -> float:
    """Return the suggested poll interval in s, limited to the allowed range."""
    if not math.isfinite(suggested_s):
        return MOST_INTERVAL_S
    return min(max(suggested_s, LEAST_INTERVAL_S), MOST_INTERVAL_S)


def retry_after(asked_s: float | None) -> float | None:
    """Return the requested wait in s, limited to `MOST_RETRY_S`; None if none is requested."""
    if asked_s is None or math.isnan(asked_s):
        return None
    return min(max(asked_s, 0.0), MOST_RETRY_S)
