"""Exceptions of the codes for a signed transaction and its order.

Details are Structs of the contract.
"""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import (
    DeadlineExpiredDetails,
    InsufficientAllowanceDetails,
    InsufficientBalanceDetails,
    InvalidSignatureDetails,
    InvalidTransactionDetails,
    NoDetails,
    NonceTooLowDetails,
    SignatureReplayDetails,
)


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
