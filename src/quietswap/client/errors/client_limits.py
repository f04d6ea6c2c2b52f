"""Exceptions of the scope of an API key and of the limits of its client."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import NoDetails
from quietswap.contract.limit_details import (
    DailyValueLimitDetails,
    ForbiddenDetails,
    OpenOrderLimitDetails,
    QuoteLimitDetails,
    SwapValueLimitDetails,
    TokenNotAllowedDetails,
    WalletNotAllowedDetails,
)


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
