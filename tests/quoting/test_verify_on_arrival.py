"""When a route is simulated, with which others, and what a late or hostile one changes: nothing."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from quietswap.rules.chain.records import NodeUnavailable, SimulationResult
from quietswap.rules.quotes.quote import (
    NoRoute,
    NoRouteReason,
    Route,
    SourceOutcome,
    VerificationStatus,
)
from quietswap.rules.quotes.scoring import Candidate
from quietswap.service.quoting.arriving_routes import PATIENCE_S
from quietswap.service.quoting.routes import MOST_EARLY, CollectedRoutes, CollectRoutes
from tests.quoting.slow_node import NODE_S, SlowNode, verifying
from tests.quoting.test_collect_routes import (
    REQUEST,
    Scripted,
    a_route,
    outcomes,
    sources_of,
    won,
)
from tests.virtual_time import LoopClock, run

SOFT_S, HARD_S = 0.6, 3.0


@pytest.fixture(autouse=True)
def _known_calldata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calldata is opaque here: the money rules have tests of their own."""
    monkeypatch.setattr("quietswap.service.quoting.verify.check_route", lambda *_, **__: None)


def at(**seconds: float) -> list[Scripted]:
    """Return sources that answer after these seconds, each with a better route than the last."""
    return [
        Scripted(name, a_route(name, 3000_000000 + place), after)
        for place, (name, after) in enumerate(seconds.items())
    ]


def collected(
    sources: Sequence[Scripted],
    node: SlowNode,
    verified: Callable[[Candidate], None] | None = None,
) -> tuple[CollectedRoutes, float]:
    """Return what was collected, and the seconds it took."""

    async def work() -> tuple[CollectedRoutes, float]:
        collect = CollectRoutes(
            sources_of(sources), verifying(node), LoopClock(), soft_s=SOFT_S, hard_s=HARD_S
        )
        started = asyncio.get_running_loop().time()
        found = await collect("k", REQUEST, verified)
        took = asyncio.get_running_loop().time() - started
        await asyncio.sleep(HARD_S)  # sources that were too late are seen off
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return found, took

    return run(work())


def candidates(found: CollectedRoutes) -> dict[str, Candidate]:
    return {candidate.route.source: candidate for candidate in found.candidates}


def test_when_the_slowest_comes_only_its_own_simulation_is_left() -> None:
    node = SlowNode()
    found, took = collected(at(a=0.1, b=0.2, c=0.3), node)
    assert node.batches == [(0.1, ["a"]), (0.2, ["b"]), (0.3, ["c"])]
    assert took == pytest.approx(0.3 + NODE_S)
    assert won(found) == ["a", "b", "c"]


def test_what_arrives_while_a_batch_is_at_the_node_goes_together_at_its_end() -> None:
    node = SlowNode()
    collected(at(a=0.1, b=0.11, c=0.12, d=0.5), node)
    assert node.batches == [(0.1, ["a"]), (0.15, ["b", "c"]), (0.5, ["d"])]


def test_the_last_answer_waits_for_no_batch() -> None:
    node = SlowNode()
    _, took = collected(at(a=0.1, b=0.11, c=0.12), node)
    assert node.batches == [(0.1, ["a"]), (0.12, ["b", "c"])]
    assert took == pytest.approx(0.12 + NODE_S)


def test_routes_that_come_before_the_wallet_is_read_wait_for_it_alone() -> None:
    node = SlowNode(prepares_s=0.4)
    _, took = collected(at(a=0.1, b=0.2), node)
    assert took == pytest.approx(0.4 + NODE_S)
    assert sum(len(names) for _, names in node.batches) == 2


def test_no_route_is_simulated_twice_where_the_block_is_the_same() -> None:
    node = SlowNode()
    collected(at(a=0.1, b=0.12, c=0.2, d=0.2), node)
    assert sorted(name for _, names in node.batches for name in names) == ["a", "b", "c", "d"]


def test_with_many_quotes_in_flight_each_is_one_request_to_the_node() -> None:
    node = SlowNode()

    async def work() -> list[CollectedRoutes]:
        collect = CollectRoutes(
            sources_of(at(a=0.1, b=0.2)), verifying(node), LoopClock(), soft_s=SOFT_S, hard_s=HARD_S
        )
        asks = [replace(REQUEST, sell_amount=10**18 + n) for n in range(MOST_EARLY + 1)]
        return await asyncio.gather(*(collect("k", ask) for ask in asks))

    found = run(work())
    assert [won(one) for one in found] == [["a", "b"]] * (MOST_EARLY + 1)
    assert Counter("".join(names) for _, names in node.batches) == {"ab": MOST_EARLY + 1}


def test_each_verified_route_is_told_when_its_simulation_ends() -> None:
    told: list[tuple[float, Candidate]] = []
    node = SlowNode()

    def tell(candidate: Candidate) -> None:
        told.append((round(asyncio.get_running_loop().time() - node.started, 3), candidate))

    found, _ = collected(at(a=0.1, b=0.2, c=0.3), node, tell)
    assert [at_s for at_s, _ in told] == [0.15, 0.25, 0.35]
    assert tuple(candidate for _, candidate in told) == found.candidates


@pytest.mark.parametrize(
    "odd",
    [
        SimulationResult(False, reason="execution reverted"),
        SimulationResult(True, 9000_000000, 1, broken="it moves WETH out of the wallet"),
        SimulationResult(True, 1, 150_000, block="1"),
        SimulationResult(None, reason="too large"),
        NodeUnavailable("away"),
    ],
)
def test_what_is_not_verified_is_not_told(odd: SimulationResult | Exception) -> None:
    told: list[Candidate] = []
    found, _ = collected(at(a=0.1, b=0.2), SlowNode(odd={"a": odd}), told.append)
    assert [candidate.route.source for candidate in told] == won(found) == ["b"]


def test_a_route_that_is_simulated_again_is_told_once() -> None:
    told: list[Candidate] = []
    found, _ = collected(at(a=0.1, b=0.2, c=0.3), SlowNode(blocks=["1", "2"]), told.append)
    assert [candidate.route.source for candidate in told] == won(found) == ["a", "b", "c"]


def test_what_somebody_waits_for_is_verified_on_arrival_with_many_quotes_in_flight() -> None:
    node, told = SlowNode(), list[str]()

    async def work() -> None:
        collect = CollectRoutes(
            sources_of(at(a=0.1, b=0.2)), verifying(node), LoopClock(), soft_s=SOFT_S, hard_s=HARD_S
        )
        asks = [replace(REQUEST, sell_amount=10**18 + n) for n in range(MOST_EARLY + 1)]
        others = [asyncio.create_task(collect("k", ask)) for ask in asks]
        await asyncio.sleep(0)
        await collect("k", asks[0], lambda candidate: told.append(candidate.route.source))
        await asyncio.gather(*others)

    run(work())
    assert told == ["a", "b"], "also with the same request in flight"
    assert Counter("".join(names) for _, names in node.batches) == {
        "a": 1, "b": 1, "ab": MOST_EARLY + 1,
    }  # fmt: skip


_LIES: dict[str, SimulationResult | Exception] = {
    "reverts": SimulationResult(False, reason="execution reverted"),
    "steals": SimulationResult(True, 9000_000000, 1, broken="it moves WETH out of the wallet"),
    "delivers less": SimulationResult(True, 1, 150_000, block="1"),
    "hides": SimulationResult(None, reason="too large"),
    "breaks the node": NodeUnavailable("away"),
}


@pytest.mark.parametrize("lie", _LIES)
@pytest.mark.parametrize("late_s", [0.11, 0.3])
def test_a_late_hostile_source_changes_nothing_that_was_verified(lie: str, late_s: float) -> None:
    alone, _ = collected(at(a=0.1, b=0.1), SlowNode())
    node = SlowNode(odd={"c": _LIES[lie]})
    liar = Scripted("c", a_route("c", 9000_000000), late_s)
    found, _ = collected([*at(a=0.1, b=0.1), liar], node)
    assert candidates(found) == candidates(alone)
    assert all(c.verification is VerificationStatus.VERIFIED for c in found.candidates)
    assert outcomes(found)["c"] is not SourceOutcome.ANSWERED


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_route_that_alone_cannot_be_simulated_is_dropped_in_any_batch(order: str) -> None:
    node = SlowNode(odd={"a": SimulationResult(None, reason="too large")})
    times = {name: 0.1 * place for place, name in enumerate(order, start=1)}
    found, _ = collected(at(a=times["a"], b=times["b"]), node)
    assert won(found) == ["b"]
    assert outcomes(found)["a"] is SourceOutcome.UNVERIFIED


def test_a_simulation_that_hangs_is_given_up_where_another_route_is_verified() -> None:
    node = SlowNode(slow={"b": 100.0})
    found, took = collected(at(a=0.1, b=0.2), node)
    assert won(found) == ["a"]
    assert took == pytest.approx(0.2 + PATIENCE_S)
    assert [report.reason for report in found.reports] == [
        None,
        "not verified: its simulation took too long",
    ]


def test_a_simulation_is_waited_for_where_no_other_route_is_verified() -> None:
    node = SlowNode(slow={"b": 5.0}, odd={"a": SimulationResult(None, reason="too large")})
    found, took = collected(at(a=0.1, b=0.2), node)
    assert won(found) == ["b"]
    assert took == pytest.approx(5.2)


def test_results_of_different_blocks_are_not_compared() -> None:
    """The node cannot pin a block: all that was delivered is simulated once more, together."""
    node = SlowNode(blocks=["1", "2"])
    found, took = collected(at(a=0.1, b=0.2, c=0.3), node)
    assert node.batches[-1] == (0.35, ["a", "b", "c"])
    assert len(node.batches) == 4
    assert took == pytest.approx(0.3 + 2 * NODE_S)
    assert won(found) == ["a", "b", "c"]


def test_what_fails_on_the_new_block_is_not_offered_for_what_it_did_on_the_old() -> None:
    node = SlowNode(blocks=["1", "2"])

    def changed(route: Route, block: str) -> SimulationResult:
        if route.source == "a" and block == "2":
            return SimulationResult(False, reason="execution reverted", block=block)
        return SimulationResult(True, route.buy_amount, 150_000, block=block)

    node._one = changed  # type: ignore[method-assign]
    found, _ = collected(at(a=0.1, b=0.2), node)
    assert won(found) == ["b"]
    assert outcomes(found)["a"] is SourceOutcome.REVERTED


def test_a_node_that_fails_meanwhile_takes_no_result_back() -> None:
    """The results of one block remain; what breaks a rule in any block is not offered."""
    node = SlowNode(blocks=["1", "2", "2"])

    def once(route: Route, block: str) -> SimulationResult:
        if len(node.batches) == 4:
            raise NodeUnavailable("away")
        broken = "it moves WETH out of the wallet" if route.source == "c" else None
        return SimulationResult(True, route.buy_amount, 150_000, broken=broken, block=block)

    node._one = once  # type: ignore[method-assign]
    found, _ = collected(at(a=0.1, b=0.2, c=0.3), node)
    assert node.batches[-1] == (0.35, ["a", "b"])
    assert won(found) == ["b"]
    assert [c.verification for c in found.candidates] == [VerificationStatus.VERIFIED]
    assert outcomes(found) == {
        "a": SourceOutcome.UNVERIFIED,
        "b": SourceOutcome.ANSWERED,
        "c": SourceOutcome.UNSAFE,
    }


def test_where_no_two_blocks_are_the_same_the_latest_result_stands() -> None:
    node = SlowNode()

    def elsewhere(route: Route, _: str) -> SimulationResult:
        block = f"{len(node.batches)}{route.source}"
        return SimulationResult(True, route.buy_amount, 150_000, block=block)

    node._one = elsewhere  # type: ignore[method-assign]
    found, _ = collected(at(a=0.1, b=0.2), node)
    assert node.batches[-1] == (0.25, ["a", "b"])
    assert won(found) == ["b"]
    reasons = [report.reason for report in found.reports]
    assert reasons == ["not verified: it was simulated on another block than the others", None]


def test_a_batch_at_the_node_at_the_soft_deadline_is_waited_for_but_no_later_route() -> None:
    node = SlowNode(takes_s=0.2)
    found, took = collected(at(a=0.5, b=0.65), node)
    assert node.batches == [(0.5, ["a"])]
    assert took == pytest.approx(0.7)
    assert won(found) == ["a"]
    assert outcomes(found)["b"] is SourceOutcome.TIMED_OUT


def test_a_route_that_comes_while_the_others_fail_is_used() -> None:
    """It was the last source: nobody else is waited for, but what is there is verified."""
    node = SlowNode(takes_s=0.5, odd={"a": SimulationResult(False, reason="execution reverted")})
    found, took = collected(at(a=0.5, b=0.8), node)
    assert won(found) == ["b"]
    assert took == pytest.approx(1.5)


def test_a_miss_of_the_last_source_ends_the_wait() -> None:
    none = Scripted("b", NoRoute(NoRouteReason.NO_ROUTE, "none"), 0.3)
    _, took = collected([*at(a=0.1), none], SlowNode())
    assert took == pytest.approx(0.3)


def test_a_wallet_that_cannot_be_read_ends_the_quote() -> None:
    with pytest.raises(NodeUnavailable):
        collected(at(a=0.1, b=0.2), SlowNode(unreadable=NodeUnavailable("away")))
