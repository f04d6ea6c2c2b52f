"""The error envelope. The HTTP status of a code is in `quietswap.contract.errors`."""

from collections.abc import Sequence

import msgspec

from quietswap.contract.errors import ErrorEnvelope
from quietswap.domain.errors.availability import ProviderUnavailable, ServiceUnavailable
from quietswap.domain.errors.base import RequestError
from quietswap.domain.errors.http import RateLimitExceeded


def unavailable_error(codes: Sequence[str]) -> RequestError:
    """Return what an endpoint with these codes answers while a store or the node is away.

    Where an order is submitted the interface's only 503 is PROVIDER_UNAVAILABLE. The order may or
    may not be stored by then, so it must not say that nothing was sent.
    """
    if "PROVIDER_UNAVAILABLE" in codes:
        return ProviderUnavailable(
            "a part of the service is away; if this request had a signed transaction, it is not"
            " known whether that was taken",
            {"reason": "STORE_UNAVAILABLE"},
            "Send the same request again in a few seconds: the same signed transaction is taken"
            " once.",
        )
    return ServiceUnavailable("a part the answer depends on is not there just now")


def overload_error(codes: Sequence[str]) -> RequestError:
    """Return what an endpoint with these codes answers while too many bodies are held."""
    text = "the service holds too many requests that are still being sent"
    if "PROVIDER_UNAVAILABLE" in codes:
        suggestion = "Nothing was taken or sent. Send the same request again in a few seconds."
        return ProviderUnavailable(text, {"reason": "OVERLOADED"}, suggestion)
    return ServiceUnavailable(text, {"reason": "OVERLOADED"})


def error_envelope(error: RequestError) -> ErrorEnvelope:
    """Return the error's body."""
    envelope = ErrorEnvelope(
        ok=False,
        error=error.code,
        message=error.message,
        details=error.details,
        suggestion=error.suggestion,
    )
    if not isinstance(error, RateLimitExceeded):
        return envelope
    return msgspec.structs.replace(
        envelope, retry_after=error.retry_after, limit=error.limit, window=error.window
    )
