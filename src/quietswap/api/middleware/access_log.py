"""The access log line and the metrics of each request."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from quietswap import observe
from quietswap.api.endpoint import operation_name
from quietswap.api.options import ApiOptions
from quietswap.api.request_parsing.client_address import client_address
from quietswap.ports.clock import Clock

OnAnswer = Callable[[str, int, float], None]
"""Called after each answer with the operation's name, the HTTP status and the duration in s."""


@dataclass(frozen=True, slots=True)
class AccessLogMiddleware:
    """Starts the log context of a request and reports its answer to `on_answer`.

    A request without an answer, such as a cancelled one, is not reported. Without
    `log_client_address` the address of the client is not in the log.
    """

    app: ASGIApp
    options: ApiOptions
    clock: Clock
    on_answer: OnAnswer | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = self.clock.monotonic()
        state = scope["state"]
        client = None
        if self.options.log_client_address:
            client = client_address(scope, self.options.trusted_proxies)
        observe.request_began(state["request_id"], client)
        try:
            await self.app(scope, receive, send)
        finally:
            if self.on_answer and state["status"] is not None:
                seconds = self.clock.monotonic() - started
                self.on_answer(operation_name(scope), state["status"], seconds)
