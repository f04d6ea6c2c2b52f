"""An answer that is sent in parts while it is produced."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
"""ASGI's calls; the responses do not depend on the framework."""


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """Status 200 with the parts of `chunks` as its body, under the name `filename`.

    The first part is produced before the status is sent: so a fault that it meets has the error
    envelope. After a later fault the server closes the connection, and the client finds the
    transfer incomplete. A client that has gone stops the production at the next part.
    """

    media_type: str
    filename: str
    chunks: AsyncGenerator[bytes]

    async def respond(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        """Send the answer; without a body for HEAD."""
        leaving = asyncio.create_task(_until_disconnected(receive))
        try:
            if has_body:
                await self._send_parts(send, leaving)
            else:
                await send(self._start())
            if not leaving.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await self.chunks.aclose()

    async def _send_parts(self, send: Send, leaving: "asyncio.Task[None]") -> None:
        first = await anext(self.chunks)
        await send(self._start())
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for chunk in self.chunks:
            await asyncio.sleep(0)  # other requests get their turn, and the disconnect is noticed
            if leaving.done():
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

    def _start(self) -> Message:
        headers = [
            (b"content-type", self.media_type.encode()),
            (b"content-disposition", f'attachment; filename="{self.filename}"'.encode()),
            (b"cache-control", b"no-store"),
        ]
        return {"type": "http.response.start", "status": 200, "headers": headers}


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
