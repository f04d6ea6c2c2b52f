"""Real calldata through the money rules and a scripted simulation."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from quietswap.rules.chain.records import AccountState, NodeUnavailable, SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest, SourceOutcome
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.service.quoting.verify import VerificationResult, VerifyRoutes
from tests.quoting.verifying import verify_once
from tests.routers.router_calldata import ENCODERS, REFUSED_METHODS, ROUTER_OF, WRITTEN
from tests.vendors.router import EXECUTOR, Swap

SENDER = AccountState(0, 0, 10**18, 0, {})
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
THIEF = Address("0x" + "66" * 20)
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
REQUEST = RouteRequest(Token(WETH, 18), Token(USDC, 6), 10**18, WALLET, 50, 10**9, 2**31)
PROMISE = 3_000_000_001
MINIMUM = PROMISE * 9950 // 10_000
SWAP = Swap(WETH, USDC, 10**18, MINIMUM, WALLET)


@dataclass
class Delivers:
    """A chain on which every candidate delivers `amount`; it keeps what it was shown.

    `genuine` are 0x's Settlers; None: the node is away when it is asked for them.
    """

    amount: int
    seen: Sequence[Route] = ()
    sender: AccountState = SENDER
    next_base_fee: int = 10**9
    genuine: Collection[Address] | None = field(default_factory=lambda: [EXECUTOR])
    asked: int = 0

    async def settlers(self) -> Collection[Address]:
        self.asked += 1
        if self.genuine is None:
            raise NodeUnavailable("away")
        return self.genuine

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "Delivers":
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        self.seen = candidates
        return [SimulationResult(True, self.amount, 150_000)] * len(candidates)


def a_route(enforced: int, source: str = "kyberswap") -> Route:
    """Return a route that says `MINIMUM`, and whose router enforces `enforced`."""
    minimum = enforced + WRITTEN[source].dust
    swap = Swap(WETH, USDC, REQUEST.sell_amount, minimum, WALLET)
    return Route(
        source=source, dex="dex", target=ROUTER_OF[source], spender=ROUTER_OF[source], value=0,
        data=ENCODERS[source](swap), path=(WETH, USDC), buy_amount=PROMISE,
        min_buy_amount=MINIMUM, gas=None, impact_percent=None,
    )  # fmt: skip


def verified(chain: Delivers, *routes: Route) -> list[VerificationResult]:
    pinned = {source: [ROUTER_OF[source]] for source in ENCODERS}
    verify = VerifyRoutes(chain, pinned, required=True)  # type: ignore[arg-type]
    return asyncio.run(verify_once(verify, REQUEST, routes))


@dataclass
class Reverts(Delivers):
    """A chain on which every candidate reverts."""

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        return [SimulationResult(False, reason="StaleUpdate()")] * len(candidates)


def test_a_route_through_a_proprietary_amm_is_named_so_and_not_reverted() -> None:
    """On a plain node it reverts, whatever it does in the block of a builder that has its price."""
    plain = a_route(MINIMUM)
    verdicts = verified(Reverts(0), plain, structs.replace(plain, proprietary_amms=("fermi",)))
    assert [verdict.candidate for verdict in verdicts] == [None, None]
    assert verdicts[0].outcome is SourceOutcome.REVERTED
    assert verdicts[0].reason == "StaleUpdate()"
    assert verdicts[1].outcome is SourceOutcome.UNVERIFIED
    assert verdicts[1].reason == (
        "it leads through fermi, a proprietary AMM, whose price exists only in the block being"
        " built; simulated: StaleUpdate()"
    )


def test_a_route_through_a_proprietary_amm_that_executes_is_a_route() -> None:
    route = structs.replace(a_route(MINIMUM), proprietary_amms=("metric-propamm",))
    (verdict,) = verified(Delivers(PROMISE), route)
    assert verdict.outcome is SourceOutcome.ANSWERED


@pytest.mark.parametrize("source", ENCODERS)
@pytest.mark.parametrize("gap", [0, 1, 2])
def test_the_minimum_issued_is_the_one_the_calldata_enforces(source: str, gap: int) -> None:
    """Delivering exactly that is delivering enough, though it is less than integers would ask."""
    chain = Delivers(MINIMUM - gap)
    [verdict] = verified(chain, a_route(MINIMUM - gap, source))
    assert verdict.outcome is SourceOutcome.ANSWERED
    assert verdict.candidate is not None
    assert verdict.candidate.route.min_buy_amount == MINIMUM - gap
    assert [route.min_buy_amount for route in chain.seen] == [MINIMUM - gap]


def test_a_larger_gap_is_unsafe_and_never_simulated() -> None:
    chain = Delivers(PROMISE)
    verdicts = verified(chain, a_route(MINIMUM), a_route(MINIMUM - 4), a_route(MINIMUM - 1))
    assert [verdict.outcome for verdict in verdicts] == [
        SourceOutcome.ANSWERED,
        SourceOutcome.UNSAFE,
        SourceOutcome.ANSWERED,
    ]
    assert verdicts[1].reason == f"its calldata enforces only {MINIMUM - 4} of {MINIMUM}"
    assert [route.min_buy_amount for route in chain.seen] == [MINIMUM, MINIMUM - 1]


def test_less_than_the_settled_minimum_is_short() -> None:
    [verdict] = verified(Delivers(MINIMUM - 2), a_route(MINIMUM - 1))
    assert verdict.outcome is SourceOutcome.SHORT_DELIVERY


def test_a_router_of_another_source_is_unsafe() -> None:
    stranger = structs.replace(a_route(MINIMUM), source="nobody")
    [verdict] = verified(Delivers(PROMISE), stranger)
    assert verdict.outcome is SourceOutcome.UNSAFE
    assert verdict.candidate is None


def test_a_route_that_is_not_bound_is_named_and_never_simulated() -> None:
    chain = Delivers(PROMISE)
    odd = structs.replace(a_route(MINIMUM), data=REFUSED_METHODS["swapGeneric"](SWAP))
    verdicts = verified(chain, odd, a_route(MINIMUM, "sushi"))
    assert [verdict.outcome for verdict in verdicts] == [
        SourceOutcome.UNSAFE,
        SourceOutcome.ANSWERED,
    ]
    assert verdicts[0].candidate is None
    assert (verdicts[0].reason or "").startswith("not bound by its router: swapGeneric: ")
    assert [route.source for route in chain.seen] == ["sushi"]


@pytest.mark.parametrize("genuine", [None, [], [WALLET]], ids=["away", "paused", "others"])
def test_without_a_genuine_settler_only_0x_is_refused(genuine: list[Address] | None) -> None:
    chain = Delivers(PROMISE, genuine=genuine)
    verdicts = verified(chain, a_route(MINIMUM, "zeroex"), a_route(MINIMUM, "sushi"))
    assert [verdict.outcome for verdict in verdicts] == [
        SourceOutcome.UNSAFE,
        SourceOutcome.ANSWERED,
    ]
    assert "cannot be proven genuine" in (verdicts[0].reason or "")


def test_the_deployer_is_asked_while_the_sources_think_and_again_for_a_route_of_0x() -> None:
    """The second question is answered from the adapter's memory."""
    for source, asked in (("sushi", 1), ("zeroex", 2)):
        chain = Delivers(PROMISE)
        verified(chain, a_route(MINIMUM, source))
        assert chain.asked == asked


def test_the_deployer_is_not_asked_where_0x_is_no_source() -> None:
    chain = Delivers(PROMISE)
    pinned = {"sushi": [ROUTER_OF["sushi"]]}
    verify = VerifyRoutes(chain, pinned, required=True)  # type: ignore[arg-type]
    asyncio.run(verify.prepare_simulation(REQUEST))
    assert chain.asked == 0


@dataclass
class Answers(Delivers):
    """A chain that gives the same result for every route."""

    result: SimulationResult = field(default_factory=lambda: SimulationResult(True))

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        return [self.result] * len(candidates)


@pytest.mark.parametrize(
    ("reason", "shown"), [("STF", "STF"), (None, "the swap reverts"), ("", "the swap reverts")]
)
def test_a_revert_has_the_reason_of_the_node(reason: str | None, shown: str) -> None:
    chain = Answers(0, result=SimulationResult(False, reason=reason))
    [verdict] = verified(chain, a_route(MINIMUM))
    assert (verdict.outcome, verdict.reason) == (SourceOutcome.REVERTED, shown)


@pytest.mark.parametrize(
    ("reason", "shown"), [("too large", "too large"), (None, "the node gave no verdict")]
)
def test_a_node_without_a_verdict_is_logged_with_its_reason(reason: str | None, shown: str) -> None:
    chain = Answers(0, result=SimulationResult(None, reason=reason))
    with capture_logs() as lines:
        [verdict] = verified(chain, a_route(MINIMUM))
    assert verdict.outcome is SourceOutcome.UNVERIFIED
    reasons = [one["reason"] for one in lines if one["event"] == "verification_unavailable"]
    assert reasons == [shown]


@pytest.mark.parametrize(("reason", "shown"), [("it takes more", "it takes more"), (None, "")])
def test_an_unsafe_simulation_is_counted_and_logged(reason: str | None, shown: str) -> None:
    verdict = VerificationResult(a_route(MINIMUM), None, SourceOutcome.UNSAFE, reason=reason)
    with capture_logs() as lines:
        VerifyRoutes.count([verdict])
    assert [(one["event"], one["source"], one["reason"]) for one in lines] == [
        ("route_unsafe", "kyberswap", shown)
    ]


@pytest.mark.parametrize(
    ("promise", "event"), [(10_000, "route_unsafe"), (9_999, "source_missed"), (0, "source_missed")]
)
@pytest.mark.parametrize("enforced", [0, 1])
def test_dust_raises_no_alarm(promise: int, event: str, enforced: int) -> None:
    """A client chooses the amount; rounding alone then gives more slippage than was asked."""
    with capture_logs() as lines:
        [verdict] = verified(Answers(0), structs.replace(a_route(enforced), buy_amount=promise))
    assert verdict.outcome is SourceOutcome.UNSAFE
    assert [one["event"] for one in lines] == [event]


@pytest.mark.parametrize(
    "hostile",
    [
        {"target": THIEF, "spender": THIEF},
        {"spender": THIEF},
        {"value": 1},
        {"data": ENCODERS["kyberswap"](Swap(WETH, USDC, 10**18, 1, THIEF))},
        {"data": ENCODERS["kyberswap"](Swap(WETH, USDC, 10**18, 0, THIEF))},
        {"data": ENCODERS["kyberswap"](Swap(WETH, THIEF, 10**18, 1, WALLET))},
        {"data": ENCODERS["kyberswap"](Swap(WETH, USDC, 10**18, 1, WALLET, permit=b"signed"))},
        {"data": ENCODERS["kyberswap"](Swap(WETH, USDC, 10**18, 1, WALLET))[:100]},
        {"data": b"\xde\xad\xbe\xef"},
    ],
)
def test_dust_hides_no_other_rule(hostile: dict[str, Any]) -> None:
    """A source chooses what it promises."""
    route = structs.replace(a_route(1), buy_amount=9_999, **hostile)
    with capture_logs() as lines:
        [verdict] = verified(Answers(0), route)
    assert verdict.outcome is SourceOutcome.UNSAFE
    assert [one["event"] for one in lines] == ["route_unsafe"]


@pytest.mark.parametrize(("hops", "gas"), [(1, 150_000), (2, 250_000)])
def test_without_gas_of_the_simulation_it_is_estimated_by_hops(hops: int, gas: int) -> None:
    path = (WETH, *[Address(USDC)] * hops)
    chain = Answers(0, result=SimulationResult(True, PROMISE))
    [verdict] = verified(chain, structs.replace(a_route(MINIMUM), path=path))
    assert verdict.candidate is not None
    assert verdict.candidate.gas == gas
