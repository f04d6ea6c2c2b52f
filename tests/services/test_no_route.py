"""Which error a quote without a route gets, by what its sources answered."""

import pytest

from quietswap.domain.errors.availability import InsufficientLiquidity, ServiceUnavailable
from quietswap.domain.errors.request import TokenNotSupported
from quietswap.domain.quote.quote import SourceOutcome, SourceReport
from quietswap.services.quoting.no_route import no_route_error
from tests.storage.examples import BUY

AWAY = [
    SourceOutcome.UNAVAILABLE, SourceOutcome.TIMED_OUT, SourceOutcome.RATE_LIMITED,
    SourceOutcome.SKIPPED,
]  # fmt: skip


def error(*outcomes: SourceOutcome) -> Exception:
    reports = [SourceReport(f"s{number}", one, 1) for number, one in enumerate(outcomes)]
    return no_route_error(reports, BUY)


@pytest.mark.parametrize("away", AWAY)
def test_a_source_that_is_never_offered_does_not_stand_for_those_that_are_away(
    away: SourceOutcome,
) -> None:
    assert isinstance(error(away, away, SourceOutcome.UNBOUND), ServiceUnavailable)
    assert isinstance(error(away, SourceOutcome.NO_ROUTE), InsufficientLiquidity)


def test_where_none_is_away_the_answers_count() -> None:
    assert isinstance(error(SourceOutcome.UNBOUND), InsufficientLiquidity)
    both = error(SourceOutcome.UNBOUND, SourceOutcome.TOKEN_UNKNOWN)
    assert isinstance(both, InsufficientLiquidity)
    assert isinstance(error(SourceOutcome.TOKEN_UNKNOWN), TokenNotSupported)
