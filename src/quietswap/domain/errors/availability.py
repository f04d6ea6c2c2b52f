"""Error codes for what is not available: a route, the relay, the node, the database."""

from collections.abc import Sequence

from quietswap.domain.errors.base import Details, RequestError


class InsufficientLiquidity(RequestError):
    """No aggregator returned a route that passes verification."""

    code = "INSUFFICIENT_LIQUIDITY"

    def __init__(self, *, sources: Sequence[Details]) -> None:
        super().__init__(
            "no route delivers this swap",
            {"sources": list(sources)},
            "Try a smaller amount, a higher slippageBps, or another pair.",
        )


class InternalServerError(RequestError):
    """An unexpected failure. The cause is in the log under its request id, not in the response."""

    code = "INTERNAL_SERVER_ERROR"

    def __init__(self, *, request_id: str) -> None:
        super().__init__(
            "the service failed while answering; the cause is in its log", {"requestId": request_id}
        )


class ServiceUnavailable(RequestError):
    """An upstream that the response depends on (aggregators, node, database) does not answer."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        details: Details | None = None,
        suggestion: str = "Try again in a few seconds.",
    ) -> None:
        super().__init__(message, details, suggestion)


class ProviderUnavailable(RequestError):
    """An order cannot be accepted now.

    The relay certainly did not get the transaction, and the service will not send it later unless
    the client posts it again. Reason STORE_UNAVAILABLE: this is unknown, post the same bytes again.
    Reason HAD_IT_BEFORE: an earlier post of the same bytes reached the relay.
    """

    code = "PROVIDER_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        details: Details | None = None,
        suggestion: str = "Nothing was sent. Request a fresh quote and submit again.",
    ) -> None:
        super().__init__(message, details, suggestion)
