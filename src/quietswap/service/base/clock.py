"""Port: the clock."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time is injected, so that tests control it."""

    def now_ms(self) -> int:
        """Return Unix milliseconds."""

    def monotonic(self) -> float:
        """Return monotonic seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""


class SystemClock:
    monotonic = staticmethod(time.monotonic)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
