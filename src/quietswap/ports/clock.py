"""Port: the clock."""

from typing import Protocol


class Clock(Protocol):
    """Time is injected, so that tests control it."""

    def now_ms(self) -> int:
        """Return Unix milliseconds."""

    def monotonic(self) -> float:
        """Return monotonic seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""
