"""Single flight: concurrent calls with one key share one execution and its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Flight(Generic[V]):
    """One execution, and a future for each caller.

    A caller that waited for the task, by `asyncio.shield`, would resume one turn of the event loop
    later.
    """

    task: "asyncio.Task[None] | None" = None
    callers: "list[asyncio.Future[V]]" = field(default_factory=list)

    def landed(self) -> "asyncio.Future[V]":
        """Return a future of the result. Cancelling it changes nothing for other callers."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self.callers.append(future)
        return future

    def waiting(self) -> "list[asyncio.Future[V]]":
        """Return the futures of the callers that are left."""
        return [caller for caller in self.callers if not caller.done()]


class SingleFlight(Generic[K, V]):
    """Runs each execution in a task of its own: a cancelled caller does not cancel the others.

    The execution also ends where no caller is left. Its exception is then dropped.
    """

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[V]] = {}

    def __len__(self) -> int:
        """Return the number of executions in flight."""
        return len(self._flights)

    async def __call__(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Return the result of the execution in flight for `key`, or of a new one of `work`.

        Raises what it raises.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight()
            flight.task = asyncio.create_task(self._run(key, flight, work))
            flight.task.add_done_callback(lambda _: self._cancelled(key, flight))
        return await flight.landed()

    async def wait_for(self, key: K) -> V | None:
        """Return the result of the execution in flight; None if there is none."""
        flight = self._flights.get(key)
        return None if flight is None else await flight.landed()

    async def drain(self) -> None:
        """Wait until every execution in flight has ended."""
        tasks = [flight.task for flight in self._flights.values() if flight.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(
        self, key: K, flight: _Flight[V], work: Callable[[], Coroutine[Any, Any, V]]
    ) -> None:
        try:
            result = await work()
        except Exception as error:  # noqa: BLE001  it is each caller's
            for caller in flight.waiting():
                caller.set_exception(error)
        else:
            for caller in flight.waiting():
                caller.set_result(result)
        finally:
            del self._flights[key]

    def _cancelled(self, key: K, flight: _Flight[V]) -> None:
        """Cancel the callers that are left: the execution was cancelled, maybe before it began."""
        if self._flights.get(key) is flight:
            del self._flights[key]
        for caller in flight.waiting():
            caller.cancel()
