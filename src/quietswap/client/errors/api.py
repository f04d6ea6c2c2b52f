"""The exception class of each error code of the service, and the exception for an error answer."""

from typing import Any, Final

from quietswap import errors as codes
from quietswap.client.errors.base import ApiError
from quietswap.contract.errors import ERRORS, ErrorEnvelope


class InvalidTokenAddress(ApiError[codes.InvalidTokenAddressDetails], of=codes.InvalidTokenAddress):
    """A token address is missing, malformed, or has a wrong checksum, or both are the same."""


class NativeEthNotSupported(
    ApiError[codes.NativeEthNotSupportedDetails], of=codes.NativeEthNotSupported
):
    """Native ETH cannot be swapped: wrap it and use WETH."""


class InvalidAmount(ApiError[codes.InvalidAmountDetails], of=codes.InvalidAmount):
    """The amount is not a positive number in the required notation."""


class UserAddressRequired(ApiError[codes.UserAddressRequiredDetails], of=codes.UserAddressRequired):
    """The wallet address is missing; a quote needs it."""


class InvalidOperation(ApiError[codes.InvalidOperationDetails], of=codes.InvalidOperation):
    """The operation is neither wrap nor unwrap."""


class InvalidAddress(ApiError[codes.InvalidAddressDetails], of=codes.InvalidAddress):
    """The wallet address is malformed or has a wrong checksum."""


class InvalidParameter(ApiError[codes.InvalidParameterDetails], of=codes.InvalidParameter):
    """A query parameter is outside its range."""


class MissingParameter(ApiError[codes.MissingParameterDetails], of=codes.MissingParameter):
    """A required field is missing."""


class TokenNotSupported(ApiError[codes.TokenNotSupportedDetails], of=codes.TokenNotSupported):
    """This service does not support the token."""


class RpcTokenNotFound(ApiError[codes.NoDetails], of=codes.RpcTokenNotFound):
    """The client has no live RPC URL with this id."""


class ValidationError(ApiError[codes.ValidationErrorDetails], of=codes.ValidationError):
    """The service refused the body; `details.reason` has the cause, for example MISMATCH."""


class InvalidSignature(ApiError[codes.InvalidSignatureDetails], of=codes.InvalidSignature):
    """The signer cannot be recovered from the signature, or is another wallet."""


class InsufficientAllowance(
    ApiError[codes.InsufficientAllowanceDetails], of=codes.InsufficientAllowance
):
    """The router's allowance of the sell token is below the sell amount."""


class InsufficientBalance(ApiError[codes.InsufficientBalanceDetails], of=codes.InsufficientBalance):
    """The wallet's balance is too low."""


class DeadlineExpired(ApiError[codes.DeadlineExpiredDetails], of=codes.DeadlineExpired):
    """The order's own deadline has passed."""


class NonceTooLow(ApiError[codes.NonceTooLowDetails], of=codes.NonceTooLow):
    """The wallet has already used this nonce."""


class InvalidTransaction(ApiError[codes.InvalidTransactionDetails], of=codes.InvalidTransaction):
    """The transaction breaks a rule of its type or chain."""


class OrderNotFound(ApiError[codes.NoDetails], of=codes.OrderNotFound):
    """The API key has no order with this id."""


class SignatureReplay(ApiError[codes.SignatureReplayDetails], of=codes.SignatureReplay):
    """The same signed transaction was already submitted."""


class Forbidden(ApiError[codes.ForbiddenDetails], of=codes.Forbidden):
    """The scope of the API key does not allow this."""


class WalletNotAllowed(ApiError[codes.WalletNotAllowedDetails], of=codes.WalletNotAllowed):
    """The operator does not let this client trade for this wallet."""


class TokenNotAllowed(ApiError[codes.TokenNotAllowedDetails], of=codes.TokenNotAllowed):
    """The operator does not let this client trade this token."""


class SwapValueUnknown(ApiError[codes.NoDetails], of=codes.SwapValueUnknown):
    """The client has a limit in USD, and the swap has no known value."""


class SwapValueLimitExceeded(
    ApiError[codes.SwapValueLimitDetails], of=codes.SwapValueLimitExceeded
):
    """The swap is worth more than the client may swap at a time."""


class QuoteLimitExceeded(ApiError[codes.QuoteLimitDetails], of=codes.QuoteLimitExceeded):
    """The client has used its quotes of this UTC day."""


class OpenOrderLimitExceeded(
    ApiError[codes.OpenOrderLimitDetails], of=codes.OpenOrderLimitExceeded
):
    """The client has as many open orders as it may have; nothing was sent."""


class DailyValueLimitExceeded(
    ApiError[codes.DailyValueLimitDetails], of=codes.DailyValueLimitExceeded
):
    """The swap would exceed the USD of this UTC day; nothing was sent."""


class EventsPruned(ApiError[codes.EventsPrunedDetails], of=codes.EventsPruned):
    """The events that follow are no longer stored. The status of each order still is."""


class TooManyStreams(ApiError[codes.TooManyStreamsDetails], of=codes.TooManyStreams):
    """This client has as many open streams as it may have."""

    is_transient = True


class WebhookNotFound(ApiError[codes.NoDetails], of=codes.WebhookNotFound):
    """The client has no webhook with this id."""


class WebhookLimitReached(ApiError[codes.WebhookLimitReachedDetails], of=codes.WebhookLimitReached):
    """The client has as many webhooks as the service allows."""


class WebhooksNotConfigured(ApiError[codes.NoDetails], of=codes.WebhooksNotConfigured):
    """The service has no key to encrypt webhook secrets."""


class InsufficientLiquidity(
    ApiError[codes.InsufficientLiquidityDetails], of=codes.InsufficientLiquidity
):
    """No route delivers this swap."""


class InternalServerError(ApiError[codes.InternalServerErrorDetails], of=codes.InternalServerError):
    """The service failed while answering."""

    is_transient = True


class ServiceUnavailable(ApiError[codes.ServiceUnavailableDetails], of=codes.ServiceUnavailable):
    """The aggregators, the service's node or its database are unavailable."""

    is_transient = True


class ProviderUnavailable(ApiError[codes.ProviderUnavailableDetails], of=codes.ProviderUnavailable):
    """The service reports that the relay did not accept the transaction; it may still be mined.

    Only with the reason STORE_UNAVAILABLE is the result unknown; then the same bytes may be
    submitted again.
    """

    def __init__(self, body: ErrorEnvelope, status: int) -> None:
        super().__init__(body, status)
        self.is_transient = bool(self.details and self.details.reason == "STORE_UNAVAILABLE")


class Unauthorized(ApiError[codes.UnauthorizedDetails], of=codes.Unauthorized):
    """The API key is missing or not valid."""


class RateLimitExceeded(ApiError[codes.NoDetails], of=codes.RateLimitExceeded):
    """Too many requests: `retry_after` seconds to wait, `limit` per `window` seconds."""

    is_transient = True


class NotFound(ApiError[codes.NotFoundDetails], of=codes.NotFound):
    """No endpoint at this path."""


class MethodNotAllowed(ApiError[codes.MethodNotAllowedDetails], of=codes.MethodNotAllowed):
    """The endpoint does not support this HTTP method."""


class UnsupportedMediaType(
    ApiError[codes.UnsupportedMediaTypeDetails], of=codes.UnsupportedMediaType
):
    """The body is not application/json."""


class HostNotAllowed(ApiError[codes.HostNotAllowedDetails], of=codes.HostNotAllowed):
    """The host name in the URL is not one that the operator lists."""


class PayloadTooLarge(ApiError[codes.PayloadTooLargeDetails], of=codes.PayloadTooLarge):
    """The body is larger than the service accepts."""


_CLASSES = {kind.code: kind for kind in ApiError.__subclasses__()}

ERROR_CLASSES: Final[dict[str, type[ApiError[Any]]]] = {code: _CLASSES[code] for code in ERRORS}
"""In the order of the contract's table; a code without a class fails at import."""


def error_from_body(body: ErrorEnvelope, status: int) -> ApiError[Any]:
    """Return the exception for an error envelope; a plain ApiError for an unknown code."""
    kind: type[ApiError[Any]] = ERROR_CLASSES.get(body.error, ApiError)
    return kind(body, status)
