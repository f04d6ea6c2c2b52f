"""Error codes for what a request contains: missing, malformed or unsupported values."""

from collections.abc import Sequence

from quietswap.domain.errors.base import Details, RequestError


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
        super().__init__(
            f"{field} is a placeholder for native ETH, which cannot be swapped here",
            {"field": field, "provided": provided},
            f"Wrap ETH first and use WETH: {weth}",
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
            f"the wallet address is not valid: {reason}",
            {"field": field, "provided": provided, "address": provided, "reason": reason},
            "Give the address of the wallet, in its EIP-55 checksummed spelling.",
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
