"""One question at a time: callers who ask the same meanwhile share its answer."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class InFlight(Generic[K, V]):
    """Wraps `ask`. One caller hanging up does not take the others down."""

    def __init__(self, ask: Callable[[K], Coroutine[Any, Any, V]]) -> None:
        self._ask = ask
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def __call__(self, key: K) -> V:
        """Return what `ask(key)` returns, or raise what it raises."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(self._ask(key))
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    def _ended(self, key: K, task: asyncio.Task[V]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # retrieved even if every caller has gone by now
