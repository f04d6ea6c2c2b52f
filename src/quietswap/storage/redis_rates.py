"""Rate windows in Redis or Valkey: one budget for all processes, one round trip per hit."""

import asyncio

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from quietswap.ports.stores import RateWindow, StoreDown
from quietswap.storage.rates import window_state

_PREFIX = "quietswap:rate:"

_HIT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = redis.call('HMGET', KEYS[1], 'ends', 'count')
local ends, count = tonumber(window[1] or 0), tonumber(window[2] or 0)
if now >= ends then
  ends, count = now + tonumber(ARGV[1]), 0
end
count = count + 1
redis.call('HSET', KEYS[1], 'ends', ends, 'count', count)
redis.call('PEXPIREAT', KEYS[1], ends)
return {count, ends}
"""
"""Time is the server's, so that hosts with different clocks share one window."""


class RedisRates:
    """Implements quietswap.ports.stores.RateStore for any number of processes."""

    def __init__(self, client: Redis, patience_s: float, waiting: int) -> None:
        self._client = client
        self._patience_s = patience_s
        self._limit = waiting
        self._users = 0
        self._hit = client.register_script(_HIT)

    @classmethod
    def open(
        cls, url: str, *, connections: int = 16, patience_s: float = 1.0, waiting: int = 1000
    ) -> "RedisRates":
        """Return a store on `redis://`, `rediss://`, `valkey://` or `unix://`; connects when used.

        Each hit ends within `patience_s` seconds; beyond `waiting` at a time one fails at once.
        Raises ValueError for a URL that cannot be read.
        """
        pool = BlockingConnectionPool.from_url(
            url.replace("valkey", "redis", 1) if url.startswith("valkey") else url,
            max_connections=connections,
            timeout=patience_s,
            socket_timeout=patience_s,
            socket_connect_timeout=patience_s,
            # A hit that was sent may have been counted: sending it again would count it twice.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        return cls(Redis.from_pool(pool), patience_s, waiting)

    def check(self) -> None:
        """Raise TypeError, ValueError or AttributeError for options no connection takes."""
        self._client.connection_pool.make_connection()  # type: ignore[no-untyped-call]

    async def hit(self, key: str, limit: int, window_s: int) -> RateWindow:
        """Count one request. Raises StoreDown when Redis does not answer in time."""
        if self._users >= self._limit:
            raise StoreDown("too many calls are waiting for Redis")
        self._users += 1
        try:
            async with asyncio.timeout(self._patience_s):
                count, ends = await self._hit(keys=[_PREFIX + key], args=[1000 * window_s])
        except (RedisError, OSError, TimeoutError) as error:
            raise StoreDown(f"Redis: {type(error).__name__}") from error
        finally:
            self._users -= 1
        return window_state(int(count), limit, int(ends))

    async def ping(self) -> None:
        """Return when Redis counts, which a full one or a replica does not. Raises StoreDown."""
        await self.hit("ready", limit=1, window_s=1)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
