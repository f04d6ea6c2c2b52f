"""Rate windows in memory: fixed, opened by the first hit, exact within one process."""

from collections import OrderedDict

from quietswap.ports.outside import Clock
from quietswap.ports.stores import RateWindow

_MOST = 200_000
"""Windows kept in memory, some 200 bytes each."""


class MemoryRates:
    """Implements quietswap.ports.stores.RateStore for one process.

    Memory is bounded by `most` windows: when more are open, the one opened first is forgotten. Keep
    populations that strangers can blow up (client addresses) in a store of their own.
    """

    def __init__(self, clock: Clock, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()

    @property
    def size(self) -> int:
        """Return how many windows are kept."""
        return len(self._windows)

    async def hit(self, key: str, limit: int, window_s: int) -> RateWindow:
        now = self._clock.now_ms()
        ends, count = self._windows.get(key, (0, 0))
        # A window that ends later than a full one could means that the clock was set back.
        if not now < ends <= now + 1000 * window_s:
            self._forget(key, now)
            ends, count = now + 1000 * window_s, 0
        self._windows[key] = (ends, count + 1)
        return window_state(count + 1, limit, ends)

    def _forget(self, key: str, now: int) -> None:
        """Make room for one window, and drop up to two that are over: so none stays for good."""
        self._windows.pop(key, None)
        for _ in range(2):
            oldest = next(iter(self._windows), None)
            over = oldest is not None and self._windows[oldest][0] <= now
            if oldest is not None and (over or len(self._windows) >= self._most):
                del self._windows[oldest]


def window_state(count: int, limit: int, ends_ms: int) -> RateWindow:
    """Return the state after the `count`-th hit of a window of `limit` that ends at `ends_ms`."""
    return RateWindow(count <= limit, limit, max(0, limit - count), ends_ms)
