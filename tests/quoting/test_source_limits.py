"""A vendor's budget is shared: no key can spend what another needs."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.clients import visitor_id
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.source_limits import (
    LONGEST_WAIT_S,
    MOST_CLIENTS,
    Circuit,
    FairBudget,
)
from tests.manual_clock import ManualClock
from tests.virtual_time import LoopClock, run

DAY_S = 86_400


def served(budget: FairBudget, key: str, asks: int) -> int:
    """Return how many of so many requests at one moment are served."""
    return sum(budget.take(key) is not None for _ in range(asks))


@pytest.mark.parametrize("per_second", [0.5, 1.0, 1.5, 10.0])
def test_one_key_alone_may_use_everything(per_second: float) -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(per_second), clock)
    got = 0
    for _ in range(4 * 600):
        got += served(budget, "a", 3)
        clock.advance(0.25)
    assert got >= per_second * 600 - 1


@pytest.mark.parametrize("per_second", [0.5, 1.0, 1.5, 10.0])
def test_a_second_key_gets_its_share_at_once_and_goes_on_getting_it(per_second: float) -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(per_second), clock)
    for _ in range(400):
        served(budget, "hog", 50)
        clock.advance(0.25)
    assert budget.take("b") is not None, (
        "its first request is served though the hog has spent everything"
    )
    got: Counter[str] = Counter()
    for _ in range(4 * 600):
        got["hog"] += served(budget, "hog", 50)
        got["b"] += served(budget, "b", 1)
        clock.advance(0.25)
    assert got["b"] >= min(per_second * 0.9 / 2, 4) * 600 - 2
    assert got.total() <= per_second * 600 + 2 * max(per_second, 1)


def test_a_third_key_gets_its_share_at_once_beside_two_hogs() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(1.0), clock)
    for _ in range(4 * 120):
        served(budget, "hog", 5)
        served(budget, "pig", 5)
        clock.advance(0.25)
    assert budget.take("c") is not None


def test_what_the_bucket_owes_is_paid_back_before_the_next_newcomer() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(1.0), clock)
    for newcomer in range(20):
        for _ in range(4 * 30):
            served(budget, "hog", 5)
            clock.advance(0.25)
        assert budget.take(f"newcomer {newcomer}") is not None, newcomer


def test_what_others_leave_is_not_wasted() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(2.0), clock)
    got: Counter[str] = Counter()
    for tick in range(4 * 600):
        if tick % 40 == 0:
            got["rare"] += served(budget, "rare", 1)
        got["hog"] += served(budget, "hog", 10)
        clock.advance(0.25)
    assert got["rare"] == 60, "one request every ten seconds is always served"
    assert got["hog"] >= 2 * 600 - 60 - 5


def visitor(address: str, session: int = 0) -> str:
    """Return the client id of a session of the web page."""
    return visitor_id(address, b"salt", f"{session:016x}")


@given(
    asks=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30), st.floats(0, 3)), max_size=120),
    per_second=st.sampled_from([0.5, 1.0, 1.5, 10.0]),
    visitors=st.sampled_from([0, 5]),
)
def test_the_vendor_never_sees_more_than_two_bursts_and_the_rate(
    asks: list[tuple[int, int, float]], per_second: float, visitors: int
) -> None:
    """And with visitors one request more."""
    clock = ManualClock(0)
    budget, burst = FairBudget(RequestBudget(per_second), clock), max(per_second, 1.0)
    began, sent_at = clock.monotonic(), list[float]()
    for key, times, pause in asks:
        name = visitor(f"192.0.2.{key}") if key < visitors else f"key-{key}"
        waits = [budget.take(name) for _ in range(times)]
        sent_at += [clock.monotonic() + wait for wait in waits if wait is not None]
        assert all(wait is None or 0 <= wait <= LONGEST_WAIT_S for wait in waits)
        clock.advance(pause)
    for number, at in enumerate(sorted(sent_at), start=1):
        assert number <= 2 * burst + (visitors > 0) + (at - began) * per_second + 1e-6


def test_a_day_of_a_vendor_is_not_the_visitors_alone() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(10_000.0, per_day=1000), clock)
    crowd = [visitor(f"2001:db8:{n:x}::/64", n) for n in range(300)]
    assert sum(served(budget, one, 50) for one in crowd) == 500, "half is left to clients with keys"
    assert served(budget, "client", 1000) == 400
    assert served(budget, "another", 60) == 60, "as without visitors"
    clock.advance(DAY_S)
    assert served(budget, crowd[0], 1000) == 400
    assert served(budget, crowd[1], 20) == 20, "one address leaves a part to the next"


def test_a_day_keeps_a_part_for_those_who_come_later() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(1000.0, per_day=1000), clock)
    assert served(budget, "hog", 5000) == 900
    assert served(budget, "b", 60) == 60
    assert served(budget, "hog", 10) == 0
    clock.advance(DAY_S - 1)
    assert served(budget, "hog", 5000) == 40, "at the end of the day nothing is kept back"
    clock.advance(2)
    assert budget.take("hog") is not None


def test_a_thousand_keys_are_remembered_and_no_more() -> None:
    clock = ManualClock(0)
    budget = FairBudget(RequestBudget(10.0, per_day=10**9), clock)
    for serial in range(3 * MOST_CLIENTS):
        budget.take(f"key-{serial}")
        budget.take(visitor(f"2001:db8:{serial:x}::/64"))
        clock.advance(0.01)
    for counted in (
        budget._claims, budget._claims["web"].members, budget._today, budget._visitors_today
    ):  # fmt: skip
        assert len(counted) <= MOST_CLIENTS


def test_the_circuit_remembers_a_thousand_clients_and_no_more() -> None:
    async def work() -> tuple[int, int]:
        circuit = Circuit(LoopClock(), failures=2, pause_s=1.0)
        for serial in range(3 * MOST_CLIENTS):
            circuit.silent(f"key-{serial}")
            await asyncio.sleep(0.01)
        return len(circuit._clients), sum(one.is_tripped for one in circuit._clients.values())

    silences, open_for = run(work())
    assert silences <= MOST_CLIENTS
    assert open_for <= MOST_CLIENTS
