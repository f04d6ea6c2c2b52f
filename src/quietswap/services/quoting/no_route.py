"""The error for a quote when no source gave a usable route."""

from collections.abc import Sequence

from quietswap.domain.address import Address
from quietswap.domain.errors.availability import InsufficientLiquidity, ServiceUnavailable
from quietswap.domain.errors.request import TokenNotSupported
from quietswap.domain.quote.mev import MAJORS
from quietswap.domain.quote.quote import SourceOutcome, SourceReport

_FOUND_NOTHING = frozenset(
    {
        SourceOutcome.NO_ROUTE,
        SourceOutcome.REVERTED,
        SourceOutcome.SHORT_DELIVERY,
        SourceOutcome.UNSAFE,
    }
)
"""The source answered, but gave no usable route."""
_SIMULATED = frozenset({SourceOutcome.REVERTED, SourceOutcome.SHORT_DELIVERY})
_UNVERIFIED = (
    "Try again in a few seconds. If it stays so, the reason says what is missing: the wallet's "
    "tokens or allowance, or a node with eth_simulateV1 (node.urls; `quietswap sources check`). "
    "The operator can offer routes without a simulation: quotes.require_verification = false."
)
_SAYS_NOTHING = frozenset({SourceOutcome.UNBOUND, SourceOutcome.TOKEN_UNKNOWN})
"""With these alone nothing is away. A route that is never offered does not stand for the others."""


def no_route_error(
    reports: Sequence[SourceReport], sell_token: Address, buy_token: Address
) -> Exception:
    """Return the error for a quote without a candidate.

    ServiceUnavailable if there are routes and none could be simulated. Otherwise
    InsufficientLiquidity if any source answered without a usable route; otherwise
    TokenNotSupported if any does not know a token of the pair; otherwise ServiceUnavailable. A
    source whose routes are never offered counts only if no other one is away.

    No vendor says which of the two tokens it does not know. Every vendor knows `MAJORS`, so if only
    the buy token is one of them, the error names the sell token, otherwise the buy token.
    """
    outcomes = {report.outcome for report in reports}
    rows = [
        {"source": report.source, "outcome": report.outcome.value, "reason": report.reason}
        for report in reports
    ]
    blind = [r for r in reports if r.outcome is SourceOutcome.UNVERIFIED]
    if blind and not outcomes & _SIMULATED:
        return ServiceUnavailable(
            f"there are routes, but none could be simulated: {blind[0].reason}",
            {"sources": rows},
            _UNVERIFIED,
        )
    is_only_unbound = SourceOutcome.UNBOUND in outcomes and outcomes <= _SAYS_NOTHING
    if outcomes & _FOUND_NOTHING or is_only_unbound:
        return InsufficientLiquidity(sources=rows)
    if SourceOutcome.TOKEN_UNKNOWN in outcomes:
        names = ", ".join(r.source for r in reports if r.outcome is SourceOutcome.TOKEN_UNKNOWN)
        return TokenNotSupported(
            token=sell_token if buy_token in MAJORS and sell_token not in MAJORS else buy_token,
            reason=f"sellToken or buyToken is unknown to {names}; no other source gave a route",
        )
    return ServiceUnavailable("no aggregator gave a usable answer", {"sources": rows})
