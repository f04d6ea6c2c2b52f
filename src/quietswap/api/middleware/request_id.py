"""The request id: the client's X-Request-Id if it is plain, otherwise a new one."""

import random
import re
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

_PLAIN = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class RequestIdMiddleware:
    """Sets `scope["state"]["request_id"]` for the log, for the answer's header and for errors.

    Later middleware sets `rate_window` (the RateWindow of a counted request) and `status` (the HTTP
    status of an answer that has started). Both are None until then.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            scope["state"] = {
                **scope.get("state", {}),
                "request_id": request_id_of(scope),
                "rate_window": None,
                "status": None,
            }
        await self.app(scope, receive, send)


def request_id_of(scope: Scope) -> str:
    """Return the id that the request brings if it is plain, otherwise a new one."""
    sent: bytes = dict(scope["headers"]).get(b"x-request-id", b"")
    return sent.decode() if _PLAIN.fullmatch(sent) else _new_id()


def _new_id() -> str:
    """Return 64 random bits in hex. Ids are unique, not secret.

    `os.urandom` releases the GIL, which costs more than the id. The generator of `random` is seeded
    by the operating system, again in each forked process.
    """
    return f"{random.getrandbits(64):016x}"
