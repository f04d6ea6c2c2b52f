"""Who may look at the node when: everybody, or the block builder alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A lock that many visitors share and one builder holds alone.

    While the builder has its turn, private transactions stand in the node's mempool for a moment;
    the node's proxy lets nobody look at it then. A builder that waits comes before new visitors.
    """

    def __init__(self) -> None:
        self._visitors = 0
        self._builders = 0
        self._changed = asyncio.Condition()
        self._building = asyncio.Lock()

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[None]:
        """Look at the node together with other visitors."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._builders)
            self._visitors += 1
        try:
            yield
        finally:
            self._visitors -= 1
            await self._tell()

    @asynccontextmanager
    async def build(self) -> AsyncIterator[None]:
        """Have the node alone."""
        self._builders += 1
        try:
            async with self._building:
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._visitors)
                yield
        finally:
            self._builders -= 1
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
