"""Read-write lock of the node: client requests share it, the block builder holds it alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ReadWriteLock:
    """A lock with many readers (`visit`) or one writer (`build`). Waiting writers go first.

    During a build the node's mempool holds private transactions, which readers must not see.
    """

    def __init__(self) -> None:
        self._visitors = 0
        self._builders = 0
        self._changed = asyncio.Condition()
        self._building = asyncio.Lock()

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[None]:
        """Hold the lock together with other readers."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._builders)
            self._visitors += 1
        try:
            yield
        finally:
            self._visitors -= 1
            await self._notify()

    @asynccontextmanager
    async def build(self) -> AsyncIterator[None]:
        """Hold the lock alone."""
        self._builders += 1
        try:
            async with self._building:
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._visitors)
                yield
        finally:
            self._builders -= 1
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
