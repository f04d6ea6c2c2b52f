"""A served part of the sandbox: a handler on a port of its own, under its faults."""

import asyncio

from quietswap.sandbox.faults import Fault, FaultBoard
from quietswap.sandbox.misbehaviour import misbehaving
from quietswap.sandbox.web import Handler, Server


class Part:
    """Serves `handler` under the faults the board shows for `name`; gives the port up while `down`.

    The port survives being down: the same one is taken again.
    """

    def __init__(self, name: str, board: FaultBoard, handler: Handler, port: int = 0) -> None:
        self.name = name
        self._board = board
        self._server = Server(misbehaving(name, board, handler), port)
        self._moves: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._is_listening = False
        self._is_wanted = False

    @property
    def url(self) -> str:
        """The base URL, known once started."""
        return self._server.url

    async def start(self) -> str:
        """Take a port, leave it at once when the part starts out `down`, and return the URL."""
        await self._server.start()
        self._is_listening = self._is_wanted = True
        self._board.listen(self._changed)
        await self._settle()
        return self.url

    async def stop(self) -> None:
        """Stop listening for good."""
        self._is_wanted = False
        await self.settled()
        await self._settle()

    async def settled(self) -> None:
        """Return when every change of faults so far has taken effect on the port."""
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
