"""Circuit breaker, token bucket, single flight and bounded gather."""

import asyncio
import gc
import weakref

import pytest

from quietswap.service.base.concurrency import (
    CircuitBreaker,
    SingleFlight,
    TokenBucket,
    bounded_gather,
)
from tests.manual_clock import ManualClock
from tests.virtual_time import run, turn


def test_a_circuit_opens_after_failures_in_a_row() -> None:
    clock = ManualClock(0)
    circuit = CircuitBreaker(clock, failures=3, pause_s=30)
    circuit.record_failure()
    circuit.record_failure()
    circuit.record_success()
    for _ in range(2):
        circuit.record_failure()
    assert not circuit.is_open, "a success starts the count again"
    circuit.record_failure()
    assert circuit.is_open
    clock.advance(29.9)
    assert circuit.is_open
    clock.advance(0.1)
    assert not circuit.is_open
    circuit.record_failure()
    assert circuit.is_open, "one failure after the pause opens it again"
    circuit.record_success()
    assert not circuit.is_open


def test_only_one_call_probes_after_the_pause() -> None:
    clock = ManualClock(0)
    circuit = CircuitBreaker(clock, failures=1, pause_s=30)
    circuit.probe()
    assert not circuit.is_open, "a closed circuit does not limit calls"
    circuit.record_failure()
    clock.advance(30)
    assert not circuit.is_open
    circuit.probe()
    assert circuit.is_open
    circuit.record_success()
    circuit.probe()
    assert not circuit.is_open


def test_a_circuit_opens_for_a_given_time_without_a_failure() -> None:
    clock = ManualClock(0)
    circuit = CircuitBreaker(clock, failures=5, pause_s=30)
    circuit.open_for(60)
    clock.advance(59)
    assert circuit.is_open
    assert not circuit.is_tripped
    clock.advance(1)
    assert not circuit.is_open


def test_a_bucket_refills_up_to_its_capacity_and_repays_a_debt() -> None:
    bucket = TokenBucket(-2.0, at=10.0)
    bucket.refill(10.5, per_second=2.0, capacity=5.0)
    assert (bucket.tokens, bucket.at) == (-1.0, 10.5)
    bucket.refill(100.0, per_second=2.0, capacity=5.0)
    assert bucket.tokens == 5.0


async def test_concurrent_calls_share_one_execution() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    release, runs = asyncio.Event(), 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        await release.wait()
        return runs

    callers = [asyncio.create_task(flight("a", work)) for _ in range(3)]
    other = asyncio.create_task(flight("b", work))
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    waiting = asyncio.create_task(flight.wait_for("a"))
    await asyncio.sleep(0)
    release.set()
    assert await callers[1] == await callers[2] == await waiting
    await other
    assert runs == 2, "one execution per key"
    assert await flight.wait_for("a") is None
    assert await flight("a", work) == 3, "the next call runs again"


async def test_an_execution_ends_without_its_callers() -> None:
    """Its exception is retrieved: asyncio must not report it at garbage collection."""
    flight: SingleFlight[str, None] = SingleFlight()
    ended, reported = asyncio.Event(), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    async def work() -> None:
        try:
            await asyncio.sleep(0.01)
            raise ValueError("no caller is left")
        finally:
            ended.set()

    caller = asyncio.create_task(flight("a", work))
    await asyncio.sleep(0)
    caller.cancel()
    await flight.drain()
    assert ended.is_set()
    assert await flight.wait_for("a") is None
    assert reported == []


def test_callers_resume_one_turn_after_the_result() -> None:
    async def work() -> int:
        await asyncio.sleep(1)
        return turn()

    async def resumed(flight: SingleFlight[str, int]) -> tuple[int, int]:
        ended_in = await flight("a", work)
        return ended_in, turn()

    async def calls() -> list[tuple[int, int]]:
        flight: SingleFlight[str, int] = SingleFlight()
        return await asyncio.gather(resumed(flight), resumed(flight))

    for ended_in, resumed_in in run(calls()):
        assert resumed_in == ended_in + 1


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_cancelled_execution_cancels_its_callers(has_begun: bool) -> None:
    flight: SingleFlight[str, bool] = SingleFlight()
    callers = [asyncio.create_task(flight("a", asyncio.Event().wait)) for _ in range(2)]
    await asyncio.sleep(0)
    [execution] = asyncio.all_tasks() - {asyncio.current_task(), *callers}
    if has_begun:
        await asyncio.sleep(0)
    execution.cancel()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2
    assert len(flight) == 0


async def test_all_callers_receive_the_exception() -> None:
    flight: SingleFlight[str, None] = SingleFlight()

    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError

    results = await asyncio.gather(*(flight("a", work) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [ValueError] * 3


async def test_an_exception_of_any_kind_is_each_callers() -> None:
    flight: SingleFlight[str, None] = SingleFlight()
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    class Base(BaseException):
        pass

    async def work() -> None:
        await asyncio.sleep(0)
        raise Base

    results = await asyncio.gather(*(flight("a", work) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [Base] * 2
    gc.collect()
    assert reported == []


async def test_an_exception_is_freed_with_its_callers() -> None:
    """The collector runs rarely in the service: a cycle for each failure would fill its memory."""
    flight: SingleFlight[str, None] = SingleFlight()
    raised: list[weakref.ref[Exception]] = []

    async def work() -> None:
        await asyncio.sleep(0)
        error = _Told()
        raised.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    gc.disable()
    try:
        with pytest.raises(_Told):
            await flight("a", work)
        await asyncio.sleep(0)
        assert raised[0]() is None
    finally:
        gc.enable()


class _Told(Exception):
    """Other exceptions cannot be referenced weakly."""


@pytest.mark.parametrize("count", [0, 1, 3, 10])
async def test_gather_limits_the_number_of_running_items(count: int) -> None:
    running, most, done = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    await bounded_gather(range(count), work, limit=3)
    assert done == list(range(count))
    assert most == min(count, 3)


async def test_an_exception_stops_no_other_item() -> None:
    done = []

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        if item in (1, 4):
            raise ValueError(item)
        done.append(item)

    with pytest.raises(ValueError, match="1"):
        await bounded_gather(range(6), work, limit=2)
    assert done == [0, 2, 3, 5]


@pytest.mark.parametrize(("count", "tasks"), [(0, 0), (2, 2), (9, 3)])
async def test_a_bounded_gather_starts_no_task_without_an_item(count: int, tasks: int) -> None:
    before, seen = len(asyncio.all_tasks()), [0]

    async def work(_: int) -> None:
        seen.append(len(asyncio.all_tasks()) - before)
        await asyncio.sleep(0)

    await bounded_gather(range(count), work, limit=3)
    assert max(seen) == tasks
