"""Hits that share a round trip to Redis count exactly as hits that are sent alone."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.storage.rate_limits import MemoryRateStore
from quietswap.service.storage.redis_rate_limits import RedisRateStore
from tests.databases import RedisServer
from tests.storage.examples import HandClock
from tests.storage.rate_worker import AT_ONCE, LIMIT
from tests.waiting import WITHIN_S

LONG_S = 86_400


@pytest.fixture
async def shared(redis_server: RedisServer) -> AsyncIterator[RedisRateStore]:
    rates = RedisRateStore.open(redis_server.url, patience_s=WITHIN_S)
    yield rates
    await rates.close()


def commands(redis_server: RedisServer) -> int:
    """Return how many scripts Redis has run."""
    lines = redis_server.command("INFO", "commandstats").splitlines()
    calls = [line for line in lines if line.startswith(("cmdstat_evalsha:", "cmdstat_eval:"))]
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in calls)


async def test_64_parallel_requests_of_two_processes_meet_the_limit_exactly(
    redis_server: RedisServer,
) -> None:
    command = [sys.executable, "-m", "tests.storage.rate_worker", redis_server.url, "two"]
    pipe = asyncio.subprocess.PIPE
    started = [
        await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe) for _ in range(2)
    ]
    for process in started:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    said = await asyncio.gather(*(process.communicate(b"go\n") for process in started))
    states = [tuple(state) for out, _ in said for state in json.loads(out)]
    allowed = [remaining for is_allowed, remaining in states if is_allowed]
    assert sorted(allowed) == list(range(LIMIT)), "each request has a place of its own"
    refused = [remaining for is_allowed, remaining in states if not is_allowed]
    assert refused == [0] * (2 * AT_ONCE - LIMIT)


async def test_hits_at_once_have_the_states_of_hits_one_after_the_other(
    shared: RedisRateStore, clock: HandClock
) -> None:
    memory = MemoryRateStore(clock)
    hits = [(f"mixed-{n % 3}", 5 + n % 3, n % 4) for n in range(40)]
    at_once = await asyncio.gather(
        *(shared.hit(key, limit, LONG_S, count) for key, limit, count in hits)
    )
    alone = [await memory.hit(key, limit, LONG_S, count) for key, limit, count in hits]
    assert [(s.allowed, s.limit, s.remaining) for s in at_once] == [
        (s.allowed, s.limit, s.remaining) for s in alone
    ]


async def test_hits_of_one_turn_are_one_script_per_window(
    shared: RedisRateStore, redis_server: RedisServer
) -> None:
    await shared.hit("warm", 10, LONG_S)
    before = commands(redis_server)
    await asyncio.gather(*(shared.hit(f"key-{n % 2}", 1000, LONG_S) for n in range(64)))
    assert commands(redis_server) - before == 2


@pytest.mark.parametrize("keys", [1, 5])
async def test_a_redis_that_forgot_the_script_counts_once(
    shared: RedisRateStore, redis_server: RedisServer, keys: int
) -> None:
    names = [f"flushed-{keys}-{n}" for n in range(keys)]
    await asyncio.gather(*(shared.hit(name, 10, LONG_S) for name in names))
    redis_server.command("SCRIPT", "FLUSH")
    states = await asyncio.gather(*(shared.hit(name, 10, LONG_S) for name in names))
    assert [state.remaining for state in states] == [8] * keys


async def test_a_master_that_became_a_replica_is_left(tmp_path: Path) -> None:
    """Its connections stay open, and the name in the URL leads to the new master."""
    name, old, new = tmp_path / "redis.sock", RedisServer(), RedisServer()
    name.symlink_to(old.url.removeprefix("unix://"))
    rates = RedisRateStore.open(f"unix://{name}", patience_s=WITHIN_S)
    try:
        await asyncio.gather(*(rates.hit(f"key-{n}", 10, LONG_S) for n in range(4)))
        name.unlink()
        name.symlink_to(new.url.removeprefix("unix://"))
        old.command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(StoreUnavailable, match="Redis"):
            await rates.hit("key", 10, LONG_S)
        assert (await rates.hit("key", 10, LONG_S)).remaining == 9
    finally:
        await rates.close()
        old.close()
        new.close()
