"""Which error a quote without a route gets, by what its sources answered."""

import pytest

from quietswap.rules.errors.base import InsufficientLiquidity, ServiceUnavailable
from quietswap.rules.errors.requests import TokenNotSupported
from quietswap.rules.quotes.quote import Remedy, SourceOutcome, SourceReport
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.service.quoting.routes import no_route_error
from tests.storage.examples import BUY, SELL

AWAY = [
    SourceOutcome.UNAVAILABLE, SourceOutcome.TIMED_OUT, SourceOutcome.RATE_LIMITED,
    SourceOutcome.SKIPPED,
]  # fmt: skip


def error(*outcomes: SourceOutcome) -> Exception:
    reports = [SourceReport(f"s{number}", one, 1) for number, one in enumerate(outcomes)]
    return no_route_error(reports, SELL, BUY)


@pytest.mark.parametrize("away", AWAY)
@pytest.mark.parametrize("nothing", [SourceOutcome.NO_ROUTE, SourceOutcome.UNSAFE])
def test_a_source_that_is_away_may_have_the_route_that_another_has_not(
    away: SourceOutcome, nothing: SourceOutcome
) -> None:
    assert isinstance(error(away, nothing), ServiceUnavailable)
    assert isinstance(error(away, SourceOutcome.REVERTED), InsufficientLiquidity)
    assert isinstance(error(nothing, SourceOutcome.REFUSED), InsufficientLiquidity)


def test_where_none_is_away_the_answers_count() -> None:
    assert isinstance(error(SourceOutcome.NO_ROUTE), InsufficientLiquidity)
    both = error(SourceOutcome.NO_ROUTE, SourceOutcome.TOKEN_UNKNOWN)
    assert isinstance(both, InsufficientLiquidity)
    assert isinstance(error(SourceOutcome.TOKEN_UNKNOWN), TokenNotSupported)


@pytest.mark.parametrize("other", [SourceOutcome.NO_ROUTE, SourceOutcome.UNAVAILABLE])
def test_routes_that_could_not_be_simulated_are_no_lack_of_liquidity(other: SourceOutcome) -> None:
    blind = error(other, SourceOutcome.UNVERIFIED)
    assert isinstance(blind, ServiceUnavailable)
    assert "none could be simulated" in blind.message
    # the node did simulate: what it cannot simulate may be built to hide what it does
    assert isinstance(
        error(SourceOutcome.REVERTED, SourceOutcome.UNVERIFIED), InsufficientLiquidity
    )


def test_a_vendor_that_takes_no_such_slippage_is_not_away() -> None:
    """The caller chose the slippage, so asking again is no advice."""
    limit = "0 to 2000 bps"
    unfit = SourceReport(
        "kyberswap", SourceOutcome.SKIPPED, 0, reason=limit, remedy=Remedy.OTHER_SLIPPAGE
    )
    nothing = SourceReport("velora", SourceOutcome.UNSAFE, 1)
    for reports in ([unfit], [unfit, nothing]):
        refused = no_route_error(reports, SELL, BUY)
        assert isinstance(refused, InsufficientLiquidity)
        assert f"at this slippageBps (kyberswap: {limit})" in refused.message
        assert refused.suggestion is not None
        assert "higher" not in refused.suggestion
    away = SourceReport("sushi", SourceOutcome.TIMED_OUT, 1)
    assert isinstance(no_route_error([unfit, away], SELL, BUY), ServiceUnavailable)


@pytest.mark.parametrize("remedy", [None, Remedy.OFFER_UNVERIFIED])
def test_only_what_would_help_is_advised(remedy: Remedy | None) -> None:
    report = SourceReport("kyberswap", SourceOutcome.UNVERIFIED, 1, remedy=remedy)
    blind = no_route_error([report], SELL, BUY)
    assert isinstance(blind, ServiceUnavailable)
    is_advised = "require_verification" in (blind.suggestion or "")
    assert is_advised is (remedy is Remedy.OFFER_UNVERIFIED)


USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
STRANGER = Address("0x5FbDB2315678afecb367f032d93F642f64180aa3")


@pytest.mark.parametrize(
    ("sell", "buy", "named"),
    [(STRANGER, WETH, STRANGER), (WETH, STRANGER, STRANGER), (WETH, USDC, USDC)],
)
def test_the_token_that_everybody_trades_is_not_the_unknown_one(
    sell: Address, buy: Address, named: Address
) -> None:
    reports = [
        SourceReport("kyberswap", SourceOutcome.TOKEN_UNKNOWN, 1),
        SourceReport("velora", SourceOutcome.TIMED_OUT, 1),
    ]
    unknown = no_route_error(reports, sell, buy)
    assert isinstance(unknown, TokenNotSupported)
    assert unknown.details == {
        "token": named,
        "reason": "sellToken or buyToken is unknown to kyberswap; no other source gave a route",
    }
