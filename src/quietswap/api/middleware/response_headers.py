"""The headers that every answer carries, and HEAD."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quietswap.api.middleware.rate_limit import rate_limit_headers

FIXED_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass(frozen=True, slots=True)
class ResponseHeadersMiddleware:
    """Adds X-Request-Id, the X-RateLimit headers of a counted request and the fixed headers.

    An answer with a Cache-Control of its own keeps it.

    Removes the body of an answer to HEAD. Stores the status in `scope["state"]["status"]` when the
    answer starts.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope["state"]
        is_head = scope["method"] == "HEAD"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                state["status"] = message["status"]
                own = message.get("headers", ())
                is_cacheable = any(name == b"cache-control" for name, _ in own)
                message["headers"] = [
                    *own,
                    (b"x-request-id", state["request_id"].encode()),
                    *(FIXED_HEADERS[1:] if is_cacheable else FIXED_HEADERS),
                    *rate_limit_headers(state["rate_window"]),
                ]
            elif is_head:
                message["body"] = b""
            await send(message)

        await self.app(scope, receive, send_with_headers)
