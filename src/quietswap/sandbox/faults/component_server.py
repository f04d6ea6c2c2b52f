"""A server of one part of the sandbox: a handler with its faults on its own port."""

import asyncio

from quietswap.sandbox.faults.active_faults import ActiveFaults
from quietswap.sandbox.faults.http_faults import with_http_faults
from quietswap.sandbox.faults.registry import Fault
from quietswap.sandbox.wire.http_server import Handler, HttpServer


class ComponentServer:
    """Serves `handler` with the active faults of `name`.

    The fault `down` closes the port. The same port is used again afterwards.
    """

    def __init__(
        self,
        name: str,
        board: ActiveFaults,
        handler: Handler,
        port: int = 0,
        *,
        yields: bool = False,
    ) -> None:
        self.name = name
        self._board = board
        self._server = HttpServer(with_http_faults(name, board, handler), port, yields=yields)
        self._moves: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._is_listening = False
        self._is_wanted = False

    @property
    def url(self) -> str:
        """The base URL, known once started."""
        return self._server.url

    async def start(self) -> str:
        """Listen, unless the part is `down` from the start, and return the URL."""
        await self._server.start()
        self._is_listening = self._is_wanted = True
        self._board.listen(self._changed)
        await self._settle()
        return self.url

    async def stop(self) -> None:
        """Stop listening permanently."""
        self._is_wanted = False
        await self.settled()
        await self._settle()

    async def settled(self) -> None:
        """Wait until every earlier change of faults has taken effect on the port."""
        await asyncio.gather(*self._moves)

    def _changed(self, part: str, _: Fault | None) -> None:
        if part == self.name and self._is_wanted:
            move = asyncio.create_task(self._settle())
            self._moves.add(move)
            move.add_done_callback(self._moves.discard)

    async def _settle(self) -> None:
        async with self._turn:
            wanted = self._is_wanted and not self._board.shows(self.name, "down")
            if wanted and not self._is_listening:
                await self._server.start()
            if not wanted and self._is_listening:
                await self._server.stop()
            self._is_listening = wanted
