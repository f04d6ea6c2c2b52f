"""The exceptions of the client.

ClientError
├── ServiceUnreachable      no answer: network or timeout
│   └── NodeUnreachable     no answer of the caller's own Ethereum node
├── UnexpectedResponse      an answer that does not follow this interface
├── ApiError                the service refused; one subclass per error code
├── NodeRpcError            the Ethereum node refused a call
├── WrongChain              the caller's own Ethereum node is not on mainnet
├── UnsafeQuote             the transaction to sign differs from the request
│   └── NonceMismatch       its nonce is not the wallet's next one
├── SignerMismatch          the signer changed the transaction, or another wallet signed
├── TransactionHashMismatch the service names another transaction than the signed one
├── StatusContradiction     the caller's own node contradicts the status of the order
├── QuoteDeclined           a condition of the caller stopped the flow before signing
├── TransactionFailed       a transaction of the flow was mined and reverted
├── TransactionReplaced     another transaction of the wallet used the nonce
├── OrderStillOpen          polling ended; the order is still open
└── AfterSubmission         the signed bytes were submitted, and then something refused or failed
    ├── MayBeMined          not known yet: sign no other nonce before this one is used
    ├── MinedAnyway         the caller's own node shows that it was mined and succeeded
    └── NeverMined          the caller's own node shows that another try is safe
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, cast

import msgspec

from quietswap.client import number_limits, wire
from quietswap.rules import errors as codes
from quietswap.rules.contract.errors import ERRORS, ErrorEnvelope


class ClientError(Exception):
    """Base class of all exceptions of this client.

    `is_transient` is true if the same request may succeed later.
    """

    is_transient: bool = False


class ServiceUnreachable(ClientError):
    """No answer arrived. A POST may still have taken effect."""

    is_transient = True


class NodeUnreachable(ServiceUnreachable):
    """The caller's own Ethereum node did not answer.

    `is_busy` is true if it refuses for a while, by a rate limit.
    """

    def __init__(self, message: str, *, is_busy: bool = False) -> None:
        super().__init__(message)
        self.is_busy = is_busy


class UnexpectedResponse(ClientError):
    """The answer does not follow this interface, for example a proxy's HTML page."""


class NodeRpcError(ClientError):
    """The Ethereum node answered with an error; `code` is the JSON-RPC error code."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message}")
        self.method = method
        self.code = code


class WrongChain(ClientError):
    """The node at the caller's RPC URL is on another chain; `chain_id` is that chain."""

    def __init__(self, chain_id: int) -> None:
        super().__init__(f"your RPC URL leads to a node of chain {chain_id}, not of mainnet (1)")
        self.chain_id = chain_id


D = TypeVar("D", bound=msgspec.Struct)


class ApiError(ClientError, Generic[D]):
    """The service answered with an error code.

    `details` is the Struct of the code, or None if the answer has no details that fit.
    `raw_details` holds the details as received. `status` is the HTTP status. A subclass has
    the code and the details of the service's class of the same name.
    """

    code: ClassVar[str] = ""
    shape: ClassVar[type[msgspec.Struct]] = codes.NoDetails

    def __init_subclass__(cls) -> None:
        same = getattr(codes, cls.__name__)
        cls.code, cls.shape = same.code, same.shape

    def __init__(self, body: ErrorEnvelope, status: int) -> None:
        super().__init__(f"{body.error}: {body.message}" if body.message else body.error)
        self.error = body.error
        self.status = status
        self.message = body.message
        self.suggestion = body.suggestion
        self.raw_details = body.details
        self.retry_after = number_limits.retry_after(body.retry_after)
        self.limit = body.limit
        self.window = body.window
        details: msgspec.Struct | None = None
        with suppress(msgspec.ValidationError):
            details = wire.convert(body.details, self.shape)
        self.details = cast("D | None", details)


class InvalidTokenAddress(ApiError[codes.InvalidTokenAddressDetails]):
    """A token address is missing, malformed, or has a wrong checksum, or both are the same."""


class NativeEthNotSupported(ApiError[codes.NativeEthNotSupportedDetails]):
    """Native ETH cannot be swapped: wrap it and use WETH."""


class InvalidAmount(ApiError[codes.InvalidAmountDetails]):
    """The amount is not a positive number in the required notation."""


class UserAddressRequired(ApiError[codes.UserAddressRequiredDetails]):
    """The wallet address is missing; a quote needs it."""


class InvalidOperation(ApiError[codes.InvalidOperationDetails]):
    """The operation is neither wrap nor unwrap."""


class InvalidAddress(ApiError[codes.InvalidAddressDetails]):
    """The wallet address is malformed or has a wrong checksum."""


class InvalidParameter(ApiError[codes.InvalidParameterDetails]):
    """A query parameter is outside its range."""


class MissingParameter(ApiError[codes.MissingParameterDetails]):
    """A required field is missing."""


class TokenNotSupported(ApiError[codes.TokenNotSupportedDetails]):
    """This service does not support the token."""


class RpcTokenNotFound(ApiError[codes.NoDetails]):
    """The client has no live RPC URL with this id."""


class ValidationError(ApiError[codes.ValidationErrorDetails]):
    """The service refused the body; `details.reason` has the cause, for example MISMATCH."""


class InvalidSignature(ApiError[codes.InvalidSignatureDetails]):
    """The signer cannot be recovered from the signature, or is another wallet."""


class InsufficientAllowance(ApiError[codes.InsufficientAllowanceDetails]):
    """The router's allowance of the sell token is below the sell amount."""


class InsufficientBalance(ApiError[codes.InsufficientBalanceDetails]):
    """The wallet's balance is too low."""


class DeadlineExpired(ApiError[codes.DeadlineExpiredDetails]):
    """The order's own deadline has passed."""


class NonceTooLow(ApiError[codes.NonceTooLowDetails]):
    """The wallet has already used this nonce."""


class InvalidTransaction(ApiError[codes.InvalidTransactionDetails]):
    """The transaction breaks a rule of its type or chain."""


class OrderNotFound(ApiError[codes.NoDetails]):
    """The API key has no order with this id."""


class SignatureReplay(ApiError[codes.SignatureReplayDetails]):
    """The same signed transaction was already submitted."""


class Forbidden(ApiError[codes.ForbiddenDetails]):
    """The scope of the API key does not allow this."""


class WalletNotAllowed(ApiError[codes.WalletNotAllowedDetails]):
    """The operator does not let this client trade for this wallet."""


class TokenNotAllowed(ApiError[codes.TokenNotAllowedDetails]):
    """The operator does not let this client trade this token."""


class SwapValueUnknown(ApiError[codes.NoDetails]):
    """The client has a limit in USD, and the swap has no known value."""


class SwapValueLimitExceeded(ApiError[codes.SwapValueLimitDetails]):
    """The swap is worth more than the client may swap at a time."""


class QuoteLimitExceeded(ApiError[codes.QuoteLimitDetails]):
    """The client has used its quotes of this UTC day."""


class OpenOrderLimitExceeded(ApiError[codes.OpenOrderLimitDetails]):
    """The client has as many open orders as it may have; nothing was sent."""


class DailyValueLimitExceeded(ApiError[codes.DailyValueLimitDetails]):
    """The swap would exceed the USD of this UTC day; nothing was sent."""


class EventsPruned(ApiError[codes.EventsPrunedDetails]):
    """The events that follow are no longer stored. The status of each order still is."""


class TooManyStreams(ApiError[codes.TooManyStreamsDetails]):
    """This client has as many open streams as it may have."""

    is_transient = True


class WebhookNotFound(ApiError[codes.NoDetails]):
    """The client has no webhook with this id."""


class WebhookLimitReached(ApiError[codes.WebhookLimitReachedDetails]):
    """The client has as many webhooks as the service allows."""


class WebhooksNotConfigured(ApiError[codes.NoDetails]):
    """The service has no key to encrypt webhook secrets."""


class WatchNotFound(ApiError[codes.NoDetails]):
    """The client has no watch with this id."""


class WatchLimitReached(ApiError[codes.WatchLimitReachedDetails]):
    """The client has as many open watches as it may have."""


class InsufficientLiquidity(ApiError[codes.InsufficientLiquidityDetails]):
    """No route delivers this swap."""


class InternalServerError(ApiError[codes.InternalServerErrorDetails]):
    """The service failed while answering."""

    is_transient = True


class ServiceUnavailable(ApiError[codes.ServiceUnavailableDetails]):
    """The aggregators, the service's node or its database are unavailable."""

    is_transient = True


class ProviderUnavailable(ApiError[codes.ProviderUnavailableDetails]):
    """The service reports that the relay did not accept the transaction; it may still be mined.

    Only with the reason STORE_UNAVAILABLE is the result unknown; then the same bytes may be
    submitted again.
    """

    def __init__(self, body: ErrorEnvelope, status: int) -> None:
        super().__init__(body, status)
        self.is_transient = bool(self.details and self.details.reason == "STORE_UNAVAILABLE")


class Unauthorized(ApiError[codes.UnauthorizedDetails]):
    """The API key is missing or not valid."""


class RateLimitExceeded(ApiError[codes.NoDetails]):
    """Too many requests: `retry_after` seconds to wait, `limit` per `window` seconds."""

    is_transient = True


class NotFound(ApiError[codes.NotFoundDetails]):
    """No endpoint at this path."""


class MethodNotAllowed(ApiError[codes.MethodNotAllowedDetails]):
    """The endpoint does not support this HTTP method."""


class UnsupportedMediaType(ApiError[codes.UnsupportedMediaTypeDetails]):
    """The body is not application/json."""


class HostNotAllowed(ApiError[codes.HostNotAllowedDetails]):
    """The host name in the URL is not one that the operator lists."""


class PayloadTooLarge(ApiError[codes.PayloadTooLargeDetails]):
    """The body is larger than the service accepts."""


_CLASSES = {kind.code: kind for kind in ApiError.__subclasses__()}

ERROR_CLASSES: Final[dict[str, type[ApiError[Any]]]] = {code: _CLASSES[code] for code in ERRORS}
"""In the order of the contract's table; a code without a class fails at import."""


def error_from_body(body: ErrorEnvelope, status: int) -> ApiError[Any]:
    """Return the exception for an error envelope; a plain ApiError for an unknown code."""
    kind: type[ApiError[Any]] = ERROR_CLASSES.get(body.error, ApiError)
    return kind(body, status)


class UnsafeQuote(ClientError):
    """The transaction to sign differs from the request, or is not safe; nothing was signed."""


class NonceMismatch(UnsafeQuote):
    """The quote's nonce is not the requested one or, if none was requested, the wallet's next."""


class SignerMismatch(ClientError):
    """The signer returned another transaction than the one to sign; nothing was submitted."""


class TransactionHashMismatch(ClientError):
    """The service names `named_hash`, but the signed and submitted transaction is `signed_hash`.

    The signed transaction may have been sent, and may still be mined. In a flow, `nonce` is its
    nonce and `order_id` the order that the service named. `fate` is the outcome at the caller's own
    node (`TransactionOutcome`); None without a node.
    """

    nonce: int | None = None
    order_id: str | None = None
    fate: str | None = None

    def __init__(self, signed_hash: str, named_hash: str) -> None:
        super().__init__(
            f"the service speaks of transaction {named_hash}, not of {signed_hash}, which was"
            " signed: look the signed one up at your own node or an explorer"
        )
        self.signed_hash = signed_hash
        self.named_hash = named_hash

    @property
    def tx_hash(self) -> str:
        """The hash of the signed transaction."""
        return self.signed_hash


class StatusContradiction(ClientError):
    """The service reports `status`, but the caller's own node has a receipt that contradicts it.

    With status `confirmed`, `tx_hash` was mined and reverted. With `failed` or `cancelled`, it was
    mined and succeeded, and a second swap would spend twice.
    """

    def __init__(self, order_id: str, status: str, tx_hash: str) -> None:
        shown, so = "succeeded", "the swap took place, do not swap again"
        if status == "confirmed":
            shown, so = "reverted", "nothing was swapped"
        super().__init__(
            f"the service says that order {order_id} is {status}, but your own node says that its"
            f" transaction {tx_hash} was mined and {shown}: the chain is right, {so}"
        )
        self.order_id = order_id
        self.status = status
        self.tx_hash = tx_hash


class QuoteDeclined(ClientError):
    """The quote did not meet the caller's condition; nothing was signed.

    `short` is token, present and needed amount (smallest units) if a balance, an allowance or
    `max_sell` is too low.
    """

    def __init__(self, message: str, short: tuple[str, int, int] | None = None) -> None:
        super().__init__(message)
        self.short = short


class UnfinishedTrade(QuoteDeclined):
    """An earlier swap of the pair with ETH, begun by transaction `trade`, has no known end."""

    def __init__(self, trade: str) -> None:
        super().__init__(
            f"a swap of this pair, of transaction {trade}, was not followed to its end: go on with"
            " it by resume (--resume), or begin another one with new_trade (--new); nothing was"
            " signed"
        )
        self.trade = trade


class TransactionFailed(ClientError):
    """A transaction was mined and reverted."""

    def __init__(self, what: str, tx_hash: str) -> None:
        super().__init__(f"{what} was mined but reverted: {tx_hash}")
        self.tx_hash = tx_hash


class TransactionReplaced(ClientError):
    """Another transaction used the nonce, so this one can never be mined."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"another transaction of the wallet took the place of {tx_hash}")
        self.tx_hash = tx_hash


class OrderStillOpen(ClientError):
    """The wait ended before a final status; `reference` is an order id or a transaction hash.

    After a flow's submission, `tx_hash`, `nonce` and `order_id` are those of the signed
    transaction.
    """

    tx_hash: str | None = None
    nonce: int | None = None
    order_id: str | None = None

    def __init__(self, reference: str, status: str, waited_s: float) -> None:
        super().__init__(f"{reference} is still {status} after {waited_s:.0f} s")
        self.reference = reference
        self.status = status


class AfterSubmission(ClientError):
    """An error after the signed transaction was submitted, or an approval was sent.

    `cause` is the exception that ended the flow, or None if the caller's own node does not confirm
    the service's answer. `tx_hash` and `nonce` are those of the signed transaction. `order_id` is
    None if the service did not name the order. A refused transaction may have been sent.
    """

    _told: ClassVar[str]

    def __init__(
        self,
        why: str,
        *,
        tx_hash: str,
        nonce: int,
        order_id: str | None,
        cause: ClientError | None = None,
    ) -> None:
        order = f" of order {order_id}" if order_id else ""
        explanation = self._told.format(transaction=f"transaction {tx_hash}{order}", nonce=nonce)
        super().__init__(f"{why}: {explanation}")
        self.tx_hash = tx_hash
        self.nonce = nonce
        self.order_id = order_id
        self.cause = cause


class MayBeMined(AfterSubmission):
    """The signed transaction may still be mined while its nonce is unused."""

    _told = (
        "the signed {transaction} was submitted and may still be mined as long as nonce {nonce} is"
        " unused; only another transaction with nonce {nonce} rules it out"
    )


class MinedAnyway(AfterSubmission):
    """The caller's own node shows that the transaction succeeded: do not repeat it.

    `receipt` is that node's receipt (`NodeReceipt`).
    """

    receipt: Any = None
    _told = "but your own node says that {transaction} was mined and succeeded: do not repeat it"


class NeverMined(AfterSubmission):
    """The caller's own node shows that it reverted, or that another transaction used its nonce."""

    _told = (
        "your own node says that {transaction} came to nothing (it reverted, or another transaction"
        " used nonce {nonce}): another try is safe"
    )


if not TYPE_CHECKING:  # a type checker takes all public names
    __all__ = ["ERROR_CLASSES"] + [
        name
        for name, kind in dict(vars()).items()
        if isinstance(kind, type) and issubclass(kind, ClientError)
    ]
