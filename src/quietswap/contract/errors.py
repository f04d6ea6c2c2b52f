"""The error envelope, and the table of error codes with HTTP status and details.

The classes that raise these codes are in `quietswap.domain.errors`.
"""

from typing import Annotated, Any, NamedTuple

import msgspec

from quietswap.contract import error_details as details
from quietswap.contract import limit_details as limits
from quietswap.contract.base import WireStruct, doc


class ErrorEnvelope(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """An error answer."""

    ok: Annotated[bool, doc("Always false on errors", const=False)] = msgspec.field(
        default_factory=bool
    )
    error: Annotated[str, doc("Error code")]
    message: Annotated[str, doc("What went wrong, for people")] = ""
    details: Annotated[dict[str, Any] | None, doc("Details; their members depend on the code")] = (
        None
    )
    suggestion: Annotated[str | None, doc("What to do next")] = None
    retry_after: Annotated[float | None, doc("Seconds to wait", 12, type="integer")] = None
    limit: Annotated[int | None, doc("Requests per window", 300)] = None
    window: Annotated[int | None, doc("Length of the window in seconds", 60)] = None


class ErrorSpec(NamedTuple):
    """HTTP status and details of a code; `sometimes`: an error may come without its details."""

    status: int
    details: type[WireStruct] = details.NoDetails
    sometimes: bool = False


ERRORS: dict[str, ErrorSpec] = {
    "INVALID_TOKEN_ADDRESS": ErrorSpec(400, details.InvalidTokenAddressDetails),
    "NATIVE_ETH_NOT_SUPPORTED": ErrorSpec(400, details.NativeEthNotSupportedDetails),
    "INVALID_AMOUNT": ErrorSpec(400, details.InvalidAmountDetails),
    "USER_ADDRESS_REQUIRED": ErrorSpec(400, details.UserAddressRequiredDetails),
    "INVALID_OPERATION": ErrorSpec(400, details.InvalidOperationDetails),
    "INVALID_ADDRESS": ErrorSpec(400, details.InvalidAddressDetails),
    "INVALID_PARAMETER": ErrorSpec(400, details.InvalidParameterDetails),
    "MISSING_PARAMETER": ErrorSpec(400, details.MissingParameterDetails),
    "INVALID_SIGNATURE": ErrorSpec(400, details.InvalidSignatureDetails),
    "INSUFFICIENT_ALLOWANCE": ErrorSpec(400, details.InsufficientAllowanceDetails),
    "INSUFFICIENT_BALANCE": ErrorSpec(400, details.InsufficientBalanceDetails),
    "DEADLINE_EXPIRED": ErrorSpec(400, details.DeadlineExpiredDetails),
    "INVALID_TRANSACTION": ErrorSpec(400, details.InvalidTransactionDetails),
    "UNAUTHORIZED": ErrorSpec(401, limits.UnauthorizedDetails, sometimes=True),
    "FORBIDDEN": ErrorSpec(403, limits.ForbiddenDetails),
    "WALLET_NOT_ALLOWED": ErrorSpec(403, limits.WalletNotAllowedDetails),
    "TOKEN_NOT_ALLOWED": ErrorSpec(403, limits.TokenNotAllowedDetails),
    "SWAP_VALUE_UNKNOWN": ErrorSpec(403),
    "SWAP_VALUE_LIMIT_EXCEEDED": ErrorSpec(403, limits.SwapValueLimitDetails),
    "INSUFFICIENT_LIQUIDITY": ErrorSpec(404, details.InsufficientLiquidityDetails),
    "TOKEN_NOT_SUPPORTED": ErrorSpec(404, details.TokenNotSupportedDetails),
    "ORDER_NOT_FOUND": ErrorSpec(404),
    "RPC_TOKEN_NOT_FOUND": ErrorSpec(404),
    "WEBHOOK_NOT_FOUND": ErrorSpec(404),
    "NOT_FOUND": ErrorSpec(404, details.NotFoundDetails),
    "METHOD_NOT_ALLOWED": ErrorSpec(405, details.MethodNotAllowedDetails),
    "NONCE_TOO_LOW": ErrorSpec(409, details.NonceTooLowDetails),
    "SIGNATURE_REPLAY": ErrorSpec(409, details.SignatureReplayDetails, sometimes=True),
    "WEBHOOK_LIMIT_REACHED": ErrorSpec(409, details.WebhookLimitReachedDetails),
    "EVENTS_PRUNED": ErrorSpec(410, details.EventsPrunedDetails),
    "OPEN_ORDER_LIMIT_EXCEEDED": ErrorSpec(409, limits.OpenOrderLimitDetails),
    "PAYLOAD_TOO_LARGE": ErrorSpec(413, details.PayloadTooLargeDetails),
    "UNSUPPORTED_MEDIA_TYPE": ErrorSpec(415, details.UnsupportedMediaTypeDetails),
    "HOST_NOT_ALLOWED": ErrorSpec(421, details.HostNotAllowedDetails),
    "VALIDATION_ERROR": ErrorSpec(422, details.ValidationErrorDetails),
    "RATE_LIMIT_EXCEEDED": ErrorSpec(429),
    "TOO_MANY_STREAMS": ErrorSpec(429, details.TooManyStreamsDetails),
    "QUOTE_LIMIT_EXCEEDED": ErrorSpec(429, limits.QuoteLimitDetails),
    "DAILY_VALUE_LIMIT_EXCEEDED": ErrorSpec(429, limits.DailyValueLimitDetails),
    "INTERNAL_SERVER_ERROR": ErrorSpec(500, details.InternalServerErrorDetails),
    "WEBHOOKS_NOT_CONFIGURED": ErrorSpec(501),
    "SERVICE_UNAVAILABLE": ErrorSpec(503, details.ServiceUnavailableDetails, sometimes=True),
    "PROVIDER_UNAVAILABLE": ErrorSpec(503, details.ProviderUnavailableDetails, sometimes=True),
}

STATUS_EXCEPTIONS = {("wrap_order", "NONCE_TOO_LOW"): 400}
"""Where one operation answers a code with another status than all others do."""


def status_of(code: str, operation: str) -> int:
    """Return the HTTP status of a code on one operation, by its operationId in OpenAPI."""
    return STATUS_EXCEPTIONS.get((operation, code)) or ERRORS[code].status
