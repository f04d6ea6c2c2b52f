"""The error catalogue: one class per code of the interface, in the order of its error table.

A constructor's arguments are the `details` shape of the code, so the type checker sees every raise.
The HTTP status of a code is not here but in one table, `quietswap.api.errors`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

Details = dict[str, Any]


class ApiError(Exception):
    """An answer the caller can act on.

    `message` is for people, `details` for programs (its shape depends on `code`), `suggestion`
    says what to do next where something helps.
    """

    code: ClassVar[str]

    def __init__(
        self, message: str, details: Details | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.suggestion = suggestion


class InvalidTokenAddress(ApiError):
    """The token address is missing, misshapen, wrongly checksummed, or both tokens are the same."""

    code = "INVALID_TOKEN_ADDRESS"

    def __init__(self, *, field: str, provided: str, reason: str) -> None:
        super().__init__(
            f"{field} is not a valid token address: {reason}",
            {"field": field, "provided": provided, "reason": reason},
            "Use the EIP-55 checksummed address of an ERC-20 token.",
        )


class NativeEthNotSupported(ApiError):
    """A native-ETH placeholder was given where an ERC-20 token is needed."""

    code = "NATIVE_ETH_NOT_SUPPORTED"

    def __init__(self, *, field: str, provided: str, weth: str) -> None:
        super().__init__(
            f"{field} is a placeholder for native ETH, which cannot be swapped here",
            {"field": field, "provided": provided},
            f"Wrap ETH first and use WETH: {weth}",
        )


class InvalidAmount(ApiError):
    """The amount is missing, zero, negative or not a plain decimal number."""

    code = "INVALID_AMOUNT"

    def __init__(self, *, field: str, provided: str, reason: str) -> None:
        super().__init__(
            f"{field} is not a valid amount: {reason}", {"provided": provided, "field": field}
        )


class UserAddressRequired(ApiError):
    """The swap quote needs the wallet that will sign."""

    code = "USER_ADDRESS_REQUIRED"

    def __init__(self) -> None:
        super().__init__(
            "userAddress is missing: the quote builds a transaction for one wallet",
            {"field": "userAddress", "required": True},
        )


class InvalidOperation(ApiError):
    """Only wrap and unwrap exist."""

    code = "INVALID_OPERATION"

    def __init__(self, *, provided: str) -> None:
        super().__init__(
            "operation must be wrap or unwrap",
            {"provided": provided, "allowed": ["wrap", "unwrap"]},
        )


class InvalidAddress(ApiError):
    """A wallet address is misshapen or wrongly checksummed."""

    code = "INVALID_ADDRESS"

    def __init__(self, *, provided: str, reason: str) -> None:
        super().__init__(
            f"the wallet address is not valid: {reason}",
            {"provided": provided, "address": provided, "reason": reason},
            "Use the EIP-55 checksummed spelling of the address.",
        )


class InvalidParameter(ApiError):
    """A query parameter is outside its range; `max` is its upper bound where it has one."""

    code = "INVALID_PARAMETER"

    def __init__(
        self, *, parameter: str, provided: str, reason: str, maximum: int | None = None
    ) -> None:
        super().__init__(
            f"{parameter} is not valid: {reason}",
            {"parameter": parameter, "provided": provided, "max": maximum},
        )


class MissingParameter(ApiError):
    """A required field is absent; `field` is its dotted path."""

    code = "MISSING_PARAMETER"

    def __init__(self, *, field: str) -> None:
        super().__init__(f"{field} is required", {"field": field, "required": True})


class InvalidSignature(ApiError):
    """The signed transaction cannot be decoded, or its signature does not prove the wallet."""

    code = "INVALID_SIGNATURE"

    def __init__(self, *, reason: str) -> None:
        super().__init__(f"the signed transaction is not valid: {reason}", {"reason": reason})


class InsufficientAllowance(ApiError):
    """The router may not yet move enough of the sell token; amounts in smallest units."""

    code = "INSUFFICIENT_ALLOWANCE"

    def __init__(self, *, token: str, router: str, required: int, current: int) -> None:
        super().__init__(
            "the router is not approved to move the sell amount",
            {
                "token": token,
                "router": router,
                "required": str(required),
                "current": str(current),
            },
            f"Approve {router} for at least {required} of {token}, then submit again.",
        )


class InsufficientBalance(ApiError):
    """Not enough of `asset` ("ETH" or a token address); amounts in wei or smallest units."""

    code = "INSUFFICIENT_BALANCE"

    def __init__(self, *, asset: str, required: int, available: int) -> None:
        details = {"required": str(required), "available": str(available), "asset": asset}
        if available < required:
            super().__init__(f"the wallet holds too little {asset}", details)
            return
        # only somebody else can have said so: the figures here speak against it
        super().__init__(
            f"the relay says the wallet cannot pay for it, although enough {asset} is counted here",
            details,
            "Transactions on their way may need it too: wait for them, then request a fresh quote.",
        )


class DeadlineExpired(ApiError):
    """The order's own deadline has passed; Unix seconds."""

    code = "DEADLINE_EXPIRED"

    def __init__(self, *, deadline: int, now: int) -> None:
        super().__init__(
            "the order's deadline has passed",
            {"deadline": deadline, "now": now},
            "Request a fresh quote and sign it again.",
        )


class NonceTooLow(ApiError):
    """The wallet has already used this nonce."""

    code = "NONCE_TOO_LOW"

    def __init__(self, *, provided: int, expected: int) -> None:
        super().__init__(
            f"nonce {provided} is already used; the next one is {expected}",
            {"provided": provided, "expected": expected},
            "Request a fresh quote and sign it again.",
        )


class InvalidTransaction(ApiError):
    """The transaction breaks a rule of its type (EIP-1559, EIP-2681, EIP-7825) or its chain."""

    code = "INVALID_TRANSACTION"

    def __init__(self, *, reason: str, field: str | None = None) -> None:
        super().__init__(
            f"the transaction is not valid: {reason}", {"reason": reason, "field": field}
        )


class Unauthorized(ApiError):
    """The API key is missing, unknown or revoked; which of these is not said."""

    code = "UNAUTHORIZED"

    def __init__(self) -> None:
        super().__init__(
            "the X-API-Key header is missing or its key is not valid",
            suggestion="Send a key issued by this service's operator.",
        )


class InsufficientLiquidity(ApiError):
    """No aggregator found a route that survives verification."""

    code = "INSUFFICIENT_LIQUIDITY"

    def __init__(self, *, sources: Sequence[Details]) -> None:
        super().__init__(
            "no route delivers this swap",
            {"sources": list(sources)},
            "Try a smaller amount, a higher slippageBps, or another pair.",
        )


class TokenNotSupported(ApiError):
    """The token has no code on mainnet, is not allowed here, or no aggregator knows it."""

    code = "TOKEN_NOT_SUPPORTED"

    def __init__(self, *, token: str, reason: str) -> None:
        super().__init__(
            f"the token is not supported: {reason}", {"token": token, "reason": reason}
        )


class OrderNotFound(ApiError):
    """No such order for this key; an order of another key looks the same."""

    code = "ORDER_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("no order with this id exists for this API key")
