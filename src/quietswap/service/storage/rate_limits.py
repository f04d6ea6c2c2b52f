"""Rate windows in memory: fixed, opened by the first hit, exact in one process.

They also stand in for a shared store that is away: each process then allows its share of a limit.
"""

import asyncio
from collections import OrderedDict

from quietswap.rules.orders.stores import RateStore, RateWindow, StoreUnavailable
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


_TRY_AGAIN_S = 1.0


class SharedOrOwnShare:
    """Implements quietswap.rules.orders.stores.RateStore for several processes.

    While `shared` is away, windows are counted in `own`, each with the process's share of the
    limit. `processes` is how many share it. `fault` says why `shared` is away, None if it is not.
    No request waits for a shared store that was away a moment ago.
    """

    def __init__(self, shared: RateStore, own: RateStore, clock: Clock) -> None:
        self._shared = shared
        self._own = own
        self._clock = clock
        self._try_at = 0.0
        self._attempt: asyncio.Task[None] | None = None
        self.processes = 1
        self.fault: str | None = None

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        """Count `count` requests, in the shared window or in this process's share of it."""
        if self.fault is None:
            try:
                return await self._shared.hit(key, limit, window_s, count)
            except StoreUnavailable as error:
                self._lose(str(error))
        if self._clock.monotonic() >= self._try_at and self._attempt is None:
            self._attempt = asyncio.create_task(self._try())
        return await self._own.hit(key, max(limit // self.processes, 1), window_s, count)

    async def probe(self) -> None:
        """Ask the shared store, so that `fault` is known without a request."""
        try:
            await self._shared.hit("ready", 1, 1)
        except StoreUnavailable as error:
            self._lose(str(error))
        else:
            if self.fault is not None:
                self.fault = None
                _observe(None)

    async def _try(self) -> None:
        try:
            await self.probe()
        finally:
            self._attempt = None

    def _lose(self, fault: str) -> None:
        if self.fault is None:
            _observe(fault)
        self.fault = fault
        self._try_at = self._clock.monotonic() + _TRY_AGAIN_S


def _observe(fault: str | None) -> None:
    from quietswap.service import observe  # a command must be able to import this without metrics

    observe.rates_shared(fault)


def window_state(count: int, limit: int, ends_ms: int) -> RateWindow:
    """Return the state after the `count`-th hit of a window of `limit` that ends at `ends_ms`."""
    return RateWindow(count <= limit, limit, max(0, limit - count), ends_ms)
