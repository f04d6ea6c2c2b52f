"""The ASGI application of one process: the edge, and its lifespan around everything else."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from quietswap import observe
from quietswap.adapters.clock import SystemClock
from quietswap.api.app import EdgeOptions, build_app
from quietswap.api.asgi import App, Receive, Scope, Send
from quietswap.api.cors import Cors
from quietswap.api.guard import Limits
from quietswap.app import choices
from quietswap.app.pages import operator_pages
from quietswap.app.parts import Parts, open_parts
from quietswap.app.stopping import until_stopped
from quietswap.app.tracing import start_traces
from quietswap.app.tracking import start_tracking
from quietswap.ports.outside import Clock
from quietswap.settings.load import load
from quietswap.settings.schema import Settings

_COLLECT_EVERY = 20_000
_PR_SET_PDEATHSIG = 1
"""https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html"""


def create_app() -> "Application":
    """Return the application on the settings of this process's environment.

    The server calls this in each of its workers.
    """
    _end_with_server()
    observe.log_as_json()
    path = os.environ.get("QUIETSWAP_SETTINGS")
    return Application(load(Path(path) if path else None), SystemClock())


def _end_with_server() -> None:
    """Let this worker stop when its server is killed: else it would serve on beside the next one.

    Linux only; elsewhere only an orderly stop ends a worker that has begun.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    server = multiprocessing.parent_process()
    if server is not None and os.getppid() != server.pid:
        sys.exit("quietswap: the server ended before its worker began")


class Application:
    """Serves once the lifespan has started; requests before that cannot come."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._edge: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        assert self._edge is not None
        work = self._edge(scope, receive, send)
        if observe.is_tracing() and scope["type"] == "http" and scope["path"].startswith("/api/"):
            work = observe.in_request_span(scope["headers"], work)
        await work

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                start_traces(self._settings, stack)
                parts = await open_parts(self._settings, self._clock, stack)
                stop_tracking = start_tracking(parts, self._clock, stack)
            except Exception as error:  # noqa: BLE001  said in words, then the process ends
                print(f"quietswap cannot start: {error}", file=sys.stderr, flush=True)  # noqa: T201
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            self._edge = _edge(parts, self._clock)
            _settle_memory()
            await send({"type": "lifespan.startup.complete"})
            await until_stopped(receive, _hurried(stop_tracking))
        await send({"type": "lifespan.shutdown.complete"})


def _hurried(stop: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Return `stop`, which begins the end of the process: from then on no line waits for others."""

    async def stop_in_a_hurry() -> None:
        observe.hurry()
        await stop()

    return stop_in_a_hurry


def _settle_memory() -> None:
    """Spare the collector what lives as long as the process, and let it come less often.

    A request leaves hardly a cycle behind: by default every 700 new objects are looked through.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY, 20, 50)


def _edge(parts: Parts, clock: Clock) -> App:
    observe.begin(tuple(source.name for source in parts.outside.sources))
    server = parts.settings.server
    options = EdgeOptions(
        limits=Limits(
            requests=server.rate_limit,
            failures=server.failed_auth_limit,
            window_s=server.rate_window_s,
        ),
        max_body_bytes=server.max_body_bytes,
        trusted_proxies=choices.trusted_networks(parts.settings),
    )
    edge = build_app(
        parts.use,
        options,
        clock,
        pages=operator_pages(parts, clock),
        answered=observe.request_answered,
    )
    return Cors(edge, server.cors_origins) if server.cors_origins else edge
