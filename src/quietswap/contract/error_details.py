"""The `details` of errors: one Struct per error code."""

from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from quietswap.contract.base import AmountText, WireStruct, doc, ref
from quietswap.domain.quote.quote import WrapOperation

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
