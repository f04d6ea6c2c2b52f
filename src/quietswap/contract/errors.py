"""The error envelope, and the table of error codes with HTTP status and details.

The classes that raise these codes are in `quietswap.errors`.
"""

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from quietswap.contract import base
from quietswap.contract.base import AddressText, AmountText, WireStruct, doc, ref
from quietswap.quoting.quote import WrapOperation

# The `details` of errors: one Struct per error code.


Reason = Annotated[str, doc("What is wrong, in plain words")]
Provided = Annotated[str, doc("What was sent, at most its first 100 characters")]
FieldPath = Annotated[str, doc("Name or dotted path of the field")]
Required = Annotated[Any, doc("Always true", type="boolean")]


class FieldFault(WireStruct, frozen=True, kw_only=True):
    """One field that does not match."""

    field: FieldPath
    expected: Annotated[Any, doc("What was issued, or the JSON type that is required")]
    provided: Annotated[Any, doc("What was sent, shortened")] = None


class SourceFault(WireStruct, frozen=True, kw_only=True):
    """Result of one aggregator that has no route."""

    source: Annotated[str, doc("Aggregator", "kyberswap")]
    outcome: Annotated[str, doc("Result", "no_route")]
    reason: Annotated[str | None, doc("Why, in plain words")] = None


SourceFaults = Annotated[
    tuple[Annotated[dict[str, Any], doc("One aggregator", **ref("SourceFault"))], ...],
    doc("Results of all aggregators"),
]


class _MayBeMined(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Members of an error after which the transaction may still be mined."""

    order_id: Annotated[
        str | None, doc("Present if a relay received the bytes: the order that is still tracked")
    ] = None
    tx_hash: Annotated[str | None, doc("Transaction hash of that order")] = None
    may_be_mined: Annotated[
        bool,
        doc("Always true: the relay reported a refusal, but the transaction may still be mined"),
    ] = False


class InvalidTokenAddressDetails(WireStruct, frozen=True, kw_only=True):
    """The token address."""

    field: FieldPath = ""
    provided: Provided = ""
    reason: Reason = ""


class NativeEthNotSupportedDetails(WireStruct, frozen=True, kw_only=True):
    """The token address."""

    field: FieldPath = ""
    provided: Provided = ""


class InvalidAmountDetails(WireStruct, frozen=True, kw_only=True):
    """The amount."""

    provided: Provided = ""
    field: FieldPath = ""


class UserAddressRequiredDetails(WireStruct, frozen=True, kw_only=True):
    """The field."""

    field: FieldPath = ""
    required: Required = None


class InvalidOperationDetails(WireStruct, frozen=True, kw_only=True):
    """The operation."""

    provided: Provided
    allowed: Annotated[
        tuple[Annotated[str, doc("Operation", enum=[o.value for o in WrapOperation])], ...],
        doc("Operations that exist"),
    ]


class InvalidAddressDetails(WireStruct, frozen=True, kw_only=True):
    """The wallet address."""

    field: Annotated[str, doc("Name of the parameter or member", "userAddress")] = "userAddress"
    provided: Provided = ""
    address: Provided = ""
    reason: Reason = ""


class InvalidParameterDetails(WireStruct, frozen=True, kw_only=True):
    """The parameter."""

    parameter: Annotated[str, doc("Name of the parameter")]
    provided: Annotated[
        Any, doc("What was sent, at most its first 100 characters", type="string")
    ] = None
    max: Annotated[int | None, doc("Largest value allowed, where there is one")] = None


class MissingParameterDetails(WireStruct, frozen=True, kw_only=True):
    """The field."""

    field: FieldPath
    required: Required = None


class InvalidSignatureDetails(WireStruct, frozen=True, kw_only=True):
    """The signature."""

    reason: Reason


class InsufficientAllowanceDetails(WireStruct, frozen=True, kw_only=True):
    """Allowance of the router."""

    token: Annotated[str, doc("Sell token")]
    router: Annotated[str, doc("Router to approve")]
    required: Annotated[AmountText, doc("Allowance needed, smallest units")]
    current: Annotated[AmountText, doc("Present allowance, smallest units")]


class InsufficientBalanceDetails(_MayBeMined, frozen=True, kw_only=True):
    """Balance of the wallet."""

    required: Annotated[AmountText, doc("Balance needed, wei or smallest units")]
    available: Annotated[AmountText, doc("Present balance, wei or smallest units")]
    asset: Annotated[str, doc("ETH or a token address")] = ""


class DeadlineExpiredDetails(WireStruct, frozen=True, kw_only=True):
    """Times."""

    deadline: Annotated[int | float, doc("The order's deadline in Unix seconds", type="number")]
    now: Annotated[int | None, doc("Time of the service in Unix seconds", type="integer")] = None


class NonceTooLowDetails(_MayBeMined, frozen=True, kw_only=True):
    """The submitted nonce, and the next nonce on the chain."""

    provided: Annotated[int, doc("Nonce that was signed")]
    expected: Annotated[int, doc("Next nonce of the wallet")]


class InvalidTransactionDetails(_MayBeMined, frozen=True, kw_only=True):
    """The transaction."""

    reason: Reason
    field: Annotated[str | UnsetType | None, doc("Field of the transaction")] = UNSET


class InsufficientLiquidityDetails(WireStruct, frozen=True, kw_only=True):
    """Results of all aggregators."""

    sources: SourceFaults


class TokenNotSupportedDetails(WireStruct, frozen=True, kw_only=True):
    """The token."""

    token: Annotated[str, doc("Token")]
    reason: Reason = ""


class SignatureReplayDetails(WireStruct, frozen=True, kw_only=True):
    """The order that was created from the same signed transaction."""

    order_id: Annotated[str, doc("Order id")]


class ValidationErrorDetails(_MayBeMined, frozen=True, kw_only=True):
    """What does not match."""

    reason: Annotated[
        str,
        doc(
            "MALFORMED: not JSON, wrong JSON types, or a time in another unit. MISMATCH: differs "
            "from the quote. NO_QUOTE: no quote was issued to this key and wallet. QUOTE_EXPIRED: "
            "the quote is no longer valid. WOULD_REVERT: the transaction would revert on the "
            "latest state; nothing was sent. ORDER_ENDED, NOT_CANCELLABLE: the order cannot be "
            "cancelled. GAS_TOO_HIGH: the wallet's delegated code uses too much gas for a cancel. "
            "Other values are the relay's reason",
            "MISMATCH",
        ),
    ] = ""
    fields: Annotated[
        tuple[Annotated[dict[str, Any], doc("One field", **ref("FieldFault"))], ...],
        doc("All fields that do not match"),
    ] = ()
    revert_reason: Annotated[str | None, doc("Why it would revert; with WOULD_REVERT")] = None


class InternalServerErrorDetails(WireStruct, frozen=True, kw_only=True):
    """The log entry."""

    request_id: Annotated[str, doc("Id of the request, also in X-Request-Id")]


class ServiceUnavailableDetails(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the outage."""

    reason: Annotated[str | None, doc("OVERLOADED: too many requests are being received")] = None
    sources: Annotated[SourceFaults | None, doc("Results of all aggregators")] = None


class ProviderUnavailableDetails(_MayBeMined, frozen=True, kw_only=True):
    """What is known of the outage. A missing order id or mayBeMined proves nothing."""

    reason: Annotated[
        str,
        doc(
            "NOT_SENT: the relay did not get the transaction. STORE_UNAVAILABLE: unknown; post "
            "the same bytes again. HAD_IT_BEFORE: the relay got an earlier post of the same bytes. "
            "NODE_UNAVAILABLE, OVERLOADED: nothing was sent"
        ),
    ] = ""


class NotFoundDetails(WireStruct, frozen=True, kw_only=True):
    """The path."""

    path: Annotated[str, doc("Path of the request")] = ""


class MethodNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The method."""

    method: Annotated[str, doc("Method of the request")] = ""
    allowed: Annotated[tuple[Annotated[str, doc("Method")], ...], doc("Methods that exist")] = ()


class UnsupportedMediaTypeDetails(WireStruct, frozen=True, kw_only=True):
    """The media type."""

    provided: Provided = ""


class HostNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The host."""

    provided: Provided = ""


class PayloadTooLargeDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Bytes")]


class WebhookLimitReachedDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Webhooks of one client")]


class EventsPrunedDetails(WireStruct, frozen=True, kw_only=True):
    """Where the stored events begin."""

    provided: Annotated[int, doc("The event that the client has")] = 0
    oldest: Annotated[int, doc("The oldest event that is stored")] = 0


class TooManyStreamsDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open streams of one client in one process")]


class NoDetails(WireStruct, frozen=True, kw_only=True):
    """The code has no details."""


# The `details` of the errors of keys and clients: scope, allow lists and limits.


UsdText = Annotated[str, doc("Decimal USD", "1500.00", pattern="^[0-9]+[.][0-9]{2}$")]
ResetsAt = Annotated[str, doc("End of the UTC day (ISO 8601)", "2027-01-16T00:00:00Z")]
Scope = Annotated[Literal["trade", "read"], doc("Scope of an API key", "read", type="string")]


class UnauthorizedDetails(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a key that was valid is refused; absent for a wrong or revoked key."""

    reason: Annotated[
        str | None,
        doc("EXPIRED: the key has expired. CLIENT_DISABLED: the operator disabled its client"),
    ] = None


class ForbiddenDetails(WireStruct, frozen=True, kw_only=True):
    """The scopes."""

    scope: Scope = "read"
    required: Scope = "trade"


class WalletNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The wallet."""

    user_address: Annotated[AddressText, doc("Wallet of the request", base.WALLET)] = ""


class TokenNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The token."""

    token: Annotated[AddressText, doc("Token that is not on the list", base.USDC)] = ""


class SwapValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of one swap."""

    limit_usd: UsdText = ""
    value_usd: UsdText = ""


class DailyValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit_usd: UsdText = ""
    used_usd: UsdText = ""
    value_usd: UsdText = ""
    resets_at: ResetsAt = ""


class QuoteLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit: Annotated[int, doc("Quotes a day", 10_000)] = 0
    resets_at: ResetsAt = ""


class OpenOrderLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open orders at the same time", 20)] = 0


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
    details: type[WireStruct] = NoDetails
    sometimes: bool = False


ERRORS: dict[str, ErrorSpec] = {
    "INVALID_TOKEN_ADDRESS": ErrorSpec(400, InvalidTokenAddressDetails),
    "NATIVE_ETH_NOT_SUPPORTED": ErrorSpec(400, NativeEthNotSupportedDetails),
    "INVALID_AMOUNT": ErrorSpec(400, InvalidAmountDetails),
    "USER_ADDRESS_REQUIRED": ErrorSpec(400, UserAddressRequiredDetails),
    "INVALID_OPERATION": ErrorSpec(400, InvalidOperationDetails),
    "INVALID_ADDRESS": ErrorSpec(400, InvalidAddressDetails),
    "INVALID_PARAMETER": ErrorSpec(400, InvalidParameterDetails),
    "MISSING_PARAMETER": ErrorSpec(400, MissingParameterDetails),
    "INVALID_SIGNATURE": ErrorSpec(400, InvalidSignatureDetails),
    "INSUFFICIENT_ALLOWANCE": ErrorSpec(400, InsufficientAllowanceDetails),
    "INSUFFICIENT_BALANCE": ErrorSpec(400, InsufficientBalanceDetails),
    "DEADLINE_EXPIRED": ErrorSpec(400, DeadlineExpiredDetails),
    "INVALID_TRANSACTION": ErrorSpec(400, InvalidTransactionDetails),
    "UNAUTHORIZED": ErrorSpec(401, UnauthorizedDetails, sometimes=True),
    "FORBIDDEN": ErrorSpec(403, ForbiddenDetails),
    "WALLET_NOT_ALLOWED": ErrorSpec(403, WalletNotAllowedDetails),
    "TOKEN_NOT_ALLOWED": ErrorSpec(403, TokenNotAllowedDetails),
    "SWAP_VALUE_UNKNOWN": ErrorSpec(403),
    "SWAP_VALUE_LIMIT_EXCEEDED": ErrorSpec(403, SwapValueLimitDetails),
    "INSUFFICIENT_LIQUIDITY": ErrorSpec(404, InsufficientLiquidityDetails),
    "TOKEN_NOT_SUPPORTED": ErrorSpec(404, TokenNotSupportedDetails),
    "ORDER_NOT_FOUND": ErrorSpec(404),
    "RPC_TOKEN_NOT_FOUND": ErrorSpec(404),
    "WEBHOOK_NOT_FOUND": ErrorSpec(404),
    "NOT_FOUND": ErrorSpec(404, NotFoundDetails),
    "METHOD_NOT_ALLOWED": ErrorSpec(405, MethodNotAllowedDetails),
    "NONCE_TOO_LOW": ErrorSpec(409, NonceTooLowDetails),
    "SIGNATURE_REPLAY": ErrorSpec(409, SignatureReplayDetails, sometimes=True),
    "WEBHOOK_LIMIT_REACHED": ErrorSpec(409, WebhookLimitReachedDetails),
    "EVENTS_PRUNED": ErrorSpec(410, EventsPrunedDetails),
    "OPEN_ORDER_LIMIT_EXCEEDED": ErrorSpec(409, OpenOrderLimitDetails),
    "PAYLOAD_TOO_LARGE": ErrorSpec(413, PayloadTooLargeDetails),
    "UNSUPPORTED_MEDIA_TYPE": ErrorSpec(415, UnsupportedMediaTypeDetails),
    "HOST_NOT_ALLOWED": ErrorSpec(421, HostNotAllowedDetails),
    "VALIDATION_ERROR": ErrorSpec(422, ValidationErrorDetails),
    "RATE_LIMIT_EXCEEDED": ErrorSpec(429),
    "TOO_MANY_STREAMS": ErrorSpec(429, TooManyStreamsDetails),
    "QUOTE_LIMIT_EXCEEDED": ErrorSpec(429, QuoteLimitDetails),
    "DAILY_VALUE_LIMIT_EXCEEDED": ErrorSpec(429, DailyValueLimitDetails),
    "INTERNAL_SERVER_ERROR": ErrorSpec(500, InternalServerErrorDetails),
    "WEBHOOKS_NOT_CONFIGURED": ErrorSpec(501),
    "SERVICE_UNAVAILABLE": ErrorSpec(503, ServiceUnavailableDetails, sometimes=True),
    "PROVIDER_UNAVAILABLE": ErrorSpec(503, ProviderUnavailableDetails, sometimes=True),
}

STATUS_EXCEPTIONS = {("wrap_order", "NONCE_TOO_LOW"): 400}
"""Where one operation answers a code with another status than all others do."""


def status_of(code: str, operation: str) -> int:
    """Return the HTTP status of a code on one operation, by its operationId in OpenAPI."""
    return STATUS_EXCEPTIONS.get((operation, code)) or ERRORS[code].status
