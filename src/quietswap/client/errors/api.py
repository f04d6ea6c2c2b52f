"""Exceptions of the codes for invalid input. Details are Structs of the contract."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.errors import (
    DailyValueLimitDetails,
    DeadlineExpiredDetails,
    EventsPrunedDetails,
    ForbiddenDetails,
    InsufficientAllowanceDetails,
    InsufficientBalanceDetails,
    InvalidAddressDetails,
    InvalidAmountDetails,
    InvalidOperationDetails,
    InvalidParameterDetails,
    InvalidSignatureDetails,
    InvalidTokenAddressDetails,
    InvalidTransactionDetails,
    MissingParameterDetails,
    NativeEthNotSupportedDetails,
    NoDetails,
    NonceTooLowDetails,
    OpenOrderLimitDetails,
    QuoteLimitDetails,
    SignatureReplayDetails,
    SwapValueLimitDetails,
    TokenNotAllowedDetails,
    TokenNotSupportedDetails,
    TooManyStreamsDetails,
    UserAddressRequiredDetails,
    ValidationErrorDetails,
    WalletNotAllowedDetails,
    WebhookLimitReachedDetails,
)


class InvalidTokenAddress(ApiError[InvalidTokenAddressDetails]):
    """A token address is missing, malformed, or has a wrong checksum, or both are the same."""

    code = "INVALID_TOKEN_ADDRESS"


class NativeEthNotSupported(ApiError[NativeEthNotSupportedDetails]):
    """Native ETH cannot be swapped: wrap it and use WETH."""

    code = "NATIVE_ETH_NOT_SUPPORTED"


class InvalidAmount(ApiError[InvalidAmountDetails]):
    """The amount is not a positive number in the required notation."""

    code = "INVALID_AMOUNT"


class UserAddressRequired(ApiError[UserAddressRequiredDetails]):
    """The wallet address is missing; a quote needs it."""

    code = "USER_ADDRESS_REQUIRED"


class InvalidOperation(ApiError[InvalidOperationDetails]):
    """The operation is neither wrap nor unwrap."""

    code = "INVALID_OPERATION"


class InvalidAddress(ApiError[InvalidAddressDetails]):
    """The wallet address is malformed or has a wrong checksum."""

    code = "INVALID_ADDRESS"


class InvalidParameter(ApiError[InvalidParameterDetails]):
    """A query parameter is outside its range."""

    code = "INVALID_PARAMETER"


class MissingParameter(ApiError[MissingParameterDetails]):
    """A required field is missing."""

    code = "MISSING_PARAMETER"


class TokenNotSupported(ApiError[TokenNotSupportedDetails]):
    """This service does not support the token."""

    code = "TOKEN_NOT_SUPPORTED"


class RpcTokenNotFound(ApiError[NoDetails]):
    """The client has no live RPC URL with this id."""

    code = "RPC_TOKEN_NOT_FOUND"


class ValidationError(ApiError[ValidationErrorDetails]):
    """The service refused the body; `details.reason` has the cause, for example MISMATCH."""

    code = "VALIDATION_ERROR"


# Exceptions of the codes for a signed transaction and its order.
#
# Details are Structs of the contract.


class InvalidSignature(ApiError[InvalidSignatureDetails]):
    """The signer cannot be recovered from the signature, or is another wallet."""

    code = "INVALID_SIGNATURE"


class InsufficientAllowance(ApiError[InsufficientAllowanceDetails]):
    """The router's allowance of the sell token is below the sell amount."""

    code = "INSUFFICIENT_ALLOWANCE"


class InsufficientBalance(ApiError[InsufficientBalanceDetails]):
    """The wallet's balance is too low."""

    code = "INSUFFICIENT_BALANCE"


class DeadlineExpired(ApiError[DeadlineExpiredDetails]):
    """The order's own deadline has passed."""

    code = "DEADLINE_EXPIRED"


class NonceTooLow(ApiError[NonceTooLowDetails]):
    """The wallet has already used this nonce."""

    code = "NONCE_TOO_LOW"


class InvalidTransaction(ApiError[InvalidTransactionDetails]):
    """The transaction breaks a rule of its type or chain."""

    code = "INVALID_TRANSACTION"


class OrderNotFound(ApiError[NoDetails]):
    """The API key has no order with this id."""

    code = "ORDER_NOT_FOUND"


class SignatureReplay(ApiError[SignatureReplayDetails]):
    """The same signed transaction was already submitted."""

    code = "SIGNATURE_REPLAY"


# Exceptions of the scope of an API key and of the limits of its client.


class Forbidden(ApiError[ForbiddenDetails]):
    """The scope of the API key does not allow this."""

    code = "FORBIDDEN"


class WalletNotAllowed(ApiError[WalletNotAllowedDetails]):
    """The operator does not let this client trade for this wallet."""

    code = "WALLET_NOT_ALLOWED"


class TokenNotAllowed(ApiError[TokenNotAllowedDetails]):
    """The operator does not let this client trade this token."""

    code = "TOKEN_NOT_ALLOWED"


class SwapValueUnknown(ApiError[NoDetails]):
    """The client has a limit in USD, and the swap has no known value."""

    code = "SWAP_VALUE_UNKNOWN"


class SwapValueLimitExceeded(ApiError[SwapValueLimitDetails]):
    """The swap is worth more than the client may swap at a time."""

    code = "SWAP_VALUE_LIMIT_EXCEEDED"


class QuoteLimitExceeded(ApiError[QuoteLimitDetails]):
    """The client has used its quotes of this UTC day."""

    code = "QUOTE_LIMIT_EXCEEDED"


class OpenOrderLimitExceeded(ApiError[OpenOrderLimitDetails]):
    """The client has as many open orders as it may have; nothing was sent."""

    code = "OPEN_ORDER_LIMIT_EXCEEDED"


class DailyValueLimitExceeded(ApiError[DailyValueLimitDetails]):
    """The swap would exceed the USD of this UTC day; nothing was sent."""

    code = "DAILY_VALUE_LIMIT_EXCEEDED"


# Exceptions of the codes of the event stream. Details are Structs of the contract.


class EventsPruned(ApiError[EventsPrunedDetails]):
    """The events that follow are no longer stored. The status of each order still is."""

    code = "EVENTS_PRUNED"


class TooManyStreams(ApiError[TooManyStreamsDetails]):
    """This client has as many open streams as it may have."""

    code = "TOO_MANY_STREAMS"
    is_transient = True


# Exceptions of the codes for webhooks. Details are Structs of the contract.


class WebhookNotFound(ApiError[NoDetails]):
    """The client has no webhook with this id."""

    code = "WEBHOOK_NOT_FOUND"


class WebhookLimitReached(ApiError[WebhookLimitReachedDetails]):
    """The client has as many webhooks as the service allows."""

    code = "WEBHOOK_LIMIT_REACHED"


class WebhooksNotConfigured(ApiError[NoDetails]):
    """The service has no key to encrypt webhook secrets."""

    code = "WEBHOOKS_NOT_CONFIGURED"
