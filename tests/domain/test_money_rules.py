"""The rules before the simulation: each is broken alone, and only then refused."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quietswap.domain.address import Address
from quietswap.domain.amounts import less_slippage
from quietswap.domain.money_rules import check_route, with_enforced_minimum
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.token import WETH, Token
from tests.domain.router_calldata import ENCODERS, NOBODY, Swap, unoswap, zeroex

ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
STRANGER = Address("0x1234567890123456789012345678901234567890")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
REQUEST = SwapRequest(
    sell=Token(WETH, 18),
    buy=Token(USDC, 6),
    sell_amount=10**18,
    wallet=WALLET,
    slippage_bps=50,
    gas_price_wei=10**9,
    deadline=1_800_000_000,
)
TERMS = Swap(WETH, USDC, 10**18, 2_985_000_000, WALLET)
ROUTE = Route(
    source="kyberswap",
    dex="uniswapv3",
    target=ROUTER,
    spender=ROUTER,
    value=0,
    data=ENCODERS["kyberswap"](TERMS),
    path=(WETH, USDC),
    buy_amount=3_000_000_000,
    min_buy_amount=2_985_000_000,
    gas=200_000,
    impact_percent=None,
)


def broken(**changes: Any) -> str | None:
    return check_route(replace(ROUTE, **changes), REQUEST, (ROUTER,))


def written(**changes: Any) -> str | None:
    """Return the verdict when only the calldata differs."""
    return broken(data=ENCODERS["kyberswap"](replace(TERMS, **changes)))


@pytest.mark.parametrize("source", ENCODERS)
def test_honest_route_passes(source: str) -> None:
    assert broken(data=ENCODERS[source](TERMS)) is None


@pytest.mark.parametrize("source", sorted(ENCODERS.keys() - {"sushi", "zeroex"}))
def test_zero_recipient_is_the_wallet_that_signs(source: str) -> None:
    assert broken(data=ENCODERS[source](replace(TERMS, recipient=NOBODY))) is None


@pytest.mark.parametrize("source", ["sushi", "zeroex"])
def test_zero_recipient_burns(source: str) -> None:
    reason = broken(data=ENCODERS[source](replace(TERMS, recipient=NOBODY)))
    assert reason == f"its calldata pays {NOBODY}, not the wallet"


@pytest.mark.parametrize("source", ENCODERS)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"minimum": 2_984_999_999}, "enforces only 2984999999 of 2985000000"),
        ({"recipient": STRANGER}, f"pays {STRANGER}"),
        ({"sell": STRANGER}, "sells another token"),
        ({"buy": STRANGER}, "buys another token"),
        ({"amount": 10**18 + 1}, "sells another amount"),
        ({"amount": 10**18 - 1}, "sells another amount"),
    ],
    ids=["short", "foreign", "other_sold", "other_bought", "more", "less"],
)
def test_calldata_must_say_the_same(source: str, change: dict[str, Any], reason: str) -> None:
    assert reason in (broken(data=ENCODERS[source](replace(TERMS, **change))) or "")


def test_more_than_the_minimum_in_the_calldata_passes() -> None:
    assert written(minimum=2_990_000_000) is None


def test_partial_fill_is_refused() -> None:
    assert written(flags=1) == "its calldata may sell only a part"


def test_foreign_router_is_refused() -> None:
    reason = broken(target=STRANGER, spender=STRANGER)
    assert reason == f"{STRANGER} is not a pinned router of kyberswap"


def test_nothing_passes_without_pins() -> None:
    assert check_route(ROUTE, REQUEST, ()) is not None


def test_foreign_spender_is_refused() -> None:
    assert broken(spender=STRANGER) == f"the spender {STRANGER} is not the router"


def test_pinned_spender_that_is_not_the_target_is_refused() -> None:
    route = replace(ROUTE, spender=STRANGER)
    assert check_route(route, REQUEST, (ROUTER, STRANGER)) is not None


def test_value_is_refused() -> None:
    assert broken(value=1) == "it asks for 1 wei with the transaction"


def test_unknown_method_is_left_to_the_simulation() -> None:
    assert broken(data=bytes.fromhex("deadbeef") + bytes(64)) is None


def test_method_that_names_less_is_checked_for_what_it_names() -> None:
    assert broken(data=unoswap(TERMS)) is None
    assert broken(data=unoswap(replace(TERMS, sell=STRANGER))) == "its calldata sells another token"


def test_malformed_calldata_is_refused() -> None:
    assert "malformed" in (broken(data=ROUTE.data[:100]) or "")
    assert "malformed" in (broken(data=zeroex(TERMS, inner=b"")) or "")


@pytest.mark.parametrize(("buy", "minimum"), [(0, 0), (-1, -1), (3, 0), (3, 4)])
def test_impossible_promises_are_refused(buy: int, minimum: int) -> None:
    assert broken(buy_amount=buy, min_buy_amount=minimum) is not None


@pytest.mark.parametrize("bps", [1, 50, 100, 5000])
def test_minimum_must_keep_the_asked_slippage(bps: int) -> None:
    """A fee of 15 bps on top of the slippage is granted, one bps of slippage is not."""
    request = replace(REQUEST, slippage_bps=bps)
    promise = 3_000_000_000
    gross = promise * 10_000 // 9_985
    net_of_fee = less_slippage(gross, bps) - gross * 15 // 10_000
    too_much = less_slippage(promise, bps + 2 + bps // 500)
    for minimum, refused in ((net_of_fee, False), (too_much, True)):
        data = ENCODERS["kyberswap"](replace(TERMS, minimum=minimum))
        route = replace(ROUTE, buy_amount=promise, min_buy_amount=minimum, data=data)
        assert (check_route(route, request, (ROUTER,)) is not None) is refused


def settled(gap: int, promise: int = 3_000_000_000, source: str = "kyberswap") -> tuple[Route, int]:
    """Return a route whose calldata enforces `gap` less than it says, after settling, and what
    the calldata enforces."""
    said = less_slippage(promise, 50)
    data = ENCODERS[source](replace(TERMS, minimum=said - gap))
    route = replace(ROUTE, buy_amount=promise, min_buy_amount=said, data=data)
    return with_enforced_minimum(route), said - gap


@pytest.mark.parametrize("source", ENCODERS)
@pytest.mark.parametrize(
    ("promise", "dust"),
    [(3_000_000_000, 3), (2 * 10**9 + 1, 2), (3 * 10**18, 3 * 10**9), (10**30, 10**21)],
)
def test_rounding_is_settled_in_favour_of_the_calldata(
    source: str, promise: int, dust: int
) -> None:
    for gap in (0, 1, 2, dust - 1, dust):
        route, enforced = settled(gap, promise, source)
        assert route.min_buy_amount == enforced
        assert check_route(route, REQUEST, (ROUTER,)) is None
    route, enforced = settled(dust + 1, promise, source)
    assert route.min_buy_amount == less_slippage(promise, 50)
    assert "its calldata enforces only" in (check_route(route, REQUEST, (ROUTER,)) or "")


def test_settling_changes_nothing_else() -> None:
    route, enforced = settled(2)
    assert replace(route, min_buy_amount=enforced + 2) == replace(ROUTE, data=route.data)


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
    route = replace(ROUTE, data=data)
    assert with_enforced_minimum(route) is route


def test_two_units_of_a_tiny_amount_are_no_dust() -> None:
    route, _ = settled(2, promise=1000)
    assert (
        check_route(route, REQUEST, (ROUTER,)) == "its minimum gives more slippage than was asked"
    )


@given(
    promise=st.integers(1, 2**200),
    gap=st.integers(-(2**40), 2**40) | st.integers(-5, 5),
    source=st.sampled_from(sorted(ENCODERS)),
)
def test_no_accepted_minimum_is_above_what_the_calldata_enforces(
    promise: int, gap: int, source: str
) -> None:
    assume(less_slippage(promise, 50) - gap >= 0)
    route, enforced = settled(gap, promise, source)
    if check_route(route, REQUEST, (ROUTER,)) is None:
        assert route.min_buy_amount <= enforced
        assert less_slippage(promise, 50) - route.min_buy_amount <= max(2, promise // 10**9)
