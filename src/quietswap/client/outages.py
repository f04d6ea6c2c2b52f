"""The rest of the error catalogue: conflicts, mismatches, limits and outages; and `refusal`."""

from typing import Any, Final

from quietswap.client import refusals as r
from quietswap.client.errors import ApiError, ErrorBody, NoDetails
from quietswap.client.wire import Resource


class ReplayDetails(Resource, frozen=True):
    """The order that already carries this transaction, when this key owns it."""

    order_id: str


class SignatureReplay(ApiError[ReplayDetails]):
    """The same signed transaction was already submitted."""

    code = "SIGNATURE_REPLAY"
    shape = ReplayDetails


class MismatchDetails(Resource, frozen=True):
    """Each entry of `fields` has `field`, `expected` and `provided`."""

    reason: str = ""
    fields: tuple[dict[str, Any], ...] = ()


class ValidationError(ApiError[MismatchDetails]):
    """What was sent is not what the quote said."""

    code = "VALIDATION_ERROR"
    shape = MismatchDetails


class RateLimitExceeded(ApiError[NoDetails]):
    """Too many requests: `retry_after` seconds to wait, `limit` per `window` seconds."""

    code = "RATE_LIMIT_EXCEEDED"
    is_transient = True


class RequestDetails(Resource, frozen=True):
    """What to tell the operator."""

    request_id: str


class InternalServerError(ApiError[RequestDetails]):
    """The service failed while answering."""

    code = "INTERNAL_SERVER_ERROR"
    shape = RequestDetails
    is_transient = True


class ServiceUnavailable(ApiError[NoDetails]):
    """The aggregators, the node or the database are away."""

    code = "SERVICE_UNAVAILABLE"
    is_transient = True


class OutageDetails(Resource, frozen=True):
    """Why an order cannot be taken just now."""

    reason: str = ""


class ProviderUnavailable(ApiError[OutageDetails]):
    """The relay is away; the transaction was not sent and will not be.

    Only with the reason STORE_UNAVAILABLE nobody knows: then the same bytes may be posted again.
    """

    code = "PROVIDER_UNAVAILABLE"
    shape = OutageDetails

    def __init__(self, body: ErrorBody, status: int) -> None:
        super().__init__(body, status)
        self.is_transient = bool(self.details and self.details.reason == "STORE_UNAVAILABLE")


class NotFound(ApiError[NoDetails]):
    """No endpoint at this path."""

    code = "NOT_FOUND"


class MethodNotAllowed(ApiError[NoDetails]):
    """The endpoint does not take this method."""

    code = "METHOD_NOT_ALLOWED"


class UnsupportedMediaType(ApiError[NoDetails]):
    """A body must be application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class LimitDetails(Resource, frozen=True):
    """Bytes."""

    limit: int


class PayloadTooLarge(ApiError[LimitDetails]):
    """The body is larger than the service reads."""

    code = "PAYLOAD_TOO_LARGE"
    shape = LimitDetails


CATALOGUE: Final[dict[str, type[ApiError[Any]]]] = {
    kind.code: kind
    for kind in (
        r.InvalidTokenAddress,
        r.NativeEthNotSupported,
        r.InvalidAmount,
        r.UserAddressRequired,
        r.InvalidOperation,
        r.InvalidAddress,
        r.InvalidParameter,
        r.MissingParameter,
        r.InvalidSignature,
        r.InsufficientAllowance,
        r.InsufficientBalance,
        r.DeadlineExpired,
        r.NonceTooLow,
        r.InvalidTransaction,
        r.Unauthorized,
        r.InsufficientLiquidity,
        r.TokenNotSupported,
        r.OrderNotFound,
        SignatureReplay,
        ValidationError,
        RateLimitExceeded,
        InternalServerError,
        ServiceUnavailable,
        ProviderUnavailable,
        NotFound,
        MethodNotAllowed,
        UnsupportedMediaType,
        PayloadTooLarge,
    )
}


def refusal(body: ErrorBody, status: int) -> ApiError[Any]:
    """Return the exception for an error envelope; a plain ApiError for a code of the future."""
    kind: type[ApiError[Any]] = CATALOGUE.get(body.error, ApiError)
    return kind(body, status)
