"""Rate windows in memory and in a real Redis."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from quietswap.rules.orders.stores import RateStore, RateWindow, StoreUnavailable
from quietswap.service.storage.rate_limits import MemoryRateStore, SharedOrOwnShare
from quietswap.service.storage.redis_rate_limits import RedisRateStore
from tests.databases import RedisServer
from tests.storage.examples import T0, HandClock
from tests.waiting import WITHIN_S, eventually

LONG_S = 86_400
"""A window that does not end while a test runs, on Redis by the real clock."""


@pytest.fixture
async def shared(redis_server: RedisServer) -> AsyncIterator[RedisRateStore]:
    rates = RedisRateStore.open(redis_server.url, patience_s=WITHIN_S)
    yield rates
    await rates.close()


@pytest.fixture(params=["memory", "redis"])
def rates(request: pytest.FixtureRequest, clock: HandClock) -> RateStore:
    if request.param == "memory":
        return MemoryRateStore(clock)
    store: RateStore = request.getfixturevalue("shared")
    return store


async def test_a_window_counts_down(rates: RateStore) -> None:
    states = [await rates.hit("countdown", 3, LONG_S) for _ in range(5)]
    assert [state.allowed for state in states] == [True, True, True, False, False]
    assert [state.remaining for state in states] == [2, 1, 0, 0, 0]
    assert len({(state.limit, state.reset_ms) for state in states}) == 1


async def test_several_requests_count_at_once(rates: RateStore) -> None:
    states = [await rates.hit("batch", 10, 60, count) for count in (4, 5, 2, 1)]
    assert [state.allowed for state in states] == [True, True, False, False]
    assert [state.remaining for state in states] == [6, 1, 0, 0]


async def test_keys_have_windows_of_their_own(rates: RateStore) -> None:
    for _ in range(3):
        await rates.hit("spent", 2, LONG_S)
    assert (await rates.hit("fresh", 2, LONG_S)).remaining == 1


async def test_parallel_hits_are_counted_exactly(rates: RateStore) -> None:
    async def client() -> int:
        return sum([(await rates.hit("parallel", 300, LONG_S)).allowed for _ in range(50)])

    assert sum(await asyncio.gather(*(client() for _ in range(8)))) == 300


async def test_a_budget_is_shared_by_all_processes(redis_server: RedisServer) -> None:
    stores = [RedisRateStore.open(redis_server.url, patience_s=WITHIN_S) for _ in range(3)]
    states = await asyncio.gather(*(store.hit("all", 10, LONG_S) for store in stores * 5))
    assert sum(state.allowed for state in states) == 10
    for store in stores:
        await store.close()


async def test_a_memory_window_ends_and_begins_anew(clock: HandClock) -> None:
    rates = MemoryRateStore(clock)
    assert await rates.hit("key", 1, 60) == RateWindow(True, 1, 0, T0 + 60_000)
    clock.ms += 59_999
    assert not (await rates.hit("key", 1, 60)).allowed
    clock.ms += 1
    assert await rates.hit("key", 1, 60) == RateWindow(True, 1, 0, T0 + 120_000)


async def test_a_clock_set_back_does_not_lock_a_key_out(clock: HandClock) -> None:
    rates = MemoryRateStore(clock)
    await rates.hit("key", 1, 60)
    clock.ms -= 3_600_000
    assert (await rates.hit("key", 1, 60)).reset_ms == clock.ms + 60_000


async def test_memory_is_bounded_and_the_oldest_window_goes_first(clock: HandClock) -> None:
    rates = MemoryRateStore(clock, most=100)
    for n in range(100):
        await rates.hit(f"key-{n}", 5, 60)
    await rates.hit("one more", 5, 60)
    assert (await rates.hit("key-99", 5, 60)).remaining == 3
    assert (await rates.hit("key-0", 5, 60)).remaining == 4
    assert rates.size == 100


async def test_windows_that_are_over_go_by_themselves(clock: HandClock) -> None:
    rates = MemoryRateStore(clock)
    for n in range(100):
        await rates.hit(f"old-{n}", 5, 60)
    clock.ms += 60_000
    for n in range(50):
        await rates.hit(f"new-{n}", 5, 60)
    assert rates.size == 50


async def test_a_redis_window_ends_by_the_clock_of_redis(shared: RedisRateStore) -> None:
    before = time.time() * 1000
    state = await shared.hit("reset", 1, 60)
    after = time.time() * 1000
    assert before - 1 <= state.reset_ms - 60_000 <= after + 1


async def test_a_redis_window_ends_and_begins_anew(
    shared: RedisRateStore, redis_server: RedisServer
) -> None:
    first = await shared.hit("short", 1, 60)
    redis_server.command("HSET", "quietswap:rate:short", "ends", str(first.reset_ms - 60_000))
    state = await shared.hit("short", 1, 60)
    assert state.allowed
    assert state.reset_ms >= first.reset_ms


async def test_redis_forgets_a_window_that_is_over(
    shared: RedisRateStore, redis_server: RedisServer
) -> None:
    await shared.hit("forgotten", 1, 60)
    assert 0 < int(redis_server.command("PTTL", "quietswap:rate:forgotten")) <= 60_000


async def test_redis_away_is_said_in_time_and_forgotten_when_it_is_back(
    redis_server: RedisServer,
) -> None:
    rates = RedisRateStore.open(redis_server.url, patience_s=WITHIN_S)
    await rates.hit("away", 5, LONG_S)
    redis_server.kill()
    with pytest.raises(StoreUnavailable):
        await rates.hit("away", 5, 60)
    with pytest.raises(StoreUnavailable):
        await rates.ping()
    redis_server.start()
    assert (await rates.hit("away", 5, LONG_S)).remaining == 4
    await rates.close()


async def _answers(rates: RedisRateStore) -> bool:
    try:
        return (await rates.hit("asked", 10**9, LONG_S)).allowed
    except StoreUnavailable:
        return False


async def test_a_hanging_redis_is_given_up_in_time(redis_server: RedisServer) -> None:
    rates = RedisRateStore.open(redis_server.url, patience_s=0.3)
    await eventually(lambda: _answers(rates))
    redis_server.freeze()
    try:
        results = await asyncio.gather(
            *(rates.hit("hanging", 5, 60) for _ in range(50)), return_exceptions=True
        )
    finally:
        redis_server.thaw()
    assert {type(result) for result in results} == {StoreUnavailable}
    await eventually(lambda: _answers(rates))
    await rates.close()


async def test_calls_that_wait_for_redis_are_bounded(redis_server: RedisServer) -> None:
    rates = RedisRateStore.open(redis_server.url, patience_s=0.3, waiting=5)
    redis_server.freeze()
    try:
        queued = [asyncio.ensure_future(rates.hit("queue", 5, 60)) for _ in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="too many"):
            await rates.hit("queue", 5, 60)
        assert not any(one.done() for one in queued)
        await asyncio.gather(*queued, return_exceptions=True)
    finally:
        redis_server.thaw()
    await eventually(lambda: _answers(rates))
    await rates.close()


class AwayOrThere:
    """A shared store that can be away."""

    def __init__(self, clock: HandClock) -> None:
        self.is_away = False
        self.asked = 0
        self._windows = MemoryRateStore(clock)

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable("Redis: gone")
        return await self._windows.hit(key, limit, window_s, count)


async def test_without_the_shared_store_each_process_takes_its_share(clock: HandClock) -> None:
    shared = AwayOrThere(clock)
    rates = SharedOrOwnShare(shared, MemoryRateStore(clock), clock)
    rates.processes = 3
    assert (await rates.hit("key", 10, 60)).remaining == 9
    shared.is_away = True
    states = [await rates.hit("key", 10, 60) for _ in range(4)]
    assert [(state.allowed, state.limit) for state in states] == [(True, 3)] * 3 + [(False, 3)]
    assert (await rates.hit("rare", 2, 60)).limit == 1, "a share is never nothing"
    assert rates.fault == "Redis: gone"
    asked = shared.asked
    await rates.hit("key", 10, 60)
    assert shared.asked == asked, "no request waits for what was away a moment ago"
    shared.is_away = False
    clock.ms += 1100
    await rates.hit("key", 10, 60)
    for _ in range(3):
        await asyncio.sleep(0)
    assert rates.fault is None
    assert (await rates.hit("key", 10, 60)).remaining == 8
