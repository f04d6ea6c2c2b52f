"""Rate windows in Redis or Valkey, shared by all processes. Needs the extra `redis`.

Concurrent hits share a round trip.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from quietswap.rules.orders.stores import RateWindow, StoreUnavailable
from quietswap.service.base.concurrency import CallBatcher
from quietswap.service.storage.rate_limits import window_state

_PREFIX = "quietswap:rate:"

_HIT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = redis.call('HMGET', KEYS[1], 'ends', 'count')
local ends, count = tonumber(window[1] or 0), tonumber(window[2] or 0)
if now >= ends then
  ends, count = now + tonumber(ARGV[1]), 0
end
count = count + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'ends', ends, 'count', count)
redis.call('PEXPIREAT', KEYS[1], ends)
return {count, ends}
"""
"""The script uses the server's time, so that hosts with different clocks share one window. It has
one key: a server that spreads its keys over shards refuses a script of several."""

_REFUSALS = {"READONLY": "it is a replica", "OOM ": "its memory is full"}
"""By Redis's own words; an error within a script has them in its middle."""

_Window = tuple[str, int]
"""Key and length (s) of a window."""


@dataclass(frozen=True, slots=True)
class _Hit:
    window: _Window
    count: int


class RedisRateStore:
    """Implements quietswap.rules.orders.stores.RateStore for any number of processes.

    Hits of one window that come while an answer is on its way are counted by one call. Redis
    returns the count after the last of them, so that each has its own place in the window, as if it
    had been sent alone: no request is counted ahead, and what a process shows is exact.
    """

    def __init__(self, client: Redis, patience_s: float, waiting: int) -> None:
        self._client = client
        self._patience_s = patience_s
        self._limit = waiting
        self._users = 0
        self._batches = CallBatcher(self._answer)

    @classmethod
    def open(
        cls, url: str, *, connections: int = 16, patience_s: float = 1.0, waiting: int = 1000
    ) -> "RedisRateStore":
        """Return a store on `redis://`, `rediss://`, `valkey://` or `unix://`.

        It connects at first use. Each hit ends within `patience_s` seconds. Above `waiting`
        concurrent hits, further hits fail at once. Raises ValueError for an invalid URL.
        """
        pool = BlockingConnectionPool.from_url(
            url.replace("valkey", "redis", 1) if url.startswith("valkey") else url,
            max_connections=connections,
            timeout=patience_s,
            socket_timeout=patience_s,
            socket_connect_timeout=patience_s,
            # A hit that was sent may have been counted, so a retry could count it twice.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        return cls(Redis.from_pool(pool), patience_s, waiting)

    def check(self) -> None:
        """Raise TypeError, ValueError or AttributeError for invalid options of the URL."""
        self._client.connection_pool.make_connection()  # type: ignore[no-untyped-call]

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        """Count `count` requests. Raises StoreUnavailable if Redis does not respond in time."""
        if self._users >= self._limit:
            raise StoreUnavailable("too many calls are waiting for Redis")
        self._users += 1
        try:
            total, ends = await self._batches(_Hit((key, window_s), count))
        finally:
            self._users -= 1
        return window_state(total, limit, ends)

    async def _answer(self, hits: Sequence[_Hit], asked_at: float) -> Sequence[tuple[int, int]]:
        """Return (count after the hit, end in Unix ms) of each hit. Raises StoreUnavailable."""
        sums: dict[_Window, int] = {}
        for hit in hits:
            sums[hit.window] = sums.get(hit.window, 0) + hit.count
        try:
            async with asyncio.timeout_at(asked_at + self._patience_s):
                states = dict(zip(sums, await self._count(sums), strict=True))
        except (RedisError, OSError, TimeoutError) as error:
            # A former master that refuses as a replica keeps its connections: the next hit asks
            # whichever server the name of the URL leads to by then.
            await self._disconnect()
            raise StoreUnavailable(f"Redis: {_reason(error)}") from error
        counted = {window: states[window][0] - total for window, total in sums.items()}
        answers = []
        for hit in hits:
            counted[hit.window] += hit.count
            answers.append((counted[hit.window], states[hit.window][1]))
        return answers

    async def _count(self, sums: dict[_Window, int]) -> Sequence[tuple[int, int]]:
        """Add to each window in one round trip; return (count, end in Unix ms) of each."""
        pipeline = self._client.pipeline(transaction=False)
        for (key, window_s), total in sums.items():
            pipeline.eval(_HIT, 1, _PREFIX + key, 1000 * window_s, total)
        return [(int(count), int(ends)) for count, ends in await pipeline.execute()]

    async def _disconnect(self) -> None:
        with suppress(RedisError, OSError):
            await self._client.connection_pool.disconnect(inuse_connections=False)

    async def ping(self) -> None:
        """Raise StoreUnavailable unless it accepts writes: a full Redis or a replica does not."""
        await self.hit("ready", limit=1, window_s=1)

    async def close(self) -> None:
        await self._client.aclose()


def _reason(error: Exception) -> str:
    words = str(error)
    return next((why for sign, why in _REFUSALS.items() if sign in words), type(error).__name__)
