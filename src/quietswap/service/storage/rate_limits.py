"""Rate windows in memory: fixed, opened by the first hit, exact in one process."""

from collections import OrderedDict

from quietswap.rules.orders.stores import RateWindow
from quietswap.service.base.clock import Clock

_MOST = 200_000
"""Most windows in memory, about 200 bytes each."""


class MemoryRateStore:
    """Implements quietswap.rules.orders.stores.RateStore for one process.

    At most `most` windows are in memory; above this number, the one that was opened first is
    removed. Use a separate store for keys that strangers can create, such as client addresses.
    """

    def __init__(self, clock: Clock, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()

    @property
    def size(self) -> int:
        return len(self._windows)

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        now = self._clock.now_ms()
        ends, before = self._windows.get(key, (0, 0))
        # A window that ends later than a new one shows that the clock was set back.
        if not now < ends <= now + 1000 * window_s:
            self._forget(key, now)
            ends, before = now + 1000 * window_s, 0
        self._windows[key] = (ends, before + count)
        return window_state(before + count, limit, ends)

    def _forget(self, key: str, now: int) -> None:
        """Make room for one window and remove up to two that ended, so that none stays forever."""
        self._windows.pop(key, None)
        for _ in range(2):
            oldest = next(iter(self._windows), None)
            over = oldest is not None and self._windows[oldest][0] <= now
            if oldest is not None and (over or len(self._windows) >= self._most):
                del self._windows[oldest]


def window_state(count: int, limit: int, ends_ms: int) -> RateWindow:
    """Return the state after the `count`-th hit of a window of `limit` that ends at `ends_ms`."""
    return RateWindow(count <= limit, limit, max(0, limit - count), ends_ms)
