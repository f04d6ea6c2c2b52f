"""Batching: calls of one moment share one round trip.

A round trip through an asyncio driver takes several times the CPU of the question it carries. Under
load most calls find another one on its way: they wait for it, and then go together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

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
        """Return the answer to one question. Raises what `answer` raises."""
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
        wanted = [one for one in batch if not one[1].done()]
        task = asyncio.get_running_loop().create_task(
            self._run(wanted, self._asked_at), context=Context()
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
