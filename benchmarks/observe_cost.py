"""What an event costs, in microseconds: counts, durations, the request's line, spans switched off.

    .venv/bin/python benchmarks/observe_cost.py

With a folder for several processes: `PROMETHEUS_MULTIPROC_DIR=$(mktemp -d)` in front.
"""

import asyncio
import os
import sys
import timeit
from collections.abc import Callable, Coroutine
from typing import Any

from quietswap.service import observe
from quietswap.service.observe import metrics

_ROUNDS, _TIMES = 5, 50_000


def measured(name: str, work: Callable[[], object]) -> None:
    """Print the best of a few rounds."""
    work()
    best = min(timeit.repeat(work, number=_TIMES, repeat=_ROUNDS)) / _TIMES
    print(f"{name:34s} {best * 1e6:5.2f} µs")


def finish(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration:
        return


async def nothing() -> None:
    """Be awaited."""


async def measure() -> None:
    """Print every cost. Lines of the log are written by the event loop that runs this."""
    measured("a count", lambda: metrics.source_answers("velora", "answered").inc())
    measured("a duration", lambda: metrics.request_seconds("order_status").observe(0.1))
    measured("a source's answer", lambda: observe.source_answered("velora", "answered", 0.1))
    measured("a request began", lambda: observe.request_began("0123456789abcdef"))
    observe.request_began("0123456789abcdef")
    observe.key_recognised("key_0123456789abcdef", "client_0123456789abcdef")
    measured("a request, counted and logged", lambda: observe.request_answered("order", 200, 0.1))
    measured("an event, logged", lambda: observe.source_missed("velora", "no_route", "no route"))
    measured("awaiting nothing", lambda: finish(nothing()))
    measured("the same in a span, switched off", lambda: finish(observe.in_span("a", nothing())))  # type: ignore[arg-type]
    measured("the same as a phase", lambda: finish(observe.in_phase("storing", nothing())))


def main() -> None:
    """Measure with the log going nowhere: what a disk or a pipe takes is not ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    observe.write_logs()
    asyncio.run(measure())


if __name__ == "__main__":
    main()
