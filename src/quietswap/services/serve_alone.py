"""Without a shared rate store one process serves from a database, and a second one must not begin.

Each would count its own window, and a key would have as many budgets as there are processes.
"""

import asyncio
from typing import Never

from quietswap.ports.outside import Clock
from quietswap.ports.stores import Leadership, RateStore, RateWindow, StoreDown

PREDECESSOR_S = 12.0
"""A process that was told to end has ten seconds: its successor waits a little longer."""
_ASK_EVERY_S = 0.25
_KEEP_EVERY_S = 1.0

_WHY = (
    "another process serves from this database and storage.redis_url is not set: with more than "
    "one process the rate limit needs a Redis or Valkey they share"
)


class NotAlone(Exception):
    """Another process serves already; the message says what to set."""


class ServeAlone:
    """Holds `lock`, one for all who serve from the same database."""

    def __init__(self, lock: Leadership, clock: Clock) -> None:
        self._lock = lock
        self._clock = clock

    async def begin(self, within_s: float) -> None:
        """Return once this process holds the lock. Raises NotAlone when another one keeps it."""
        until = self._clock.monotonic() + within_s
        while not await self._lock.hold():
            if self._clock.monotonic() >= until:
                raise NotAlone(_WHY)
            await self._clock.sleep(_ASK_EVERY_S)

    async def keep(self) -> Never:
        """Ask for the lock again and again: it is lost with its connection or its file.

        Whoever cancels this does not cut a question off, which would give the lock away.
        """
        while True:
            await asyncio.shield(self._lock.hold())
            await self._clock.sleep(_KEEP_EVERY_S)

    def check(self) -> None:
        """Return while this process holds the lock. Raises StoreDown."""
        if not self._lock.is_held:
            raise StoreDown(f"the database is away, or {_WHY}")


class SoleRates:
    """Implements quietswap.ports.stores.RateStore while no other process may count."""

    def __init__(self, rates: RateStore, alone: ServeAlone) -> None:
        self._rates = rates
        self._alone = alone

    async def hit(self, key: str, limit: int, window_s: int) -> RateWindow:
        """Count one request. Raises StoreDown where another process may be counting."""
        self._alone.check()
        return await self._rates.hit(key, limit, window_s)
