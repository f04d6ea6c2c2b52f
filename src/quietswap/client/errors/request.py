"""Exceptions of the codes for invalid input. Details are Structs of the contract."""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import (
    InvalidAddressDetails,
    InvalidAmountDetails,
    InvalidOperationDetails,
    InvalidParameterDetails,
    InvalidTokenAddressDetails,
    MissingParameterDetails,
    NativeEthNotSupportedDetails,
    NoDetails,
    TokenNotSupportedDetails,
    UserAddressRequiredDetails,
    ValidationErrorDetails,
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
