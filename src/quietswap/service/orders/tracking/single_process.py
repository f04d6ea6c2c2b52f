"""Refuse a second API process on the same database unless all have a shared rate store.

Each process would count its own window, so a key would have one budget per process. A process
without a shared rate store also keeps in memory what it read of orders.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Never

from quietswap.rules.orders.stores import LeaderLock, RateStore, RateWindow, StoreUnavailable
from quietswap.service.base.clock import Clock

PREDECESSOR_S = 12.0
"""A process has ten seconds to stop; the next one waits a little longer."""
_ASK_EVERY_S = 0.25
_KEEP_EVERY_S = 1.0

WHY_NOT_SHARED = (
    "a process without storage.redis_url serves from this database and counts the requests for "
    "itself: stop it first"
)
WHY_NOT_ALONE = (
    "another process serves from this database and storage.redis_url is not set: with more than "
    "one process the rate limit needs a Redis or Valkey they share"
)

_NO_ANSWER = (
    "the lock of the processes that serve cannot be had: the database is away, or has no connection"
    " left"
)


class SecondProcessError(Exception):
    """Another process serves already; the message says what to set."""


class SingleProcessGuard:
    """Hold `lock`, for which all API processes of one database compete.

    With `shared`, the lock excludes only a process without a shared rate store.
    """

    def __init__(self, lock: LeaderLock, clock: Clock, *, shared: bool = False) -> None:
        self._lock = lock
        self._clock = clock
        self._shared = shared
        self._why_not = WHY_NOT_SHARED if shared else WHY_NOT_ALONE

    async def begin(self, within_s: float, say: Callable[[float], None] | None = None) -> None:
        """Return once this process holds the lock; if `shared`, also if it cannot be asked for.

        `say(within_s)` is called once if it has to wait for another process. Raises
        SecondProcessError if one keeps the lock, else StoreUnavailable if it cannot be asked for.
        """
        until = self._clock.monotonic() + within_s
        while not await self._lock.acquire_or_renew():
            is_elsewhere = self._lock.is_elsewhere
            if self._shared and not is_elsewhere:
                return
            if self._clock.monotonic() >= until:
                if is_elsewhere:
                    raise SecondProcessError(self._why_not)
                raise StoreUnavailable(_NO_ANSWER)
            if say is not None and is_elsewhere:
                say(within_s)
                say = None
            await self._clock.sleep(_ASK_EVERY_S)

    @asynccontextmanager
    async def held(self, within_s: float) -> AsyncIterator[None]:
        """Hold the lock during the block. Raises as `begin` does."""
        await self.begin(within_s)
        keeping = asyncio.create_task(self.keep())
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def keep(self) -> Never:
        """Renew the lock forever: it is lost with its connection or its file.

        Cancellation does not interrupt a renewal, which would release the lock.
        """
        while True:
            await asyncio.shield(self._lock.acquire_or_renew())
            await self._clock.sleep(_KEEP_EVERY_S)

    def check(self) -> None:
        """Return while this process holds the lock. Raises StoreUnavailable."""
        if not self._lock.is_held:
            raise StoreUnavailable(f"the database is away, or {self._why_not}")


class GuardedRateStore:
    """Implements quietswap.rules.orders.stores.RateStore while this process holds the lock."""

    def __init__(self, rates: RateStore, alone: SingleProcessGuard) -> None:
        self._rates = rates
        self._alone = alone

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        """Count `count` requests. Raises StoreUnavailable if another process may be counting."""
        self._alone.check()
        return await self._rates.hit(key, limit, window_s, count)
