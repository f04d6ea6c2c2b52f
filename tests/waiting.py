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

    `otherwise` may be a function, which is called only if the wait fails.
    """
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(otherwise() if callable(otherwise) else otherwise or holds)
        time.sleep(every_s)


async def eventually(claim: Callable[[], Awaitable[object]]) -> None:
    """Return as soon as `claim` is true of something outside this event loop, or fail."""
    deadline = time.monotonic() + WITHIN_S
    while not await claim():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {WITHIN_S} s: {claim}")
        await asyncio.sleep(0.01)
