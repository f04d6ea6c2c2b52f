"""The words of ASGI (https://asgi.readthedocs.io)."""

from collections.abc import Awaitable, Callable
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
