"""The chain's time as a clock, and how far the local clock is from it."""

from quietswap.service import observe
from quietswap.service.base.clock import Clock

AHEAD_S, BEHIND_S = 60, 5
"""A block is seen within seconds, and a few slots may be empty; none is older than its time."""


class ChainClock:
    """A `Clock` of the chain: the newest block's time, and what passed since it was first seen.

    Before the first block it is the local clock. With a node that stalls it goes on.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._block = 0
        self._seen: tuple[int, float] | None = None
        """Time of the newest block in ms, and the monotonic seconds at which it was first seen."""
        self.seconds: int | None = None
        """The local clock less the time of the newest block when it was first seen."""

    def measure(self, block: int, time_s: int) -> None:
        """Record the time of a block, if it is newer than the last; log when the skew begins."""
        if block <= self._block:
            return
        was_off = self.warning is not None
        self._seen = time_s * 1000, self._clock.monotonic()
        self._block, self.seconds = block, self._clock.now_ms() // 1000 - time_s
        observe.clock_measured(self.seconds)
        if self.warning is not None and not was_off:
            observe.clock_off(self.warning)

    def now_ms(self) -> int:
        if self._seen is None:
            return self._clock.now_ms()
        time_ms, seen_at = self._seen
        return time_ms + round((self._clock.monotonic() - seen_at) * 1000)

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    @property
    def warning(self) -> str | None:
        """Return what is wrong and what to do; None if nothing is."""
        if self.seconds is None or -BEHIND_S <= self.seconds <= AHEAD_S:
            return None
        if self.seconds > 0:
            text = f"the local clock is {self.seconds} s ahead of the newest block"
            return f"{text}: set it by NTP, or the node is behind the chain"
        text = f"the local clock is {-self.seconds} s behind the newest block"
        return f"{text}: set it by NTP; until it is past a router's deadline no order expires by it"
