"""The error catalogue: one exception class per code, with the shape of its details."""

from typing import Any

from quietswap.client.errors import ApiError, NoDetails
from quietswap.client.wire import Amount, Resource


class FieldDetails(Resource, frozen=True):
    """Which field, what it held, why that is wrong."""

    field: str = ""
    provided: str = ""
    reason: str = ""


class InvalidTokenAddress(ApiError[FieldDetails]):
    """A token address is missing, misshapen, wrongly checksummed, or both are the same."""

    code = "INVALID_TOKEN_ADDRESS"
    shape = FieldDetails


class NativeEthNotSupported(ApiError[FieldDetails]):
    """Native ETH cannot be swapped: wrap it and use WETH."""

    code = "NATIVE_ETH_NOT_SUPPORTED"
    shape = FieldDetails


class InvalidAmount(ApiError[FieldDetails]):
    """The amount is not a positive number in the required notation."""

    code = "INVALID_AMOUNT"
    shape = FieldDetails


class UserAddressRequired(ApiError[FieldDetails]):
    """The quote needs the wallet."""

    code = "USER_ADDRESS_REQUIRED"
    shape = FieldDetails


class OperationDetails(Resource, frozen=True):
    """What was given, and what may be."""

    provided: str
    allowed: tuple[str, ...]


class InvalidOperation(ApiError[OperationDetails]):
    """Only wrap and unwrap exist."""

    code = "INVALID_OPERATION"
    shape = OperationDetails


class AddressDetails(Resource, frozen=True):
    """`address` on the history endpoint, `provided` on the wrap endpoints."""

    provided: str = ""
    address: str = ""
    reason: str = ""


class InvalidAddress(ApiError[AddressDetails]):
    """The wallet address is misshapen or wrongly checksummed."""

    code = "INVALID_ADDRESS"
    shape = AddressDetails


class ParameterDetails(Resource, frozen=True):
    """`max` is the parameter's upper bound where it has one."""

    parameter: str
    provided: Any = None
    max: int | None = None


class InvalidParameter(ApiError[ParameterDetails]):
    """A query parameter is outside its range."""

    code = "INVALID_PARAMETER"
    shape = ParameterDetails


class MissingDetails(Resource, frozen=True):
    """The dotted path of the absent field."""

    field: str
    required: Any = None


class MissingParameter(ApiError[MissingDetails]):
    """A required field is absent."""

    code = "MISSING_PARAMETER"
    shape = MissingDetails


class ReasonDetails(Resource, frozen=True):
    """Why, in plain words; `field` where one is to blame."""

    reason: str
    field: str | None = None


class InvalidSignature(ApiError[ReasonDetails]):
    """The signature cannot be recovered or is another wallet's."""

    code = "INVALID_SIGNATURE"
    shape = ReasonDetails


class AllowanceDetails(Resource, frozen=True):
    """Smallest units of `token`."""

    token: str
    router: str
    required: Amount
    current: Amount


class InsufficientAllowance(ApiError[AllowanceDetails]):
    """The router may not yet move enough of the sell token."""

    code = "INSUFFICIENT_ALLOWANCE"
    shape = AllowanceDetails


class BalanceDetails(Resource, frozen=True):
    """Wei or smallest units of `asset` ("ETH" or a token's address)."""

    required: Amount
    available: Amount
    asset: str | None = None


class InsufficientBalance(ApiError[BalanceDetails]):
    """The wallet holds too little."""

    code = "INSUFFICIENT_BALANCE"
    shape = BalanceDetails


class DeadlineDetails(Resource, frozen=True):
    """Unix seconds."""

    deadline: int
    now: int | None = None


class DeadlineExpired(ApiError[DeadlineDetails]):
    """The order's own deadline has passed."""

    code = "DEADLINE_EXPIRED"
    shape = DeadlineDetails


class NonceDetails(Resource, frozen=True):
    """The nonce signed, and the next one the wallet may use."""

    provided: int
    expected: int


class NonceTooLow(ApiError[NonceDetails]):
    """The wallet has already used this nonce."""

    code = "NONCE_TOO_LOW"
    shape = NonceDetails


class InvalidTransaction(ApiError[ReasonDetails]):
    """The transaction breaks a rule of its type or chain."""

    code = "INVALID_TRANSACTION"
    shape = ReasonDetails


class Unauthorized(ApiError[NoDetails]):
    """The API key is missing or not valid."""

    code = "UNAUTHORIZED"


class SourcesDetails(Resource, frozen=True):
    """What each aggregator said: `source`, `outcome`, `reason`."""

    sources: tuple[dict[str, Any], ...]


class InsufficientLiquidity(ApiError[SourcesDetails]):
    """No route delivers this swap."""

    code = "INSUFFICIENT_LIQUIDITY"
    shape = SourcesDetails


class TokenDetails(Resource, frozen=True):
    """Which token, and why not."""

    token: str
    reason: str = ""


class TokenNotSupported(ApiError[TokenDetails]):
    """The token cannot be swapped here."""

    code = "TOKEN_NOT_SUPPORTED"
    shape = TokenDetails


class OrderNotFound(ApiError[NoDetails]):
    """No such order for this key."""

    code = "ORDER_NOT_FOUND"
