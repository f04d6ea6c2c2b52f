"""A process of its own that counts requests of one key at once, in a Redis that others use.

Waits for a line on standard input, then prints [allowed, remaining] of each request as JSON.
"""

import asyncio
import json
import sys

from quietswap.service.storage.redis_rate_limits import RedisRateStore
from tests.waiting import WITHIN_S

AT_ONCE = 64
LIMIT = 100
WINDOW_S = 86_400


async def main(url: str, key: str) -> None:
    """Count `AT_ONCE` requests at once."""
    rates = RedisRateStore.open(url, patience_s=WITHIN_S)
    await rates.ping()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    states = await asyncio.gather(*(rates.hit(key, LIMIT, WINDOW_S) for _ in range(AT_ONCE)))
    await rates.close()
    sys.stdout.write(json.dumps([(state.allowed, state.remaining) for state in states]) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
