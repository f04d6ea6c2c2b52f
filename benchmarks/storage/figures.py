"""Timing calls, and what the times come to."""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.storage.calls import Call


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one call: the median and the 99th percentile."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: a call on the small database and on the large one, of `orders` orders."""

    database: str
    orders: int
    call: str
    at_once: int
    small: Timing
    large: Timing

    @property
    def growth(self) -> float:
        """Return how many times longer the median call takes on the large database."""
        return self.large.p50 / self.small.p50


async def timed(calls: Sequence[Call], at_once: int) -> Timing:
    """Make the calls, `at_once` at any time; each is timed from its own beginning."""
    times: list[float] = []
    waiting = iter(calls)

    async def work(calls: Iterator[Call]) -> None:
        for call in calls:
            begun = time.perf_counter()
            await call()
            times.append((time.perf_counter() - begun) * 1000)

    await asyncio.gather(*(work(waiting) for _ in range(at_once)))
    times.sort()
    return Timing(statistics.median(times), times[min(len(times) * 99 // 100, len(times) - 1)])


def middle(rounds: Sequence[Timing]) -> Timing:
    """Return the median over rounds, so that one disturbed round does not count."""
    return Timing(
        statistics.median(timing.p50 for timing in rounds),
        statistics.median(timing.p99 for timing in rounds),
    )
