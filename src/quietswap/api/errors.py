"""The error envelope, and the one table from code to HTTP status."""

from collections.abc import Sequence
from typing import Any

from quietswap.domain.errors import ApiError
from quietswap.domain.refusals import ProviderUnavailable, RateLimitExceeded, ServiceUnavailable

STATUS = {
    "INVALID_TOKEN_ADDRESS": 400,
    "NATIVE_ETH_NOT_SUPPORTED": 400,
    "INVALID_AMOUNT": 400,
    "USER_ADDRESS_REQUIRED": 400,
    "INVALID_OPERATION": 400,
    "INVALID_ADDRESS": 400,
    "INVALID_PARAMETER": 400,
    "MISSING_PARAMETER": 400,
    "INVALID_SIGNATURE": 400,
    "INSUFFICIENT_ALLOWANCE": 400,
    "INSUFFICIENT_BALANCE": 400,
    "DEADLINE_EXPIRED": 400,
    "INVALID_TRANSACTION": 400,
    "UNAUTHORIZED": 401,
    "INSUFFICIENT_LIQUIDITY": 404,
    "TOKEN_NOT_SUPPORTED": 404,
    "ORDER_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "NONCE_TOO_LOW": 409,
    "SIGNATURE_REPLAY": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "VALIDATION_ERROR": 422,
    "RATE_LIMIT_EXCEEDED": 429,
    "INTERNAL_SERVER_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
    "PROVIDER_UNAVAILABLE": 503,
}

EXCEPTIONS = {("wrap_order", "NONCE_TOO_LOW"): 400}
"""Where one endpoint answers a code with another status than all others do."""


def status_of(code: str, operation: str) -> int:
    """Return the HTTP status of a code on one operation, by its name in `api.operations`."""
    return EXCEPTIONS.get((operation, code)) or STATUS[code]


def outage(codes: Sequence[str]) -> ApiError:
    """Return what an endpoint with these codes answers while a store or the node is away.

    Where an order is submitted the interface's only 503 is PROVIDER_UNAVAILABLE. The order may or
    may not be stored by then, so it must not say that nothing was sent.
    """
    if "PROVIDER_UNAVAILABLE" in codes:
        return ProviderUnavailable(
            "a part of the service is away, so it is not known whether the order was taken",
            {"reason": "STORE_UNAVAILABLE"},
            "Post the same signed transaction again in a few seconds: it is taken once.",
        )
    return ServiceUnavailable("a part the answer depends on is not there just now")


def envelope(error: ApiError) -> dict[str, Any]:
    """Return the error's body: `details` and `suggestion` are absent where there are none."""
    body: dict[str, Any] = {"ok": False, "error": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    if error.suggestion is not None:
        body["suggestion"] = error.suggestion
    if isinstance(error, RateLimitExceeded):
        body["retryAfter"] = error.retry_after
        body["limit"] = error.limit
        body["window"] = error.window
    return body
