"""Base of the errors that a caller sees: one subclass per error code.

A constructor's arguments are the `details` of the code, so the type checker verifies every raise.
The HTTP status of each code is in `quietswap.contract.errors`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

Details = dict[str, Any]


class RequestError(Exception):
    """An error for the caller.

    `message` is for people, `details` for programs (its members depend on `code`), `suggestion`
    is the next step, if there is one.
    """

    code: ClassVar[str]

    def __init__(
        self, message: str, details: Details | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.suggestion = suggestion


# Error codes for what is not available: a route, the relay, the node, the database.


class InsufficientLiquidity(RequestError):
    """No aggregator returned a route that passes verification."""

    code = "INSUFFICIENT_LIQUIDITY"

    def __init__(self, *, sources: Sequence[Details]) -> None:
        super().__init__(
            "no route delivers this swap",
            {"sources": list(sources)},
            "Try a smaller amount, a higher slippageBps, or another pair.",
        )


class InternalServerError(RequestError):
    """An unexpected failure. The cause is in the log under its request id, not in the response."""

    code = "INTERNAL_SERVER_ERROR"

    def __init__(self, *, request_id: str) -> None:
        super().__init__(
            "the service failed while answering; the cause is in its log", {"requestId": request_id}
        )


class ServiceUnavailable(RequestError):
    """An upstream that the response depends on (aggregators, node, database) does not answer."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        details: Details | None = None,
        suggestion: str = "Try again in a few seconds.",
    ) -> None:
        super().__init__(message, details, suggestion)


class ProviderUnavailable(RequestError):
    """An order cannot be accepted now.

    The relay certainly did not get the transaction, and the service will not send it later unless
    the client posts it again. Reason STORE_UNAVAILABLE: this is unknown, post the same bytes again.
    Reason HAD_IT_BEFORE: an earlier post of the same bytes reached the relay.
    """

    code = "PROVIDER_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        details: Details | None = None,
        suggestion: str = "Nothing was sent. Request a fresh quote and submit again.",
    ) -> None:
        super().__init__(message, details, suggestion)


# Error codes of the HTTP layer: API key, rate limit, paths, methods, sizes, `Host`.


_UNAUTHORIZED = {
    None: "the X-API-Key header is missing or its key is not valid",
    "EXPIRED": "the key in the X-API-Key header has expired",
    "CLIENT_DISABLED": "the operator of this service has disabled the client of this key",
}


class Unauthorized(RequestError):
    """The API key is missing, unknown or revoked; the error does not say which.

    `reason` is EXPIRED or CLIENT_DISABLED: only who has the key learns it.
    """

    code = "UNAUTHORIZED"

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(
            _UNAUTHORIZED[reason],
            None if reason is None else {"reason": reason},
            suggestion="Send a key issued by this service's operator.",
        )


class RateLimitExceeded(RequestError):
    """Too many requests. The wait and the window are in seconds."""

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(
        self, *, retry_after: int, limit: int, window: int, message: str | None = None
    ) -> None:
        super().__init__(message or f"more than {limit} requests in {window} seconds")
        self.retry_after = retry_after
        self.limit = limit
        self.window = window


class NotFound(RequestError):
    """There is no endpoint at this path."""

    code = "NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        super().__init__("there is no endpoint at this path", {"path": path})


class MethodNotAllowed(RequestError):
    """The endpoint does not support this method."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, *, method: str, allowed: Sequence[str]) -> None:
        super().__init__(
            f"{method} is not allowed here; there is {', '.join(allowed)}",
            {"method": method, "allowed": list(allowed)},
        )
        self.allowed = allowed


class UnsupportedMediaType(RequestError):
    """The body of a POST is not plain application/json; `provided` is the header at fault."""

    code = "UNSUPPORTED_MEDIA_TYPE"

    def __init__(self, *, provided: str, is_compressed: bool = False) -> None:
        wanted = (
            "uncompressed, without Content-Encoding"
            if is_compressed
            else "with Content-Type: application/json"
        )
        super().__init__(f"the body must be sent {wanted}", {"provided": provided})


class PayloadTooLarge(RequestError):
    """The body is larger than the service reads; `limit` in bytes."""

    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"the body is larger than {limit} bytes", {"limit": limit})


class HostNotAllowed(RequestError):
    """The request names a host that this service does not serve (RFC 9110, section 15.5.20)."""

    code = "HOST_NOT_ALLOWED"

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "the service does not answer to the host this request names",
            {"provided": provided},
            "The operator lists the host names of the service in server.allowed_hosts.",
        )
