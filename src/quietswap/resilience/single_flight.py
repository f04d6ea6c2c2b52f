"""Single flight: concurrent calls with one key share one execution and its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Runs each execution in a task of its own: a cancelled caller does not cancel the others.

    The execution also ends where no caller is left. Its exception is then dropped.
    """

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    def __len__(self) -> int:
        """Return the number of executions in flight."""
        return len(self._tasks)

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the result of the execution in flight for `key`, or of a new one of `work`.

        Raises what it raises.
        """
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    async def wait_for(self, key: K) -> V | None:
        """Return the result of the execution in flight; None if there is none."""
        task = self._tasks.get(key)
        return None if task is None else await asyncio.shield(task)

    async def drain(self) -> None:
        """Wait until every execution in flight has ended."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _ended(self, key: K, task: asyncio.Task[V]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved, for the case that no caller is left
