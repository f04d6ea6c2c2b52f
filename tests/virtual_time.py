"""An event loop whose clock jumps to the next timer, so that waiting costs no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting for `timeout`, moves the loop's clock ahead by it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.selected = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("the loop would wait for ever: nothing is scheduled")
        self.now += max(timeout, 0)
        self.selected += 1
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs timers in order without waiting; real I/O has no place in it."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    @property
    def turns(self) -> int:
        """The number of turns until now: the loop selects once in each."""
        return self._jumping.selected


def turn() -> int:
    """Return the number of the running VirtualLoop's turn."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.turns


class LoopClock:
    """quietswap.service.base.clock.Clock on the running loop's time."""

    def now_ms(self) -> int:
        return round(asyncio.get_running_loop().time() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
