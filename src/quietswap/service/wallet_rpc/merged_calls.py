"""Merges concurrent reads of one caller into fewer batches: a round trip costs more than a call.

Callers are never merged with each other: a failed or large read is that of its caller alone. A
caller is a client, with all its RPC URLs, or the visitors of one address.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeAnswer, RpcCall
from quietswap.rules.clients import Party

Send = Callable[[Sequence[RpcCall], Party], Awaitable[Sequence[NodeAnswer]]]
AT_ONCE = 4
"""Batches of one caller in flight. Further reads wait for one of them, and then go together."""
MOST_CALLS = 99
"""Calls in one merged batch, beside the one that tells the chain."""


@dataclass(eq=False, slots=True)
class _Read:
    calls: Sequence[RpcCall]
    answers: "asyncio.Future[Sequence[NodeAnswer]]"


@dataclass(slots=True)
class _Caller:
    in_flight: int = 0
    waiting: list[_Read] = field(default_factory=list)


class MergedCalls:
    """Calls `send` with the reads of a caller: at once, or merged while `at_once` are in flight."""

    def __init__(self, send: Send, at_once: int = AT_ONCE) -> None:
        self._send = send
        self._at_once = at_once
        self._callers: dict[Party, _Caller] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self, calls: Sequence[RpcCall], caller: Party) -> Sequence[NodeAnswer]:
        state = self._callers.setdefault(caller, _Caller())
        if state.in_flight >= self._at_once:
            read = _Read(calls, asyncio.get_running_loop().create_future())
            state.waiting.append(read)
            return await read.answers
        state.in_flight += 1
        try:
            return await self._send(calls, caller)
        finally:
            self._landed(caller, state)

    def _landed(self, name: Party, caller: _Caller) -> None:
        """Send what waits, as one batch; forget a caller without reads."""
        caller.in_flight -= 1
        together = _first(caller.waiting)
        if together:
            caller.in_flight += 1
            task = asyncio.create_task(self._together(name, caller, together))
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._ended(done, together))
        elif not caller.in_flight:
            self._callers.pop(name, None)

    def _ended(self, task: "asyncio.Task[None]", reads: Sequence[_Read]) -> None:
        """Cancel the reads of a task that was cancelled, perhaps before it began."""
        self._tasks.discard(task)
        for read in reads:
            read.answers.cancel()

    async def _together(self, name: Party, caller: _Caller, reads: Sequence[_Read]) -> None:
        try:
            answers = await self._send([call for read in reads for call in read.calls], name)
            start = 0
            for read in reads:
                _settle(read, answers[start : start + len(read.calls)])
                start += len(read.calls)
        except NodeUnavailable:
            # one read may be too slow or too large: the others must not fail with it
            await asyncio.gather(*(self._alone(read, name) for read in reads))
        except Exception as error:  # noqa: BLE001  the readers raise it
            for read in reads:
                _settle(read, error)
        finally:
            self._landed(name, caller)

    async def _alone(self, read: _Read, name: Party) -> None:
        try:
            _settle(read, await self._send(read.calls, name))
        except Exception as error:  # noqa: BLE001  the reader raises it
            _settle(read, error)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _first(waiting: list[_Read]) -> list[_Read]:
    """Take the first reads that fit into one batch; those whose caller has gone are dropped."""
    batch: list[_Read] = []
    size = 0
    while waiting and (not batch or size + len(waiting[0].calls) <= MOST_CALLS):
        read = waiting.pop(0)
        if not read.answers.done():
            batch.append(read)
            size += len(read.calls)
    return batch


def _settle(read: _Read, outcome: Sequence[NodeAnswer] | Exception) -> None:
    if read.answers.done():
        return
    if isinstance(outcome, Exception):
        read.answers.set_exception(outcome)
    else:
        read.answers.set_result(outcome)
