"""Limits for the numbers of a service or node; a number outside is refused or limited.

Without them a hostile service could make a client poll without pause, sleep for years, run out of
memory or print a megabyte. They are no part of the API: real answers are far within them. The
waits that a caller sets have limits, too: a client without a pause would use up the limits of its
key.
"""

import math

from quietswap.rules.time_units import DAY_S

LEAST_INTERVAL_S, MOST_INTERVAL_S = 1.0, 60.0
"""The range of the poll interval that a service may set, in s."""
MOST_RETRY_S = 300.0
"""The longest wait for a `retryAfter`, in s."""
MAX_BODY = 4 * 2**20
"""Largest body of an answer that is read, in bytes after decompression."""
MOST_WAIT_S = float(DAY_S)
"""The longest pause or timeout that a caller may set, in s: a day."""
MAX_LEVELS = 200
"""Nested arrays and objects of an answer; real ones have less than 20."""
MOST_NUMBER_CHARS = 40
"""Characters of a number in an answer; the shortest form of a double has 24 at most."""

EXACT_DIGITS = 15
"""Significant digits that each double holds (IEEE 754)."""


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
