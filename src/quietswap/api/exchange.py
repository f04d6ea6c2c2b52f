"""One request on its way through, and the headers its answer carries."""

import random
import re

from quietswap.api.asgi import Receive, Scope
from quietswap.api.operations import Operation
from quietswap.api.reply import HeaderList, Reply
from quietswap.domain.errors import ApiError, Unauthorized
from quietswap.domain.refusals import MethodNotAllowed, NotFound, RateLimitExceeded
from quietswap.ports.stores import RateWindow

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_CHALLENGE = (b"www-authenticate", b'ApiKey header="X-API-Key"')
_FIXED = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


class Exchange:
    """What is known of a request grows as it goes: endpoint, then rate window.

    A client's or proxy's own X-Request-Id is kept when it is plain, else one is made.
    """

    __slots__ = (
        "headers", "method", "operation", "path", "receive", "request_id", "scope", "tail",
        "window",
    )  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        sent = self.headers.get(b"x-request-id", b"")
        self.request_id = sent.decode() if _REQUEST_ID.fullmatch(sent) else _new_id()
        self.operation: Operation | None = None
        self.tail = ""
        self.window: RateWindow | None = None

    @property
    def name(self) -> str:
        """Return the endpoint's name for logs and metrics, never the client's own words."""
        return self.operation.name if self.operation else "other"

    def allow(self, method: str) -> None:
        """Raise MethodNotAllowed unless the request uses `method` (HEAD goes where GET does)."""
        if self.method == method or (self.method == "HEAD" and method == "GET"):
            return
        allowed = ("GET", "HEAD") if method == "GET" else (method,)
        raise MethodNotAllowed(method=self.method[:20], allowed=allowed)

    def not_found(self) -> NotFound:
        """Return the refusal of a path where nothing is; it echoes what can be printed of it."""
        return NotFound(path=self.path[:200].encode("utf-8", "replace").decode())

    def answer_headers(self, reply: Reply) -> list[tuple[bytes, bytes]]:
        """Return all headers of the answer; the X-RateLimit ones once the request was counted.

        X-RateLimit-Reset is the end of the window in Unix seconds.
        """
        headers = [
            (b"content-type", reply.content_type),
            (b"content-length", str(len(reply.body)).encode()),
            (b"x-request-id", self.request_id.encode()),
            *_FIXED,
            *reply.headers,
        ]
        if self.window is not None:
            headers += _rate_headers(self.window)
        return headers


def _new_id() -> str:
    """Return 64 random bits: unique, not secret. Asking the system would let the interpreter go.

    The module's own generator is seeded by the system, and anew in each process that is forked.
    """
    return f"{random.getrandbits(64):016x}"


def _rate_headers(window: RateWindow) -> HeaderList:
    return (
        (b"x-ratelimit-limit", _number(window.limit)),
        (b"x-ratelimit-remaining", _number(window.remaining)),
        (b"x-ratelimit-reset", _number(-(-window.reset_ms // 1000))),
    )


def refusal_headers(refusal: ApiError) -> HeaderList:
    """Return the headers HTTP itself wants beside some refusals (RFC 9110)."""
    if isinstance(refusal, RateLimitExceeded):
        return ((b"retry-after", _number(refusal.retry_after)),)
    if isinstance(refusal, MethodNotAllowed):
        return ((b"allow", ", ".join(refusal.allowed).encode()),)
    if isinstance(refusal, Unauthorized):
        return (_CHALLENGE,)
    return ()


def _number(value: int) -> bytes:
    return str(value).encode()
