"""Batching: calls of one moment share one round trip.

A round trip through an asyncio driver takes several times the CPU of the question it carries. Under
load most calls find another one on its way: they wait for it, and then go together.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Coroutine, Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Generic, TypeVar

from quietswap.service.base.clock import Clock

Q = TypeVar("Q")
A = TypeVar("A")

HOLD_S = 0.005
"""Longest time in seconds that a batch on its way holds up the next one."""
MOST_BATCHES = 8
"""Most batches on their way at the same time."""


class CallBatcher(Generic[Q, A]):
    """Collects calls and answers them together.

    `answer` gets the questions of a batch and the loop's time (s) at the oldest one. It returns
    their answers in the same order, or raises, which then every caller gets.

    A batch starts at the end of the loop's turn if none is on its way, otherwise when one returns,
    or after `HOLD_S`: a slow answer holds up its own callers only. Calls of one turn are therefore
    one batch, of at most `at_once`. A batch runs in a task and a context of its own: no caller can
    cancel it.
    """

    def __init__(
        self, answer: Callable[[Sequence[Q], float], Awaitable[Sequence[A]]], at_once: int = 256
    ) -> None:
        self._answer = answer
        self._at_once = at_once
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._asked_at = 0.0
        self._start: asyncio.Handle | None = None
        self._batches: set[asyncio.Task[None]] = set()

    async def __call__(self, question: Q) -> A:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        if not self._waiting:
            self._asked_at = loop.time()
            self._start = (
                loop.call_later(HOLD_S, self._send) if self._batches else loop.call_soon(self._send)
            )
        self._waiting.append((question, future))
        return await future

    def _send(self) -> None:
        """Start a batch of what waits, if there is something and there may be one more batch."""
        if self._start is not None:
            self._start.cancel()
            self._start = None
        if not self._waiting or len(self._batches) >= MOST_BATCHES:
            return
        batch = self._waiting[: self._at_once]
        del self._waiting[: self._at_once]
        unanswered = [one for one in batch if not one[1].done()]
        task = asyncio.get_running_loop().create_task(
            self._run(unanswered, self._asked_at), context=Context()
        )
        self._batches.add(task)
        task.add_done_callback(self._ended)
        if self._waiting:
            self._send()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._batches.discard(task)
        self._send()

    async def _run(self, batch: Sequence[tuple[Q, "asyncio.Future[A]"]], asked_at: float) -> None:
        try:
            answers = await self._answer([question for question, _ in batch], asked_at)
            pairs = list(zip(batch, answers, strict=True))
        except asyncio.CancelledError:  # the loop ends
            for _, future in batch:
                future.cancel()
            raise
        except Exception as error:  # noqa: BLE001  it is the callers'
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in pairs:
            if not future.done():
                future.set_result(answer)


T = TypeVar("T")


async def bounded_gather(
    items: Collection[T], work: Callable[[T], Awaitable[None]], *, limit: int
) -> None:
    """Run `work` for each item, at most `limit` at a time, in the order of the items.

    An exception stops no other item. The first one is raised after all items have ended.
    """
    waiting = iter(items)
    errors: list[Exception] = []

    async def worker() -> None:
        for item in waiting:
            try:
                await work(item)
            except Exception as error:  # noqa: BLE001  raised below
                errors.append(error)

    await asyncio.gather(*(worker() for _ in range(min(limit, len(items)))))
    if errors:
        raise errors[0]


class CircuitBreaker:
    """Opens for `pause_s` seconds after `failures` failures in a row.

    After the pause calls are allowed again, and the first further failure opens it again. `probe`
    lets only one caller try after the pause. A success closes it.
    """

    def __init__(self, clock: Clock, *, failures: int = 1, pause_s: float) -> None:
        self._clock = clock
        self._threshold = failures
        self._pause_s = pause_s
        self.failures = 0
        """Failures since the last success."""
        self._open_until = -math.inf

    @property
    def is_open(self) -> bool:
        return self._clock.monotonic() < self._open_until

    @property
    def left_s(self) -> float:
        """Seconds for which it stays open; 0 if it is closed."""
        return max(self._open_until - self._clock.monotonic(), 0.0)

    @property
    def is_tripped(self) -> bool:
        """Whether the last `failures` calls failed, also after the pause."""
        return self.failures >= self._threshold

    def record_failure(self) -> None:
        self.failures += 1
        self.probe()

    def record_success(self) -> None:
        self.failures, self._open_until = 0, -math.inf

    def probe(self) -> None:
        """Open it for all others while a call after the pause is in flight; no-op if closed."""
        if self.is_tripped:
            self.open_for(self._pause_s)

    def open_for(self, seconds: float) -> None:
        """Open the circuit for this time, whatever the number of failures."""
        self._open_until = self._clock.monotonic() + seconds


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Runs each execution in a task of its own: a cancelled caller does not cancel the others.

    The execution also ends where no caller is left. Its exception is then dropped. Each caller has
    a future of its own: one that waited for the task, by `asyncio.shield`, would resume one turn of
    the event loop later.
    """

    def __init__(self) -> None:
        self._callers: dict[K, list[asyncio.Future[V]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._callers)

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the result of the execution in flight for `key`, or of a new one of `work`.

        Raises what it raises.
        """
        callers = self._callers.get(key)
        if callers is None:
            callers = self._callers[key] = []
            task = asyncio.create_task(self._run(key, callers, work))
            self._tasks.add(task)
            task.add_done_callback(lambda task: self._ended(key, callers, task))
        return await _joined(callers)

    async def wait_for(self, key: K) -> V | None:
        """Return the result of the execution in flight; None if there is none."""
        callers = self._callers.get(key)
        if callers is None:
            return None
        return await _joined(callers)

    async def drain(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(
        self,
        key: K,
        callers: "list[asyncio.Future[V]]",
        work: Callable[[], Coroutine[Any, Any, V]],
    ) -> None:
        try:
            result = await work()
        except Exception as error:  # noqa: BLE001  it is each caller's
            _settle(callers, methodcaller("set_exception", error))
        else:
            _settle(callers, methodcaller("set_result", result))
        finally:
            del self._callers[key]

    def _ended(
        self, key: K, callers: "list[asyncio.Future[V]]", task: "asyncio.Task[None]"
    ) -> None:
        """Tell the callers that are left how it ended: cancelled, maybe before it began, or by an
        exception such as SystemExit.
        """
        self._tasks.discard(task)
        if self._callers.get(key) is callers:
            del self._callers[key]
        if task.cancelled():
            _settle(callers, methodcaller("cancel"))
        elif error := task.exception():
            _settle(callers, methodcaller("set_exception", error))


def _joined(callers: "list[asyncio.Future[V]]") -> "asyncio.Future[V]":
    future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
    callers.append(future)
    return future


def _settle(
    callers: "list[asyncio.Future[V]]", settle: Callable[["asyncio.Future[V]"], object]
) -> None:
    """Settle the callers that were not cancelled, and forget all.

    An exception holds the list by its traceback, so it would hold itself by a future in it.
    """
    waiting = [caller for caller in callers if not caller.done()]
    callers.clear()
    for caller in waiting:
        settle(caller)


@dataclass(slots=True)
class TokenBucket:
    """`tokens` at the time `at` (monotonic seconds). Negative tokens are a debt."""

    tokens: float
    at: float

    def refill(self, now: float, per_second: float, capacity: float) -> None:
        """Add the tokens since `at`, up to `capacity`."""
        self.tokens = min(capacity, self.tokens + (now - self.at) * per_second)
        self.at = now
