"""The routes of one quote without a fan-out: what is added twice, too late, or cancelled."""

import asyncio
from collections.abc import Sequence

import pytest

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.quotes.quote import Route
from quietswap.service.quoting.arriving_routes import ArrivingRoutes
from tests.quoting.slow_node import SlowNode, verifying
from tests.quoting.test_collect_routes import REQUEST, a_route
from tests.virtual_time import run, turn


@pytest.fixture(autouse=True)
def _known_calldata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calldata is opaque here: the money rules have tests of their own."""
    monkeypatch.setattr("quietswap.service.quoting.verify.check_route", lambda *_, **__: None)


def test_the_first_of_two_answers_of_a_source_stands() -> None:
    node = SlowNode()

    async def work() -> list[int]:
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            routes.add(a_route("a", 3000_000000))
            routes.add(a_route("a", 9000_000000))
            await routes.settled()
            routes.add(a_route("a", 9000_000000))
            await routes.settled()
            verdicts = routes.verdicts()
        routes.add(a_route("b"))
        return [verdict.route.buy_amount for verdict in verdicts]

    assert run(work()) == [3000_000000]
    assert [names for _, names in node.batches] == [["a"]]


def test_routes_of_one_turn_are_one_batch_and_the_next_waits_for_its_end() -> None:
    node = SlowNode(takes_s=1.0)

    async def work() -> None:
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        await preparing
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            routes.add(a_route("a"))
            routes.add(a_route("b"))
            await asyncio.sleep(0.1)
            routes.add(a_route("c"))
            await asyncio.sleep(0.1)
            routes.add(a_route("d"))
            await asyncio.sleep(2.0)
            assert not routes.has_new

    run(work())
    assert [names for _, names in node.batches] == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_batch_cancelled_before_it_begins_holds_up_no_route(is_awaited: bool) -> None:
    node = SlowNode()

    async def work() -> list[str]:
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        await preparing
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            routes.add(a_route("a"))
            [batch] = asyncio.all_tasks() - {asyncio.current_task()}
            batch.cancel()
            await (routes.settled() if is_awaited else asyncio.sleep(0))
            routes.add(a_route("b"))
            await routes.settled()
            return [verdict.route.source for verdict in routes.verdicts()]

    assert run(work()) == ["a", "b"]
    assert [names for _, names in node.batches] == [["a", "b"]]


class NotedNode(SlowNode):
    """Remembers the event loop's turn in which it answered."""

    answered_in = 0

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        results = await super().simulate(candidates)
        self.answered_in = turn()
        return results


def test_what_waits_for_a_batch_resumes_one_turn_after_its_results() -> None:
    async def work() -> tuple[int, int]:
        node = NotedNode(takes_s=1.0)
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            routes.add(a_route("a"))
            await routes.settled()
            return node.answered_in, turn()

    answered_in, resumed_in = run(work())
    assert resumed_in == answered_in + 1


def test_a_route_that_comes_while_results_are_awaited_waits_for_the_next_call() -> None:
    node = SlowNode(takes_s=1.0)

    async def work() -> list[list[str]]:
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            routes.add(a_route("a"))
            settled = asyncio.create_task(routes.settled())
            await asyncio.sleep(0.5)
            routes.add(a_route("b"))
            await settled
            await asyncio.sleep(5)
            before = [names for _, names in node.batches]
            await routes.settled()
            return before

    assert run(work()) == [["a"]]
    assert [names for _, names in node.batches] == [["a"], ["b"]]


def test_a_result_at_the_end_of_the_patience_renews_it() -> None:
    node = SlowNode(takes_s=0.0, slow={"a": 2.5, "c": 3.0})

    async def work() -> list[str]:
        preparing = asyncio.create_task(verifying(node).prepare_simulation(REQUEST))
        await preparing
        async with ArrivingRoutes(verifying(node), REQUEST, preparing) as routes:
            for name in "bac":
                routes.add(a_route(name))
                await asyncio.sleep(0.5 if name != "c" else 0)
            await routes.settled()
            return [verdict.outcome.value for verdict in routes.verdicts()]

    assert run(work()) == ["answered"] * 3


def test_no_task_is_left_of_a_quote_that_is_cancelled() -> None:
    node = SlowNode(takes_s=1.0)

    async def work() -> None:
        verify = verifying(node)
        preparing = asyncio.create_task(verify.prepare_simulation(REQUEST))

        async def quote() -> None:
            async with ArrivingRoutes(verify, REQUEST, preparing) as routes:
                routes.add(a_route("a"))
                await asyncio.sleep(0.1)
                routes.add(a_route("b"))
                await routes.settled()

        quoting = asyncio.create_task(quote())
        await asyncio.sleep(0.5)
        quoting.cancel()
        await asyncio.gather(quoting, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(work())
    assert [names for _, names in node.batches] == [["a"], ["b"]]
