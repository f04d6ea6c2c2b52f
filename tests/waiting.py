"""Waiting for what another process or thread brings about: for a condition, with one bound.

The bound only ends a test that would hang. No test may fail because a machine is slow.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

WITHIN_S = 60.0
"""Bound of every wait in seconds."""
LONG_S = 300.0
"""The same for a whole program, which waits for many things."""


def wait_until(holds: Callable[[], object], otherwise: object = "", every_s: float = 0.02) -> None:
    """Return as soon as `holds` is true, or fail with the text of `otherwise`.

    `otherwise` may be a function, which is called only if the wait fails. The longer it takes, the
    less often it looks: most conditions are requests to the process that is waited for.
    """
    began = time.monotonic()
    while not holds():
        waited_s = time.monotonic() - began
        if waited_s > WITHIN_S:
            raise AssertionError(otherwise() if callable(otherwise) else otherwise or holds)
        time.sleep(pause_s(waited_s, every_s))


def pause_s(waited_s: float, least_s: float) -> float:
    """Return the pause before the next look: an eighth of the wait so far, at most 0.25 s."""
    return max(least_s, min(waited_s / 8, 0.25))


async def eventually(claim: Callable[[], Awaitable[object]]) -> None:
    """Return as soon as `claim` is true of something outside this event loop, or fail."""
    began = time.monotonic()
    while not await claim():
        waited_s = time.monotonic() - began
        if waited_s > WITHIN_S:
            raise AssertionError(f"not within {WITHIN_S} s: {claim}")
        await asyncio.sleep(pause_s(waited_s, 0.01))
