"""Exceptions of the codes for an unavailable route, relay, node or database.

Details are Structs of the contract.
"""

from quietswap.client.errors.base import ApiError
from quietswap.contract.error_details import (
    InsufficientLiquidityDetails,
    InternalServerErrorDetails,
    ProviderUnavailableDetails,
    ServiceUnavailableDetails,
)
from quietswap.contract.errors import ErrorEnvelope


class InsufficientLiquidity(ApiError[InsufficientLiquidityDetails]):
    """No route delivers this swap."""

    code = "INSUFFICIENT_LIQUIDITY"


class InternalServerError(ApiError[InternalServerErrorDetails]):
    """The service failed while answering."""

    code = "INTERNAL_SERVER_ERROR"
    is_transient = True


class ServiceUnavailable(ApiError[ServiceUnavailableDetails]):
    """The aggregators, the service's node or its database are unavailable."""

    code = "SERVICE_UNAVAILABLE"
    is_transient = True


class ProviderUnavailable(ApiError[ProviderUnavailableDetails]):
    """The service reports that the relay did not accept the transaction; it may still be mined.

    Only with the reason STORE_UNAVAILABLE is the result unknown; then the same bytes may be
    submitted again.
    """

    code = "PROVIDER_UNAVAILABLE"

    def __init__(self, body: ErrorEnvelope, status: int) -> None:
        super().__init__(body, status)
        self.is_transient = bool(self.details and self.details.reason == "STORE_UNAVAILABLE")
