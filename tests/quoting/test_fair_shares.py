"""Vendor budgets are shared between active clients: a heavy one does not starve a light one."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.clients import visitor_id
from quietswap.rules.quotes.quote import SourceOutcome
from quietswap.rules.vendors import OVER_HTTP, VENDORS
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.routes import CollectRoutes
from quietswap.service.quoting.source_limits import Demand, FairBudget, shares
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.verify import VerifyRoutes
from tests.manual_clock import ManualClock
from tests.quoting.test_collect_routes import REQUEST, ROUTER, Scripted, Simulator, a_route
from tests.virtual_time import LoopClock, run

TICKS_PER_S = 20
"""The heavy client asks at each tick, the light one once a second."""
KEYLESS = ("kyberswap", "velora", "sushi")


@pytest.mark.parametrize("phase", [0, 1, 7, 10, 19])
@pytest.mark.parametrize("vendor", OVER_HTTP)
def test_one_quote_a_second_is_always_served_beside_twenty(vendor: str, phase: int) -> None:
    """With the default budget of each vendor; the heavy client has begun a minute earlier."""
    clock = ManualClock(0)
    usual = VENDORS[vendor].budget
    budget, limit = FairBudget(usual, clock), usual.per_second
    got: Counter[str] = Counter()
    for tick in range(TICKS_PER_S * 180):
        if tick >= TICKS_PER_S * 60 and tick % TICKS_PER_S == phase:
            got["light"] += budget.take("light") is not None
        got["heavy"] += budget.take("heavy") is not None
        clock.advance(1 / TICKS_PER_S)
    assert got["light"] == 120
    assert got.total() <= 180 * limit + 2 * max(limit, 1)
    assert got["heavy"] >= 60 * limit - 2 + 120 * (limit - 1.1), "what is left is not wasted"


@pytest.mark.parametrize("vendor", OVER_HTTP)
@pytest.mark.parametrize("early_s", [0.002, 0.1, 0.2])
def test_a_client_need_not_ask_at_exact_intervals(vendor: str, early_s: float) -> None:
    """Its first quote takes longer than the next ones, so that the second one seems early."""
    usual = VENDORS[vendor].budget
    missed = [
        number
        for phase in range(TICKS_PER_S)
        for number in _missed_beside_a_heavy_one(usual, phase / TICKS_PER_S + 0.01, early_s)
    ]
    assert missed == []


def _missed_beside_a_heavy_one(usual: RequestBudget, begins_s: float, early_s: float) -> list[int]:
    clock = ManualClock(0)
    budget = FairBudget(usual, clock)
    light = [60 + begins_s + number - (early_s if number % 7 == 1 else 0) for number in range(30)]
    heavy = [(tick / TICKS_PER_S, -1) for tick in range(TICKS_PER_S * 95)]
    missed, now = [], 0.0
    for at, number in sorted([*heavy, *((at, number) for number, at in enumerate(light))]):
        clock.advance(at - now)
        now = at
        if budget.take("heavy" if number < 0 else "light") is None and number >= 0:
            missed.append(number)
    return missed


ONE_ADDRESS = ("192.0.2.1",)
MANY_ADDRESSES = tuple(f"2001:db8:{number:x}::/64" for number in range(48))


@pytest.mark.parametrize("vendor", OVER_HTTP)
@pytest.mark.parametrize("addresses", [ONE_ADDRESS, MANY_ADDRESSES], ids=["one", "many"])
def test_sessions_of_the_page_take_nothing_from_a_client(
    vendor: str, addresses: tuple[str, ...]
) -> None:
    """48 sessions ask all the time, and each second 16 of them are new."""
    clock = ManualClock(0)
    usual = VENDORS[vendor].budget
    budget = FairBudget(usual, clock)
    got: Counter[str] = Counter()
    for tick in range(TICKS_PER_S * 85):
        for place in range(48):
            session = 48 * (tick // 60) + place
            owner = addresses[session % len(addresses)]
            got["web"] += budget.take(visitor_id(owner, b"salt", f"{session:016x}")) is not None
        if tick >= TICKS_PER_S * 60 and tick % TICKS_PER_S == 7:
            got["client"] += budget.take("client") is not None
        clock.advance(1 / TICKS_PER_S)
    assert got["client"] == 25
    assert got["web"] >= 85 * usual.per_second - 25 - 2, "what is left is not wasted"


@pytest.mark.parametrize("vendor", OVER_HTTP)
def test_a_visitor_is_served_beside_a_heavy_one_of_another_address(vendor: str) -> None:
    clock = ManualClock(0)
    budget = FairBudget(VENDORS[vendor].budget, clock)
    heavy = [visitor_id("192.0.2.1", b"salt", str(n)) for n in range(48)]
    light, got = visitor_id("192.0.2.2", b"salt", "0"), 0
    for tick in range(TICKS_PER_S * 180):
        budget.take(heavy[tick % 48])
        if tick >= TICKS_PER_S * 60 and tick % TICKS_PER_S == 7:
            got += budget.take(light) is not None
        clock.advance(1 / TICKS_PER_S)
    assert got == 120


def test_a_light_client_gets_every_source_of_every_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same through the fan-out: the vendors that need no key, with default budgets."""
    monkeypatch.setattr("quietswap.service.quoting.verify.check_route", lambda *_, **__: None)

    async def work() -> list[list[SourceOutcome]]:
        clock = LoopClock()
        aggregators = [Scripted(name, a_route(name)) for name in KEYLESS]
        sources = [
            Source(one, VENDORS[one.name].budget, clock)  # type: ignore[arg-type]
            for one in aggregators
        ]
        verify = VerifyRoutes(Simulator(), {n: [ROUTER] for n in KEYLESS}, required=False)  # type: ignore[arg-type]
        collect = CollectRoutes(sources, verify, clock, soft_s=0.6, hard_s=3.0)

        async def quote(client: str, number: int) -> list[SourceOutcome]:
            found = await collect(client, replace(REQUEST, sell_amount=10**18 + number))
            return [report.outcome for report in found.reports]

        running: list[asyncio.Task[list[SourceOutcome]]] = []
        light: list[asyncio.Task[list[SourceOutcome]]] = []
        for tick in range(TICKS_PER_S * 60):
            running.append(asyncio.create_task(quote("heavy", tick)))
            if tick >= TICKS_PER_S * 20 and tick % TICKS_PER_S == 10:
                light.append(asyncio.create_task(quote("light", 10**6 + tick)))
            await asyncio.sleep(1 / TICKS_PER_S)
        await asyncio.gather(*running, return_exceptions=True)
        return await asyncio.gather(*light)

    answers = run(work())
    assert len(answers) == 40
    for outcomes in answers:
        assert outcomes == [SourceOutcome.ANSWERED] * len(KEYLESS)


def test_two_equal_clients_have_equal_parts() -> None:
    clock = ManualClock(0)
    budget = FairBudget(VENDORS["velora"].budget, clock)
    got: Counter[str] = Counter()
    for tick in range(TICKS_PER_S * 600):
        for client in ("a", "b") if tick % 2 else ("b", "a"):
            got[client] += budget.take(client) is not None
        clock.advance(1 / TICKS_PER_S)
    assert got.total() >= 595
    assert abs(got["a"] - got["b"]) <= 60


@given(
    st.dictionaries(st.text(max_size=3), st.floats(1e-6, 1e3), min_size=1, max_size=30),
    st.sampled_from([0.5, 1.0, 1.5, 10.0]),
)
def test_shares_are_no_more_than_there_is(demands: dict[str, float], per_second: float) -> None:
    found = shares(demands, per_second)
    assert found.keys() == demands.keys()
    assert sum(found.values()) <= per_second * (1 + 1e-9)
    assert all(0 <= rate <= demands[client] * 1.5 + 1e-9 for client, rate in found.items())


def test_shares_of_equal_and_of_unequal_clients() -> None:
    assert shares({"a": 5.0, "b": 5.0}, 1.0) == pytest.approx({"a": 0.45, "b": 0.45})
    found = shares({"light": 1.0, "heavy": 20.0}, 1.0)
    assert found["light"] == pytest.approx(0.997, abs=0.001)
    assert found["heavy"] == 0.0
    assert shares({"idle": 0.01, "busy": 5.0}, 1.0)["busy"] > 0.88


def test_a_demand_is_right_from_the_first_request_and_falls_in_silence() -> None:
    demand = Demand(0.0, 0.0)
    for second in range(60):
        demand.count(float(second))
        assert demand.per_second(float(second)) == pytest.approx(1.05, abs=0.01)
    assert demand.per_second(89.0) == pytest.approx(0.05, abs=0.01)
