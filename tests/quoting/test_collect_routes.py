"""The answer policy: who is waited for, how long, and what becomes of the losers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from quietswap.rules.chain.records import AccountState, NodeUnavailable, SimulationResult
from quietswap.rules.quotes.quote import (
    NoRoute,
    NoRouteReason,
    Route,
    RouteRequest,
    SourceOutcome,
    SourceReport,
)
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.routes import CollectedRoutes, CollectRoutes
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.verify import VerifyRoutes
from quietswap.service.settings import QuotesConfig
from tests.virtual_time import LoopClock, run

DEFAULTS = QuotesConfig()
SENDER = AccountState(0, 0, 10**18, 0, {})
USDC = Token(Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), 6)
WALLET = Address("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
ROUTER = Address("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")
REQUEST = RouteRequest(Token(WETH, 18), USDC, 10**18, WALLET, 50, 10**9, 2**31)
PLENTY = RequestBudget(1000.0)


def a_route(source: str, promised: int = 3000_000000) -> Route:
    return Route(
        source=source, dex=source, target=ROUTER, spender=ROUTER, value=0, data=b"\x01",
        path=(WETH, USDC.address), buy_amount=promised, min_buy_amount=promised * 995 // 1000,
        gas=None, impact_percent=None,
    )  # fmt: skip


@dataclass
class Scripted:
    """An aggregator that answers `answer` after `seconds`."""

    name: str
    answer: Route | NoRoute
    seconds: float = 0.1
    asked: int = 0
    cancelled: bool = False
    slippage_bps: tuple[int, int] = (0, 10_000)

    async def route(self, request: RouteRequest) -> Route:
        self.asked += 1
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if isinstance(self.answer, NoRoute):
            raise self.answer
        return self.answer


@dataclass
class Simulator:
    """A chain on which each source delivers `delivers[source]`; absent means its promise."""

    delivers: dict[str, int | None] = field(default_factory=dict)
    rounds: list[list[str]] = field(default_factory=list)
    down: bool = False

    sender: AccountState = SENDER
    next_base_fee: int = 10**9

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "Simulator":
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        self.rounds.append([route.source for route in candidates])
        if self.down:
            raise NodeUnavailable("away")
        return [self._one(route) for route in candidates]

    def _one(self, route: Route) -> SimulationResult:
        received = self.delivers.get(route.source, route.buy_amount)
        if received is None:
            return SimulationResult(False, reason="execution reverted")
        return SimulationResult(True, received, 150_000)


def sources_of(aggregators: Sequence[Scripted], budget: RequestBudget = PLENTY) -> list[Source]:
    return [Source(a, budget, LoopClock()) for a in aggregators]


def collector(
    aggregators: Sequence[Scripted], simulator: Simulator | None = None, *, required: bool = False
) -> CollectRoutes:
    pinned = {a.name: [ROUTER] for a in aggregators}
    verify = VerifyRoutes(simulator or Simulator(), pinned, required=required)  # type: ignore[arg-type]
    return CollectRoutes(
        sources_of(aggregators),
        verify,
        LoopClock(),
        soft_s=DEFAULTS.soft_deadline_s,
        hard_s=DEFAULTS.hard_deadline_s,
    )


def collect(
    *aggregators: Scripted, simulator: Simulator | None = None, required: bool = False
) -> tuple[CollectedRoutes, float]:
    async def work() -> tuple[CollectedRoutes, float]:
        started = asyncio.get_running_loop().time()
        found = await collector(aggregators, simulator, required=required)("k", REQUEST)
        return found, asyncio.get_running_loop().time() - started

    return run(work())


@pytest.fixture(autouse=True)
def _known_calldata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calldata is opaque here: the money rules have tests of their own."""
    monkeypatch.setattr("quietswap.service.quoting.verify.check_route", lambda *_, **__: None)


def won(found: CollectedRoutes) -> list[str]:
    return [candidate.route.source for candidate in found.candidates]


def outcomes(found: CollectedRoutes) -> dict[str, SourceOutcome]:
    return {report.source: report.outcome for report in found.reports}


def test_it_answers_as_soon_as_all_have_answered() -> None:
    found, took = collect(Scripted("a", a_route("a"), 0.1), Scripted("b", a_route("b"), 0.2))
    assert won(found) == ["a", "b"]
    assert took == pytest.approx(0.2)


def test_at_the_soft_deadline_one_usable_route_is_enough() -> None:
    slow = Scripted("slow", a_route("slow"), 60)
    found, took = collect(Scripted("a", a_route("a"), 0.1), slow)
    assert won(found) == ["a"]
    assert took == pytest.approx(0.6)
    assert outcomes(found)["slow"] is SourceOutcome.TIMED_OUT


def test_a_source_that_is_always_late_is_waited_for_again_once_it_is_in_time() -> None:
    slow = Scripted("slow", a_route("slow"), 0.62)

    async def work() -> list[tuple[float, list[str]]]:
        collect_routes, clock = collector([Scripted("a", a_route("a"), 0.1), slow]), LoopClock()
        quotes = []
        for seconds in [0.62] * 4 + [0.3] * 2:
            slow.seconds = seconds
            started = clock.monotonic()
            found = await collect_routes("k", REQUEST)
            quotes.append((round(clock.monotonic() - started, 2), won(found)))
            await asyncio.sleep(1)
        other = await collect_routes("another", REQUEST)
        return [*quotes, (0, won(other))]

    waited, alone, both = (0.6, ["a"]), (0.1, ["a"]), (0.3, ["a", "slow"])
    assert run(work()) == [waited] * 3 + [alone, alone, both, (0, ["a", "slow"])]
    assert slow.asked == 7


def test_one_client_s_late_answers_are_waited_for_by_another() -> None:
    async def work() -> float:
        slow = Scripted("slow", a_route("slow"), 0.62)
        collect_routes = collector([Scripted("a", a_route("a"), 0.1), slow])
        for _ in range(4):
            await collect_routes("k", REQUEST)
            await asyncio.sleep(1)
        started, slow.seconds = LoopClock().monotonic(), 0.5
        await collect_routes("another", REQUEST)
        return LoopClock().monotonic() - started

    assert run(work()) == pytest.approx(0.5)


def test_the_only_route_is_not_thrown_away_for_being_late() -> None:
    none = NoRoute(NoRouteReason.NO_ROUTE, "none")
    found, took = collect(Scripted("none", none, 0.1), Scripted("late", a_route("late"), 2.0))
    assert won(found) == ["late"]
    assert took == pytest.approx(2.0)


def test_a_route_that_fails_verification_does_not_end_the_wait() -> None:
    simulator = Simulator(delivers={"liar": None})
    found, took = collect(
        Scripted("liar", a_route("liar"), 0.1),
        Scripted("late", a_route("late"), 1.5),
        simulator=simulator,
    )
    assert won(found) == ["late"]
    assert took == pytest.approx(1.5)
    assert simulator.rounds == [["liar"], ["late"]]
    assert outcomes(found)["liar"] is SourceOutcome.REVERTED


def test_nobody_is_waited_for_beyond_the_hard_deadline() -> None:
    found, took = collect(Scripted("a", a_route("a"), 60), Scripted("b", a_route("b"), 60))
    assert won(found) == []
    assert took == pytest.approx(3.0)


def test_routes_that_arrive_in_one_turn_are_simulated_together() -> None:
    simulator = Simulator()
    found, _ = collect(*(Scripted(name, a_route(name)) for name in "abcd"), simulator=simulator)
    assert [sorted(together) for together in simulator.rounds] == [["a", "b", "c", "d"]]
    assert won(found) == ["a", "b", "c", "d"]


def test_short_delivery_is_dropped_and_named_with_its_figures() -> None:
    found, _ = collect(
        Scripted("liar", a_route("liar", 6000_000000)),
        Scripted("a", a_route("a")),
        simulator=Simulator(delivers={"liar": 3000_000000}),
    )
    assert won(found) == ["a"]
    report = found.reports[0]
    assert report.outcome is SourceOutcome.SHORT_DELIVERY
    assert (report.promised, report.simulated) == (6000_000000, 3000_000000)
    assert report.difference_bps == -5000


def test_without_simulation_routes_are_unverified_or_refused_by_setting() -> None:
    found, _ = collect(Scripted("a", a_route("a")), simulator=Simulator(down=True))
    assert [c.simulated for c in found.candidates] == [None]
    strict, _ = collect(Scripted("a", a_route("a")), simulator=Simulator(down=True), required=True)
    assert won(strict) == []
    assert outcomes(strict) == {"a": SourceOutcome.UNVERIFIED}


def test_identical_requests_of_a_client_in_flight_share_one_fan_out() -> None:
    one = Scripted("a", a_route("a"))

    async def work() -> None:
        ask = collector([one])
        later = replace(REQUEST, deadline=REQUEST.deadline + 1)
        first, second = await asyncio.gather(ask("k", REQUEST), ask("k", later))
        assert first is second
        await ask("k", replace(REQUEST, sell_amount=5))

    run(work())
    assert one.asked == 2


def test_one_caller_hanging_up_does_not_take_the_others_down() -> None:
    async def work() -> list[str]:
        ask = collector([Scripted("a", a_route("a"))])
        first = asyncio.create_task(ask("k", REQUEST))
        second = asyncio.create_task(ask("k", REQUEST))
        await asyncio.sleep(0.01)
        first.cancel()
        return won(await second)

    assert run(work()) == ["a"]


def test_a_source_that_keeps_failing_is_skipped_and_probed_again() -> None:
    down = Scripted("down", NoRoute(NoRouteReason.UNAVAILABLE, "502"), 0.01)

    async def work() -> list[SourceOutcome]:
        ask = collector([down, Scripted("a", a_route("a"), 0.01)])
        seen = [outcomes(await ask("k", REQUEST))["down"] for _ in range(7)]
        await asyncio.sleep(20)
        down.answer = a_route("down")
        seen.append(outcomes(await ask("k", REQUEST))["down"])
        return seen

    unavailable, skipped = SourceOutcome.UNAVAILABLE, SourceOutcome.SKIPPED
    assert run(work()) == [unavailable] * 5 + [skipped] * 2 + [SourceOutcome.ANSWERED]


def test_the_markets_own_answers_do_not_open_the_circuit() -> None:
    none = Scripted("none", NoRoute(NoRouteReason.NO_ROUTE, "none"), 0.01)

    async def work() -> None:
        ask = collector([none])
        for _ in range(20):
            await ask("k", REQUEST)

    run(work())
    assert none.asked == 20


def test_a_spent_budget_skips_the_source_instead_of_queueing() -> None:
    async def work() -> list[bool]:
        source = Source(Scripted("a", a_route("a")), RequestBudget(1.0, per_day=3), LoopClock())
        asked = [await source.refusal("k") is None, await source.refusal("k") is None]
        for _ in range(3):
            await asyncio.sleep(1)
            asked.append(await source.refusal("k") is None)
        await asyncio.sleep(86_400)
        return [*asked, await source.refusal("k") is None]

    assert run(work()) == [True, False, True, True, False, True]


def test_a_vendors_rate_limit_is_respected_for_as_long_as_it_says() -> None:
    limited = Scripted("a", NoRoute(NoRouteReason.RATE_LIMITED, "429", retry_after=7.0), 0.0)

    async def work() -> list[bool]:
        source = Source(limited, PLENTY, LoopClock())
        source.note("k", limited.answer)  # type: ignore[arg-type]
        before = await source.refusal("k") is None
        await asyncio.sleep(7.1)
        return [before, await source.refusal("k") is None]

    assert run(work()) == [False, True]


def test_a_bad_reply_to_one_request_does_not_open_the_circuit_for_the_others() -> None:
    odd = Scripted("odd", NoRoute(NoRouteReason.BAD_REPLY, "error code 4002"), 0.01)

    async def work() -> None:
        ask = collector([odd])
        for _ in range(20):
            await ask("k", REQUEST)

    run(work())
    assert odd.asked == 20


@pytest.mark.parametrize(("bps", "is_asked"), [(4, False), (5, True), (2000, True), (2001, False)])
def test_a_source_whose_vendor_does_not_take_the_slippage_is_not_asked(
    bps: int, is_asked: bool
) -> None:
    limited = Scripted("limited", a_route("limited"), 0.01, slippage_bps=(5, 2000))
    request = replace(REQUEST, slippage_bps=bps)

    async def work() -> tuple[SourceReport, ...]:
        return (await collector([limited])("k", request)).reports

    [report] = run(work())
    assert limited.asked == int(is_asked)
    if not is_asked:
        assert report.outcome is SourceOutcome.SKIPPED
        assert report.reason == "its vendor takes a slippage of 5 to 2000 bps"


def test_what_a_source_refused_last_is_kept_with_its_time() -> None:
    moved = NoRoute(NoRouteReason.NO_ROUTE, "vendor: “the rate has changed”")
    refuses = Scripted("a", moved, 0.01)

    async def work() -> Source:
        clock = LoopClock()
        source = Source(refuses, PLENTY, clock)
        assert source.last_miss is None
        source.note("k", moved)
        source.note("k", None)
        return source

    source = run(work())
    assert source.last_miss is not None
    assert source.last_miss[1] == "no_route: vendor: “the rate has changed”"
