"""Error codes for what a request contains: missing, malformed or unsupported values."""

from collections.abc import Sequence
from typing import Self

from quietswap.errors.base import Details, RequestError


class InvalidTokenAddress(RequestError):
    """The token address is missing or invalid, or both tokens are the same."""

    code = "INVALID_TOKEN_ADDRESS"

    def __init__(
        self,
        *,
        field: str,
        provided: str,
        reason: str,
        suggestion: str = "Use the EIP-55 checksummed address of an ERC-20 token.",
    ) -> None:
        super().__init__(
            f"{field} is not a valid token address: {reason}",
            {"field": field, "provided": provided, "reason": reason},
            suggestion,
        )


class NativeEthNotSupported(RequestError):
    """A placeholder for native ETH was given in place of an ERC-20 token."""

    code = "NATIVE_ETH_NOT_SUPPORTED"

    def __init__(self, *, field: str, provided: str, weth: str) -> None:
        is_swap = field != "tokens"
        super().__init__(
            f"{field} is a placeholder for native ETH, which cannot be swapped here"
            if is_swap
            else f"{field} has a placeholder for native ETH, which is no ERC-20",
            {"field": field, "provided": provided},
            f"Wrap ETH first and use WETH: {weth}"
            if is_swap
            else "Leave it out: the balance of ETH is in every answer.",
        )


class InvalidAmount(RequestError):
    """The amount is missing, zero, negative or not a plain decimal number."""

    code = "INVALID_AMOUNT"

    def __init__(self, *, field: str, provided: str, reason: str) -> None:
        super().__init__(
            f"{field} is not a valid amount: {reason}", {"provided": provided, "field": field}
        )


class UserAddressRequired(RequestError):
    """The swap quote needs the wallet that will sign."""

    code = "USER_ADDRESS_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            "userAddress is missing: the quote builds a transaction for one wallet",
            {"field": "userAddress", "required": True},
        )


class InvalidOperation(RequestError):
    """The operation is neither wrap nor unwrap."""

    code = "INVALID_OPERATION"

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "operation must be wrap or unwrap",
            {"provided": provided, "allowed": ["wrap", "unwrap"]},
        )


class InvalidAddress(RequestError):
    """A wallet address has a wrong form or checksum."""

    code = "INVALID_ADDRESS"

    def __init__(self, *, provided: str, reason: str, field: str = "userAddress") -> None:
        super().__init__(
            f"{field} is not a valid wallet address: {reason}",
            {"field": field, "provided": provided, "address": provided, "reason": reason},
            "Use the EIP-55 checksummed address of the wallet that signs.",
        )


class InvalidParameter(RequestError):
    """A query parameter is outside its range; `max` is its upper bound, if it has one."""

    code = "INVALID_PARAMETER"

    def __init__(
        self, *, parameter: str, provided: str, reason: str, maximum: int | None = None
    ) -> None:
        super().__init__(
            f"{parameter} is not valid: {reason}",
            {"parameter": parameter, "provided": provided, "max": maximum},
        )


class MissingParameter(RequestError):
    """A required field is absent; `field` is its dotted path."""

    code = "MISSING_PARAMETER"

    def __init__(self, *, field: str) -> None:
        super().__init__(f"{field} is required", {"field": field, "required": True})


class TokenNotSupported(RequestError):
    """A token has no code on mainnet, is not allowed here, or is unknown to an aggregator.

    The last only if no other aggregator has a route.
    """

    code = "TOKEN_NOT_SUPPORTED"

    def __init__(self, *, token: str, reason: str) -> None:
        super().__init__(
            f"the token is not supported: {reason}", {"token": token, "reason": reason}
        )


class RpcTokenNotFound(RequestError):
    """The client has no live RPC URL with this id."""

    code = "RPC_TOKEN_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("no RPC URL with this id exists for this API key, or it is revoked")


class ValidationError(RequestError):
    """The submission differs from the issued quote, or has wrong JSON types.

    Each entry of `fields` names its `field` (dotted path) with `expected` and `provided`.
    """

    code = "VALIDATION_ERROR"

    def __init__(
        self, message: str, fields: Sequence[Details] = (), *, reason: str = "MISMATCH"
    ) -> None:
        super().__init__(
            message,
            {"reason": reason, "fields": list(fields)},
            "Request a fresh quote, sign its transactionParams unchanged and send its "
            "providerMetadata back unchanged."
            if reason != "MALFORMED"
            else None,
        )


# Error codes for a signed transaction and its order: signature, balance, nonce, deadline.


class InvalidSignature(RequestError):
    """The signed transaction cannot be decoded, or its signature does not prove the wallet."""

    code = "INVALID_SIGNATURE"

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"the signed transaction is not valid: {reason}", {"reason": reason})

    @classmethod
    def other_signer(cls, signer: str, wanted: str) -> Self:
        """Return the error for a signature that recovers `signer` where `wanted` must sign."""
        return cls(reason=f"{recovered(signer)}, not {wanted}")


def recovered(signer: str) -> str:
    """Return the words for the wallet that a signature recovers."""
    return f"the signature recovers {signer} (altered bytes recover an address of their own)"


class InsufficientAllowance(RequestError):
    """The router may not yet move enough of the sell token; amounts in smallest units."""

    code = "INSUFFICIENT_ALLOWANCE"

    def __init__(self, *, token: str, router: str, required: int, current: int) -> None:
        super().__init__(
            "the router is not approved to move the sell amount",
            {"token": token, "router": router, "required": str(required), "current": str(current)},
            f"Approve {router} for at least {required} of {token}, then submit again.",
        )


class InsufficientBalance(RequestError):
    """Not enough of `asset` ("ETH" or a token address); amounts in wei or smallest units."""

    code = "INSUFFICIENT_BALANCE"

    def __init__(self, *, asset: str, required: int, available: int) -> None:
        details = {"required": str(required), "available": str(available), "asset": asset}
        if available < required:
            units = "wei" if asset == "ETH" else "smallest units"
            text = f"the wallet holds too little {asset}: {available} of {required} {units}"
            super().__init__(text, details)
            return
        # the relay said so; our own figures contradict it
        super().__init__(
            f"the relay says the wallet cannot pay for it, although the node shows enough {asset}",
            details,
            "Pending transactions may also need it: wait for them, then request a fresh quote.",
        )


class DeadlineExpired(RequestError):
    """The order's own deadline has passed; Unix seconds."""

    code = "DEADLINE_EXPIRED"

    def __init__(self, *, deadline: int, now: int) -> None:
        super().__init__(
            "the order's deadline has passed",
            {"deadline": deadline, "now": now},
            "Request a fresh quote and sign it again.",
        )


class NonceTooLow(RequestError):
    """The wallet has already used this nonce."""

    code = "NONCE_TOO_LOW"

    def __init__(self, *, provided: int, expected: int) -> None:
        super().__init__(
            f"nonce {provided} is already used; the next one is {expected}",
            {"provided": provided, "expected": expected},
            "Request a fresh quote and sign it again.",
        )


class InvalidTransaction(RequestError):
    """The transaction breaks a rule of its type (EIP-1559, EIP-2681, EIP-7825) or its chain."""

    code = "INVALID_TRANSACTION"

    def __init__(self, *, reason: str, field: str | None = None) -> None:
        super().__init__(
            f"the transaction is not valid: {reason}", {"reason": reason, "field": field}
        )


class OrderNotFound(RequestError):
    """This key has no such order; an order of another key gives the same error."""

    code = "ORDER_NOT_FOUND"

    def __init__(self, suggestion: str | None = None) -> None:
        super().__init__("no order with this id exists for this API key", suggestion=suggestion)


class SignatureReplay(RequestError):
    """The same signed transaction was already submitted; `order_id` only if this client owns it."""

    code = "SIGNATURE_REPLAY"

    def __init__(self, *, order_id: str | None = None) -> None:
        super().__init__(
            "this signed transaction was already submitted",
            {"orderId": order_id} if order_id else None,
            "Poll the existing order instead of submitting again." if order_id else None,
        )


# Error codes for webhooks.


class WebhookNotFound(RequestError):
    """This client has no such webhook; a webhook of another client gives the same error."""

    code = "WEBHOOK_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("no webhook with this id exists for this API key")


class WebhookLimitReached(RequestError):
    """The client has as many webhooks as the settings allow."""

    code = "WEBHOOK_LIMIT_REACHED"

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"there are {limit} webhooks already, and no more are allowed",
            {"limit": limit},
            "Delete one first, or ask the operator to raise webhooks.max_per_client.",
        )


class WebhooksNotConfigured(RequestError):
    """The operator has set no key to encrypt the secrets of webhooks."""

    code = "WEBHOOKS_NOT_CONFIGURED"

    def __init__(self) -> None:
        super().__init__(
            "this service has no key to encrypt webhook secrets, so it creates no webhooks",
            suggestion="Ask the operator to set webhooks.encryption_key. The event stream works "
            "without it.",
        )


# Error codes of the stream of order events.


class EventsPruned(RequestError):
    """The events that follow are no longer stored; `oldest` is the first that is."""

    code = "EVENTS_PRUNED"

    def __init__(self, *, provided: int, oldest: int) -> None:
        super().__init__(
            f"the events after {provided} are no longer stored; the oldest is {oldest}",
            {"provided": provided, "oldest": oldest},
            "Read the status of your orders, then follow the stream without a start, or from "
            f"?after={oldest - 1}.",
        )


class TooManyStreams(RequestError):
    """The client has as many open streams as it may have in this process."""

    code = "TOO_MANY_STREAMS"
    retry_after = 10
    """Seconds: a stream whose client has gone away is noticed by then."""

    def __init__(self, *, limit: int, who: str = "this client") -> None:
        super().__init__(
            f"{who} already has {limit} open streams",
            {"limit": limit},
            "Close a stream, or follow several orders with one stream: it has all your events.",
        )
