"""One more process of the service within the test's, with a clock of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from quietswap.service.base.clock import Clock, SystemClock
from quietswap.service.server.asgi import ServiceApp
from quietswap.service.server.settings import load
from tests import loopback
from tests.e2e.conftest import Town


class AheadClock(SystemClock):
    """A local clock that is ahead of the time, by seconds."""

    def __init__(self, ahead_s: int) -> None:
        self._ahead_ms = ahead_s * 1000

    def now_ms(self) -> int:
        return super().now_ms() + self._ahead_ms


@asynccontextmanager
async def inside(
    town: Town, clock: Clock | None = None, **settings: str
) -> AsyncIterator[httpx.AsyncClient]:
    """Run the service on the town's settings, and `settings`, and a client of it."""
    own = {f"QUIETSWAP_{name}": text for name, text in settings.items()}
    loaded = load(Path(town.facts["settingsFile"]), {"HOME": "/"} | own)
    app = ServiceApp(loaded, clock or SystemClock())
    orders: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    told: asyncio.Queue[Any] = asyncio.Queue()
    lifespan = asyncio.create_task(app({"type": "lifespan"}, orders.get, told.put))
    await orders.put({"type": "lifespan.startup"})
    assert (await told.get())["type"] == "lifespan.startup.complete"
    transport = httpx.ASGITransport(app=app)
    try:
        async with loopback.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client
    finally:
        await orders.put({"type": "lifespan.shutdown"})
        await lifespan
