"""One operation of the interface: a row of the table of operations."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from quietswap.api.handlers.request import AuthenticatedRequest
from quietswap.api.responses.streamed import StreamedAnswer
from quietswap.api.use_cases import EventSubscription, UseCases
from quietswap.contract.base import Envelope, RequestStruct, WireStruct

Answer = Envelope[Any] | EventSubscription | StreamedAnswer
Handler = Callable[[UseCases, AuthenticatedRequest], Awaitable[Answer]]

_EVERYWHERE = ("UNAUTHORIZED", "RATE_LIMIT_EXCEEDED", "INTERNAL_SERVER_ERROR")
_WITH_BODY = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "VALIDATION_ERROR")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the interface.

    `own_codes` are the interface's codes of this operation, and codes for cases it does not define:
    INVALID_ADDRESS and INVALID_PARAMETER on the swap quote, INVALID_PARAMETER for a chain id and
    for an invalid query string, SERVICE_UNAVAILABLE where its table has no 503.
    """

    name: str
    method: str
    path: str
    summary: str
    handler: Handler
    own_codes: tuple[str, ...]
    answers: tuple[type[Envelope[Any]], ...]
    path_params: type[WireStruct] | None = None
    query: type[WireStruct] | None = None
    body: type[RequestStruct] | None = None
    may_be_empty: bool = False
    """Whether a request without a body is the same as one with `{}`."""
    headers: type[WireStruct] | None = None
    streams: type[WireStruct] | None = None
    """The `data` of each event, if the answer is a stream of server-sent events."""

    rows: type[WireStruct] | None = None
    """The rows of a streamed answer, as CSV or as a JSON array, instead of an envelope."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the HTTP methods of the path; HEAD is GET without a body."""
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)

    @property
    def needs_trade(self) -> bool:
        """Return whether a key with the scope `read` is refused."""
        return self.method != "GET"

    @property
    def codes(self) -> tuple[str, ...]:
        """Return every error code of this operation; an unexpected failure can happen in all."""
        shared = _EVERYWHERE + (_WITH_BODY if self.body else ())
        shared += ("FORBIDDEN",) if self.needs_trade else ()
        return tuple(dict.fromkeys(self.own_codes + shared))
