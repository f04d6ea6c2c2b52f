"""The rest of the error catalogue: conflicts, mismatches, limits and outages."""

from collections.abc import Sequence

from quietswap.domain.errors import ApiError, Details


class SignatureReplay(ApiError):
    """The same signed transaction was already submitted; `order_id` only if this key owns it."""

    code = "SIGNATURE_REPLAY"

    def __init__(self, *, order_id: str | None = None) -> None:
        super().__init__(
            "this signed transaction was already submitted",
            {"orderId": order_id} if order_id else None,
            "Poll the existing order instead of submitting again." if order_id else None,
        )


class ValidationError(ApiError):
    """What was sent does not match what was issued, or has the wrong JSON types.

    Each entry of `fields` names its `field` (dotted path) with `expected` and `provided`.
    """

    code = "VALIDATION_ERROR"

    def __init__(
        self, message: str, fields: Sequence[Details] = (), *, reason: str = "MISMATCH"
    ) -> None:
        super().__init__(
            message,
            {"reason": reason, "fields": list(fields)},
            "Request a fresh quote, sign its transactionParams unchanged and send its "
            "providerMetadata back unchanged."
            if reason != "MALFORMED"
            else None,
        )


class RateLimitExceeded(ApiError):
    """Too many requests; `retry_after` and `window` in seconds."""

    code = "RATE_LIMIT_EXCEEDED"

    def __init__(self, *, retry_after: int, limit: int, window: int) -> None:
        super().__init__(f"more than {limit} requests in {window} seconds")
        self.retry_after = retry_after
        self.limit = limit
        self.window = window


class InternalServerError(ApiError):
    """Something unforeseen; the cause is in the log under `request_id`, never in the answer."""

    code = "INTERNAL_SERVER_ERROR"

    def __init__(self, *, request_id: str) -> None:
        super().__init__(
            "the service failed while answering; the cause is in its log",
            {"requestId": request_id},
        )


class ServiceUnavailable(ApiError):
    """An upstream the answer depends on (aggregators, node, database) is away."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str, details: Details | None = None) -> None:
        super().__init__(message, details, "Try again in a few seconds.")


class ProviderUnavailable(ApiError):
    """An order cannot be taken just now.

    The relay certainly did not get the transaction, and it will not be sent later; only with the
    reason STORE_UNAVAILABLE nobody knows, and the same bytes are to be posted again.
    """

    code = "PROVIDER_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        details: Details | None = None,
        suggestion: str = "Nothing was sent. Request a fresh quote and submit again.",
    ) -> None:
        super().__init__(message, details, suggestion)


class NotFound(ApiError):
    """No endpoint lives at this path."""

    code = "NOT_FOUND"

    def __init__(self, *, path: str) -> None:
        super().__init__("there is no endpoint at this path", {"path": path})


class MethodNotAllowed(ApiError):
    """The endpoint exists, but not for this method."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, *, method: str, allowed: Sequence[str]) -> None:
        super().__init__(
            f"{method} is not allowed here", {"method": method, "allowed": list(allowed)}
        )
        self.allowed = allowed


class UnsupportedMediaType(ApiError):
    """A POST body must be sent as application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "the body must be sent with Content-Type: application/json", {"provided": provided}
        )


class PayloadTooLarge(ApiError):
    """The body is larger than the service reads; `limit` in bytes."""

    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"the body is larger than {limit} bytes", {"limit": limit})
