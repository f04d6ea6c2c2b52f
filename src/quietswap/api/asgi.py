"""The words of ASGI (https://asgi.readthedocs.io), and an app whose parts live for its lifespan."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def decline(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve what is not HTTP: acknowledge a lifespan, close a WebSocket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1003})
        return
    while True:
        stage = (await receive())["type"]
        await send({"type": f"{stage}.complete"})
        if stage == "lifespan.shutdown":
            return


class Lifespan:
    """An ASGI app built when the server starts it and taken down when the server stops.

    `start` opens everything the app needs, yields the app and closes again. A failing start is
    reported to the server, which then refuses to run.
    """

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[App]]) -> None:
        self._start = start
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if self._app is None:
            raise RuntimeError("the server sent a request before it started the application")
        await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        stage = "startup"
        try:
            async with self._start() as app:
                self._app = app
                await send({"type": "lifespan.startup.complete"})
                stage = "shutdown"
                await receive()
                self._app = None
        except Exception as error:
            await send({"type": f"lifespan.{stage}.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})
