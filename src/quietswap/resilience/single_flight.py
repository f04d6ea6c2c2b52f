"""Single flight: concurrent calls with one key share one execution and its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Execution(Generic[V]):
    """One execution, and a future for each caller.

    A caller that waited for the task, by `asyncio.shield`, would resume one turn of the event loop
    later.
    """

    task: "asyncio.Task[None] | None" = None
    _callers: "list[asyncio.Future[V]]" = field(default_factory=list)

    def outcome(self) -> "asyncio.Future[V]":
        """Return a future for one caller. Cancelling it changes nothing for the others."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._callers.append(future)
        return future

    def succeed(self, result: V) -> None:
        """Give all callers the result."""
        for caller in self._taken():
            caller.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Give all callers the exception."""
        for caller in self._taken():
            caller.set_exception(error)

    def cancel(self) -> None:
        """Cancel all callers."""
        for caller in self._taken():
            caller.cancel()

    def _taken(self) -> "list[asyncio.Future[V]]":
        """Return the callers that were not cancelled, and forget all.

        An exception holds this object by its traceback, so it would hold itself by a future here.
        """
        callers, self._callers = self._callers, []
        return [caller for caller in callers if not caller.done()]


class SingleFlight(Generic[K, V]):
    """Runs each execution in a task of its own: a cancelled caller does not cancel the others.

    The execution also ends where no caller is left. Its exception is then dropped.
    """

    def __init__(self) -> None:
        self._executions: dict[K, _Execution[V]] = {}

    def __len__(self) -> int:
        """Return the number of executions in flight."""
        return len(self._executions)

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the result of the execution in flight for `key`, or of a new one of `work`.

        Raises what it raises.
        """
        execution = self._executions.get(key)
        if execution is None:
            execution = self._executions[key] = _Execution()
            execution.task = asyncio.create_task(self._run(key, execution, work))
            execution.task.add_done_callback(lambda task: self._ended(key, execution, task))
        return await execution.outcome()

    async def wait_for(self, key: K) -> V | None:
        """Return the result of the execution in flight; None if there is none."""
        execution = self._executions.get(key)
        return None if execution is None else await execution.outcome()

    async def drain(self) -> None:
        """Wait until every execution in flight has ended."""
        tasks = [one.task for one in self._executions.values() if one.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(
        self, key: K, execution: _Execution[V], work: Callable[[], Coroutine[Any, Any, V]]
    ) -> None:
        try:
            result = await work()
        except Exception as error:  # noqa: BLE001  it is each caller's
            execution.fail(error)
        else:
            execution.succeed(result)
        finally:
            del self._executions[key]

    def _ended(self, key: K, execution: _Execution[V], task: "asyncio.Task[None]") -> None:
        """Tell the callers that are left how it ended: cancelled, maybe before it began, or by an
        exception such as SystemExit.
        """
        if self._executions.get(key) is execution:
            del self._executions[key]
        if task.cancelled():
            execution.cancel()
        elif error := task.exception():
            execution.fail(error)
