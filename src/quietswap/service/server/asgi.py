"""The ASGI application of one process: the API, and a lifespan that opens and closes the rest."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap.rules.operator.operators import Health
from quietswap.service import observe
from quietswap.service.api.middleware.headers import (
    LOOPBACK,
    ListedOriginsMiddleware,
    TrustedHostsMiddleware,
)
from quietswap.service.api.operation import ApiOptions, RateLimits, WalletRpcOptions
from quietswap.service.base.clock import Clock, SystemClock
from quietswap.service.base.loopback import is_loopback
from quietswap.service.server import factories
from quietswap.service.server.app import create_api
from quietswap.service.server.background import (
    start_key_uses,
    start_relay_health,
    start_tracking,
    start_usual_wait,
)
from quietswap.service.server.certificates import expires_at
from quietswap.service.server.connections import ConnectionLimits, most_connections
from quietswap.service.server.container import Container, open_container
from quietswap.service.server.garbage_collection import settle
from quietswap.service.server.operator_view import is_enabled, operator_view, start_figures
from quietswap.service.server.readiness import operator_pages, readiness, start_watch
from quietswap.service.server.settings import load
from quietswap.service.server.shutdown import run_until_end, until_stopped
from quietswap.service.server.traces import start_traces
from quietswap.service.server.web import web_options
from quietswap.service.settings import Settings

_PR_SET_PDEATHSIG = 1
"""https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html"""


def create_app() -> "ServiceApp":
    """Return the application with the settings of this process's environment."""
    _end_with_server()
    path = os.environ.get("QUIETSWAP_SETTINGS")
    return _begin(load(Path(path) if path else None))


def application(settings: Settings, up: Connection) -> "ServiceApp":
    """Return the application with the given settings. It sends a message on `up` once it serves.

    The server calls this in each of its workers.
    """
    _end_with_server()

    def came_up() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            up.send_bytes(b"up")

    return _begin(settings, came_up)


def _begin(settings: Settings, came_up: Callable[[], None] | None = None) -> "ServiceApp":
    observe.write_logs(settings.observe)
    return ServiceApp(settings, SystemClock(), came_up)


def _end_with_server() -> None:
    """Kill this worker when its server is killed. It would otherwise serve beside the next server.

    No handler can take the signal, and an order is stored before its bytes are sent. Linux only: on
    other systems a killed server leaves its workers running.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    server = multiprocessing.parent_process()
    if server is not None and os.getppid() != server.pid:
        sys.exit("quietswap: the server ended before its worker began")


class ServiceApp:
    """Serves requests after the start of the lifespan; the server sends none before that.

    The lifespan is not Starlette's: at shutdown the server sends its message only after every
    connection has ended, and a failed start is reported by its message, without a traceback.
    """

    def __init__(
        self, settings: Settings, clock: Clock, came_up: Callable[[], None] | None = None
    ) -> None:
        self._settings = settings
        self._came_up = came_up or (lambda: None)
        self._clock = clock
        self._api: ASGIApp | None = None
        server = settings.server
        self._connections = ConnectionLimits(
            server.port,
            clock,
            of_address=server.connections_per_address,
            total=most_connections(),
            trusted=factories.trusted_networks(settings),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection, or the lifespan."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        assert self._api is not None
        peer = self._connections.begin(scope.get("client"))
        try:
            work = self._api(scope, receive, send)
            if observe.is_tracing() and scope["type"] == "http" and _is_traced(scope["path"]):
                work = observe.in_request_span(scope["headers"], work)
            await work
        finally:
            self._connections.end(peer)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                start_traces(self._settings, stack)
                parts = await open_container(self._settings, self._clock, stack)
                stop_tracking = start_tracking(parts, self._clock, stack)
                start_key_uses(parts, self._clock, stack)
                start_relay_health(parts, self._clock, stack)
                start_usual_wait(parts, self._clock, stack)
                start_figures(parts, self._clock, stack)
                run_until_end(stack, self._connections.keep())
                health = readiness(parts, self._clock)
                start_watch(parts, health, self._clock, stack)
                self._api = _api(parts, self._clock, health)
            except Exception as error:  # noqa: BLE001  the message is logged, then the process ends
                observe.start_failed(str(error))
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            settle()
            await send({"type": "lifespan.startup.complete"})
            self._came_up()

            async def stop() -> None:
                observe.stop_buffering()
                parts.feed.stop()
                await stop_tracking()

            await until_stopped(receive, stop)
        await send({"type": "lifespan.shutdown.complete"})


def _is_traced(path: str) -> bool:
    """Return whether a request has a trace. No span contains the path, which may be a secret."""
    return path.startswith(("/api/", "/rpc/"))


def _api(parts: Container, clock: Clock, health: Callable[[], Awaitable[Health]]) -> ASGIApp:
    observe.begin(
        tuple(source.name for source in parts.outside.sources),
        [relay.name for relay in parts.outside.relays.values()],
    )
    server = parts.settings.server
    if server.tls_cert:
        observe.certificate_loaded(server.tls_cert, expires_at(server.tls_cert))
    wallet_rpc = parts.settings.wallet_rpc
    options = ApiOptions(
        limits=RateLimits(
            requests=server.rate_limit,
            failures=server.failed_auth_limit,
            window_s=server.rate_window_s,
        ),
        max_body_bytes=server.max_body_bytes,
        bodies_bytes=server.max_bodies_bytes,
        key_bodies_bytes=server.max_key_bodies_bytes,
        trusted_proxies=factories.trusted_networks(parts.settings),
        log_client_address=parts.settings.observe.log_client_address,
        wallet_rpc=WalletRpcOptions(
            visitor_limit=parts.settings.web.rate_limit,
            rate_limit=wallet_rpc.rate_limit,
            timeout_s=wallet_rpc.timeout_s,
            logs_blocks=wallet_rpc.logs_blocks,
        ),
    )
    app: ASGIApp = create_api(
        parts.use,
        options,
        clock,
        pages=operator_pages(health),
        web=web_options(
            parts.settings,
            parts.storage,
            clock,
            health,
            report=parts.use.inclusion,
            source_names=[source.name for source in parts.outside.sources],
        ),
        on_answer=observe.request_answered,
        operator=operator_view(parts, clock, health) if is_enabled(parts.settings) else None,
    )
    if server.cors_origins:
        app = ListedOriginsMiddleware(app, server.cors_origins)
    if server.allowed_hosts:
        return TrustedHostsMiddleware(app, server.allowed_hosts, addresses=True)
    if is_loopback(server.host):
        return TrustedHostsMiddleware(app, LOOPBACK, addresses=False)
    return app
