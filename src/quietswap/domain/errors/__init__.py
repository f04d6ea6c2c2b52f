"""One exception class for each error code, with the details of that code.

Excludes HTTP status codes and JSON.
"""

from quietswap.domain.errors.availability import (
    InsufficientLiquidity,
    InternalServerError,
    ProviderUnavailable,
    ServiceUnavailable,
)
from quietswap.domain.errors.base import Details, RequestError
from quietswap.domain.errors.client_limits import (
    DailyValueLimitExceeded,
    Forbidden,
    OpenOrderLimitExceeded,
    QuoteLimitExceeded,
    SwapValueLimitExceeded,
    SwapValueUnknown,
    TokenNotAllowed,
    WalletNotAllowed,
)
from quietswap.domain.errors.events import EventsPruned, TooManyStreams
from quietswap.domain.errors.http import (
    HostNotAllowed,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    RateLimitExceeded,
    Unauthorized,
    UnsupportedMediaType,
)
from quietswap.domain.errors.order import (
    DeadlineExpired,
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    InvalidTransaction,
    NonceTooLow,
    OrderNotFound,
    SignatureReplay,
)
from quietswap.domain.errors.request import (
    InvalidAddress,
    InvalidAmount,
    InvalidOperation,
    InvalidParameter,
    InvalidTokenAddress,
    MissingParameter,
    NativeEthNotSupported,
    RpcTokenNotFound,
    TokenNotSupported,
    UserAddressRequired,
    ValidationError,
)
from quietswap.domain.errors.webhook import (
    WebhookLimitReached,
    WebhookNotFound,
    WebhooksNotConfigured,
)

__all__ = [
    "DailyValueLimitExceeded",
    "DeadlineExpired",
    "Details",
    "EventsPruned",
    "Forbidden",
    "HostNotAllowed",
    "InsufficientAllowance",
    "InsufficientBalance",
    "InsufficientLiquidity",
    "InternalServerError",
    "InvalidAddress",
    "InvalidAmount",
    "InvalidOperation",
    "InvalidParameter",
    "InvalidSignature",
    "InvalidTokenAddress",
    "InvalidTransaction",
    "MethodNotAllowed",
    "MissingParameter",
    "NativeEthNotSupported",
    "NonceTooLow",
    "NotFound",
    "OpenOrderLimitExceeded",
    "OrderNotFound",
    "PayloadTooLarge",
    "ProviderUnavailable",
    "QuoteLimitExceeded",
    "RateLimitExceeded",
    "RequestError",
    "RpcTokenNotFound",
    "ServiceUnavailable",
    "SignatureReplay",
    "SwapValueLimitExceeded",
    "SwapValueUnknown",
    "TokenNotAllowed",
    "TokenNotSupported",
    "TooManyStreams",
    "Unauthorized",
    "UnsupportedMediaType",
    "UserAddressRequired",
    "ValidationError",
    "WalletNotAllowed",
    "WebhookLimitReached",
    "WebhookNotFound",
    "WebhooksNotConfigured",
]
