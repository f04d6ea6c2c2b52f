"""Flows without I/O: generators that yield an `Effect` and receive its outcome.

The same flow runs on the blocking and on the asynchronous transport: `run` and `run_async` differ
only in `await`.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from quietswap.client.api_calls import ApiCall
from quietswap.client.errors import (
    ClientError,
    NodeRpcError,
    NodeUnreachable,
    UnexpectedResponse,
)
from quietswap.client.event_stream import AwaitEvent, StreamPlace
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.rules.chain.rpc_wire import SEND

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait for `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadClock:
    """Read the clock; the outcome is a `ClockReading`."""


@dataclass(frozen=True, slots=True)
class ClockReading:
    """`seconds` of a monotonic clock, and Unix time in ms."""

    seconds: float
    unix_ms: int


Request = ApiCall[Any] | NodeCall[Any] | NodeBatch
Effect = Request | AwaitEvent | Sleep | ReadClock
Flow = Generator[Effect, Any, T]


BUSY_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses of a read while the caller's own node is busy, in s: 16 s in all, a provider's window."""


def perform(call: ApiCall[T] | NodeCall[T], pauses: Sequence[float] = BUSY_PAUSES_S) -> Flow[T]:
    """Perform one request inside a flow and return its typed answer.

    A read is repeated after each of `pauses` (s) while the caller's own node is busy.
    """
    is_read = isinstance(call, NodeCall) and call.method != SEND
    return cast("T", (yield from patient(call, pauses if is_read else ())))


def perform_all(
    *calls: NodeCall[Any], pauses: Sequence[float] = BUSY_PAUSES_S
) -> Flow[tuple[Any, ...]]:
    """Perform reads in one batch, so that one node answers all of them, in this order.

    A node that takes no batch is asked one by one.
    """
    try:
        results = yield from patient(NodeBatch(calls), pauses)
    except (NodeRpcError, UnexpectedResponse):  # of one call, or of batches
        results = []
        for call in calls:
            results.append((yield from perform(call, pauses)))
    return tuple(results)


def patient(request: Request, pauses: Sequence[float]) -> Flow[Any]:
    """Perform a request, and again after each pause while the caller's own node is busy."""
    for pause in pauses:
        try:
            return (yield request)
        except NodeUnreachable as error:
            if not error.is_busy:
                raise
            yield Sleep(pause)
    return (yield request)


def await_event(effect: AwaitEvent) -> Flow[StreamPlace | None]:
    return cast("StreamPlace | None", (yield effect))


def read_clock() -> Flow[ClockReading]:
    return cast("ClockReading", (yield ReadClock()))


def run(flow: Flow[T], perform_effect: Callable[[Effect], Any]) -> T:
    """Run a flow to its end and return its result."""
    try:
        effect = next(flow)
        while True:
            try:
                outcome = perform_effect(effect)
            except ClientError as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


async def run_async(flow: Flow[T], perform_effect: Callable[[Effect], Awaitable[Any]]) -> T:
    try:
        effect = next(flow)
        while True:
            try:
                outcome = await perform_effect(effect)
            except ClientError as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)
