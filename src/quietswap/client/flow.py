"""Flows without I/O: generators that yield what they need and are sent the outcome.

The same flow runs on blocking and on asynchronous transports; `run` and `run_async` differ only in
`await`. What a flow may need is an `Effect`.
"""

from collections.abc import Awaitable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from quietswap.client.calls import Call
from quietswap.client.chain import NodeCall
from quietswap.client.errors import ClientError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Let `seconds` pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadClock:
    """Tell the time, as a `Moment`."""


@dataclass(frozen=True, slots=True)
class Moment:
    """`seconds` on a clock that never goes back, and Unix time in ms."""

    seconds: float
    unix_ms: int


Effect = Call[Any] | NodeCall[Any] | Pause | ReadClock
Flow = Generator[Effect, Any, T]


class Blocking(Protocol):
    """Performs one effect and returns its outcome. Raises ClientError."""

    def perform(self, effect: Effect) -> Any: ...


class Asynchronous(Protocol):
    """Performs one effect and returns its outcome. Raises ClientError."""

    def perform(self, effect: Effect) -> Awaitable[Any]: ...


def ask(call: Call[T] | NodeCall[T]) -> Flow[T]:
    """Perform one request inside a flow and return its typed answer."""
    return cast("T", (yield call))


def now() -> Flow[Moment]:
    """Read the clock inside a flow."""
    return cast("Moment", (yield ReadClock()))


def run(flow: Flow[T], transport: Blocking) -> T:
    """Run a flow to its end."""
    try:
        effect = next(flow)
        while True:
            try:
                outcome = transport.perform(effect)
            except ClientError as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)


async def run_async(flow: Flow[T], transport: Asynchronous) -> T:
    """Run a flow to its end."""
    try:
        effect = next(flow)
        while True:
            try:
                outcome = await transport.perform(effect)
            except ClientError as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(outcome)
    except StopIteration as end:
        return cast("T", end.value)
