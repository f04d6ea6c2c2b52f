"""What vendors round is settled in favour of the calldata; what is more than that is refused."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from quietswap.rules.amounts import less_slippage
from quietswap.rules.quotes.quote import Route
from quietswap.rules.quotes.route_policy import with_enforced_minimum
from tests.quoting.money_routes import BOUND, REQUEST, ROUTE, TERMS, judged, of
from tests.routers.router_calldata import WRITTEN


def settled(gap: int, promise: int = 3_000_000_000, source: str = "kyberswap") -> tuple[Route, int]:
    """Return a route whose calldata enforces `gap` less than it says, after settling, and what
    the calldata enforces."""
    said = less_slippage(promise, 50)
    swap = replace(TERMS, minimum=said - gap + WRITTEN[source].dust)
    route = of(source, swap, buy_amount=promise, min_buy_amount=said)
    return with_enforced_minimum(route, REQUEST), said - gap


@pytest.mark.parametrize("source", BOUND)
@pytest.mark.parametrize(
    ("promise", "dust"),
    [(3_000_000_000, 3), (2 * 10**9 + 1, 3), (3 * 10**18, 3 * 10**9), (10**30, 10**21)],
)
def test_rounding_is_settled_in_favour_of_the_calldata(
    source: str, promise: int, dust: int
) -> None:
    for gap in (0, 1, 2, dust - 1, dust):
        route, enforced = settled(gap, promise, source)
        assert route.min_buy_amount == enforced
        assert judged(route) is None
    route, enforced = settled(dust + 1, promise, source)
    assert route.min_buy_amount == less_slippage(promise, 50)
    assert "its calldata enforces only" in (judged(route) or "")


def test_settling_changes_nothing_else() -> None:
    route, enforced = settled(2)
    assert structs.replace(route, min_buy_amount=enforced + 2) == structs.replace(
        ROUTE, data=route.data
    )


def test_more_in_the_calldata_is_not_promised() -> None:
    """What was promised less the slippage is enough; the calldata may well enforce more."""
    route, _ = settled(-1)
    assert route.min_buy_amount == ROUTE.min_buy_amount


@pytest.mark.parametrize(
    "data",
    [ROUTE.data[:100], bytes.fromhex("deadbeef") + bytes(64), b"\x01"],
    ids=["hostile", "unknown", "none"],
)
def test_calldata_nobody_can_read_settles_nothing(data: bytes) -> None:
    route = structs.replace(ROUTE, data=data)
    assert with_enforced_minimum(route, REQUEST) == route


def test_two_units_of_a_tiny_amount_are_no_dust() -> None:
    route, _ = settled(2, promise=1000)
    assert judged(route) == "its minimum gives more slippage than was asked"


@given(
    promise=st.integers(1, 2**200),
    gap=st.integers(-(2**40), 2**40) | st.integers(-5, 5),
    source=st.sampled_from(BOUND),
)
def test_no_accepted_minimum_is_above_what_the_calldata_enforces(
    promise: int, gap: int, source: str
) -> None:
    assume(less_slippage(promise, 50) - gap >= 0)
    route, enforced = settled(gap, promise, source)
    if judged(route) is None:
        assert route.min_buy_amount <= enforced
        assert less_slippage(promise, 50) - route.min_buy_amount <= max(3, promise // 10**9)
