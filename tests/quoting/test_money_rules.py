"""The rules before the simulation: each is broken alone, and only then refused."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from quietswap.rules.amounts import less_slippage
from quietswap.rules.quotes.route_policy import check_route, with_enforced_minimum
from quietswap.rules.safety.methods import METHODS
from quietswap.rules.tokens.token import Token
from tests.quoting.money_routes import (
    BOUND,
    REQUEST,
    ROUTE,
    ROUTER,
    STRANGER,
    TERMS,
    enforced_by,
    honest,
    judged,
    of,
)
from tests.routers.router_calldata import (
    APART,
    ENCODERS,
    OTHER_METHODS,
    REFUSED_METHODS,
    ROUTER_OF,
    WRITTEN,
)
from tests.vendors.router import EXECUTOR, NOBODY
from tests.vendors.zeroex import encoded as zeroex


def broken(**changes: Any) -> str | None:
    return check_route(structs.replace(ROUTE, **changes), REQUEST, (ROUTER,))


def written(source: str = "kyberswap", **changes: Any) -> str | None:
    """Return the verdict when only the calldata differs."""
    return judged(of(source, replace(TERMS, **changes)))


@pytest.mark.parametrize("source", [*BOUND, *OTHER_METHODS, *APART])
def test_honest_route_passes(source: str) -> None:
    said = with_enforced_minimum(of(source), REQUEST)
    assert judged(said) is None


@pytest.mark.parametrize("source", [one for one in BOUND if WRITTEN[one].zero_is_sender])
def test_zero_recipient_is_the_wallet_that_signs(source: str) -> None:
    route = honest(source)
    data = ENCODERS[source](replace(TERMS, recipient=NOBODY))
    assert judged(structs.replace(route, data=data)) is None


@pytest.mark.parametrize("source", [one for one in BOUND if not WRITTEN[one].zero_is_sender])
def test_zero_recipient_burns(source: str) -> None:
    reason = written(source, recipient=NOBODY)
    assert reason == f"its calldata pays {NOBODY}, not the wallet"


@pytest.mark.parametrize("source", BOUND)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"minimum": 2_984_999_000}, "of 2985000000"),
        ({"recipient": STRANGER}, f"pays {STRANGER}"),
        ({"sell": STRANGER}, "sells another token"),
        ({"buy": STRANGER}, "buys another token"),
        ({"amount": 10**18 + 1}, "sells another amount"),
        ({"amount": 10**18 - 1}, "sells another amount"),
    ],
    ids=["short", "foreign", "other_sold", "other_bought", "more", "less"],
)
def test_calldata_must_say_the_same(source: str, change: dict[str, Any], reason: str) -> None:
    minimum = change.get("minimum") or enforced_by(source, TERMS.minimum)
    said = TERMS.minimum if "minimum" in change else minimum
    route = of(source, replace(TERMS, **change), min_buy_amount=said)
    assert reason in (judged(route) or "")


def test_more_than_the_minimum_in_the_calldata_passes() -> None:
    assert written(minimum=2_990_000_000) is None


def test_partial_fill_is_refused() -> None:
    assert written(flags=1) == "not bound by its router: it may sell only a part: flag 0x1"


def test_foreign_router_is_refused() -> None:
    reason = broken(target=STRANGER, spender=STRANGER)
    assert reason == f"{STRANGER} is not a pinned router of kyberswap"


def test_nothing_passes_without_pins() -> None:
    assert check_route(ROUTE, REQUEST, ()) is not None


def test_foreign_spender_is_refused() -> None:
    assert broken(spender=STRANGER) == f"the spender {STRANGER} is not the router"


def test_pinned_spender_that_is_not_the_target_is_refused() -> None:
    route = structs.replace(ROUTE, spender=STRANGER)
    assert check_route(route, REQUEST, (ROUTER, STRANGER)) is not None


def test_value_is_refused() -> None:
    assert broken(value=1) == "it asks for 1 wei with the transaction"


def test_a_method_without_a_row_is_refused() -> None:
    reason = broken(data=bytes.fromhex("deadbeef") + bytes(64))
    assert reason == (
        "not bound by its router: the method 0xdeadbeef of KyberSwap MetaAggregationRouterV2 is"
        " not a known one"
    )


def test_a_method_whose_row_refuses_it_says_why() -> None:
    reason = judged(of("swapGeneric"))
    assert reason == (
        "not bound by its router: swapGeneric: it calls any target of a list that its owner keeps,"
        " with any data"
    )


def test_a_router_the_operator_pinned_himself_has_no_rows() -> None:
    """Pinning is no proof: the rows are of the mainnet addresses."""
    reason = check_route(
        structs.replace(ROUTE, target=STRANGER, spender=STRANGER), REQUEST, (STRANGER,)
    )
    assert reason == (
        f"not bound by its router: nothing is known of what the router {STRANGER} enforces"
    )


def test_a_method_that_names_no_bought_token_is_held_to_its_pool() -> None:
    assert judged(of("unoswap")) is None
    other = replace(REQUEST, buy=Token(STRANGER, 18))
    assert "not derived from a known factory" in (judged(of("unoswap"), other) or "")
    assert "not derived" in (judged(of("unoswap", replace(TERMS, sell=STRANGER, dex=1))) or "")


@pytest.mark.parametrize("settlers", [None, (), frozenset()])
def test_no_settler_is_genuine_where_nobody_could_ask(settlers: Any) -> None:
    reason = judged(honest("zeroex"), settlers=settlers)
    assert reason == (
        f"its Settler {EXECUTOR} cannot be proven genuine: 0x's Deployer names none, or could not"
        " be read"
    )


def test_a_settler_must_be_one_of_the_genuine() -> None:
    assert judged(honest("zeroex"), settlers=(STRANGER, EXECUTOR)) is None
    reason = judged(honest("zeroex"), settlers=(STRANGER,))
    assert reason == (
        f"its Settler {EXECUTOR} cannot be proven genuine: 0x's Deployer names others"
    )


@pytest.mark.parametrize("method", REFUSED_METHODS)
def test_a_method_without_a_proof_is_refused_by_its_reason(method: str) -> None:
    reason = METHODS[ROUTER_OF[method], of(method).data[:4].hex()].refuses
    assert judged(of(method)) == f"not bound by its router: {method}: {reason}"


def test_malformed_calldata_is_refused() -> None:
    assert "malformed" in (broken(data=ROUTE.data[:100]) or "")
    cut = zeroex(TERMS, inner=bytes.fromhex("1fff991f") + bytes(64))
    assert "malformed" in (judged(structs.replace(of("zeroex"), data=cut)) or "")


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
        route = structs.replace(ROUTE, buy_amount=promise, min_buy_amount=minimum, data=data)
        assert (check_route(route, request, (ROUTER,)) is not None) is refused
