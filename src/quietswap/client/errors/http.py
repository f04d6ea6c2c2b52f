"""Exceptions of the codes of the HTTP layer. Details are Structs of the contract."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import (
    HostNotAllowedDetails,
    MethodNotAllowedDetails,
    NoDetails,
    NotFoundDetails,
    PayloadTooLargeDetails,
    UnsupportedMediaTypeDetails,
)
from quietswap.contract.limit_details import UnauthorizedDetails


class Unauthorized(ApiError[UnauthorizedDetails]):
    """The API key is missing or not valid."""

    code = "UNAUTHORIZED"


class RateLimitExceeded(ApiError[NoDetails]):
    """Too many requests: `retry_after` seconds to wait, `limit` per `window` seconds."""

    code = "RATE_LIMIT_EXCEEDED"
    is_transient = True


class NotFound(ApiError[NotFoundDetails]):
    """No endpoint at this path."""

    code = "NOT_FOUND"


class MethodNotAllowed(ApiError[MethodNotAllowedDetails]):
    """The endpoint does not support this HTTP method."""

    code = "METHOD_NOT_ALLOWED"


class UnsupportedMediaType(ApiError[UnsupportedMediaTypeDetails]):
    """The body is not application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class HostNotAllowed(ApiError[HostNotAllowedDetails]):
    """The host name in the URL is not one that the operator lists."""

    code = "HOST_NOT_ALLOWED"


class PayloadTooLarge(ApiError[PayloadTooLargeDetails]):
    """The body is larger than the service accepts."""

    code = "PAYLOAD_TOO_LARGE"
