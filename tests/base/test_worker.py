"""The tracker's loop: leading, waiting, surviving and stopping."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.orders.tracking.worker import TrackerWorker
from tests.manual_clock import ManualClock
from tests.orders.tracking import Scene, open_scene
from tests.scripted_chain import Tx
from tests.waiting import WITHIN_S


class Lead:
    """A lead a test gives and takes away."""

    def __init__(self) -> None:
        self.is_mine = True
        self.released = False

    async def acquire_or_renew(self) -> bool:
        return self.is_mine

    async def release(self) -> None:
        self.released = True


class PacedClock(ManualClock):
    """Sleeping lets everything else run once; after `naps` sleeps it calls `then`."""

    def __init__(self, naps: int) -> None:
        super().__init__()
        self.naps = naps
        self.then: Callable[[], None] | None = None
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == self.naps and self.then:
            self.then()
        await asyncio.sleep(0)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene(started=False) as scene:
        yield scene


@pytest.fixture
def lead() -> Lead:
    return Lead()


@pytest.fixture
def worker(scene: Scene, lead: Lead) -> TrackerWorker:
    return TrackerWorker(scene.tracker, lead, scene.clock, poll_s=3)


async def test_only_the_leader_follows(scene: Scene, lead: Lead, worker: TrackerWorker) -> None:
    lead.is_mine = False
    order = await scene.order()
    scene.chain.mine()
    await worker.step()
    assert (await scene.status(order), scene.chain.calls) == (OrderStatus.SUBMITTED, {})
    lead.is_mine = True
    await worker.step()
    assert await scene.status(order) is OrderStatus.MINING


async def test_a_lead_lost_and_won_again_begins_from_the_database(
    scene: Scene, lead: Lead, worker: TrackerWorker
) -> None:
    await worker.step()
    lead.is_mine = False
    await worker.step()
    order = await scene.order(OrderStatus.MINING)
    scene.chain.mine(Tx.of(order))
    scene.chain.mine(blocks=3)
    lead.is_mine = True
    await worker.step()
    assert await scene.status(order) is OrderStatus.CONFIRMED


async def test_a_worker_that_stops_says_so_and_releases_the_lead(scene: Scene, lead: Lead) -> None:
    clock = PacedClock(naps=2)
    worker = TrackerWorker(scene.tracker, lead, clock, poll_s=3)
    clock.then = worker.stop
    with capture_logs() as lines:
        await worker.run()
    events = [line["event"] for line in lines]
    assert [event for event in events if event.startswith("tracker_")] == [
        "tracker_started",
        "tracker_stopped",
    ]
    assert lead.released


async def test_a_node_that_is_away_is_waited_for(scene: Scene, worker: TrackerWorker) -> None:
    order = await scene.order()
    scene.chain.failing = {"all"}
    with capture_logs() as lines:
        await worker.step()
        await worker.step()
    assert [line["event"] for line in lines] == ["tracker_waiting"] * 2
    scene.chain.failing = set()
    scene.chain.mine()
    await worker.step()
    assert await scene.status(order) is OrderStatus.MINING


@pytest.mark.parametrize("method", ["watched", "arrivals", "find", "update"])
async def test_a_store_that_is_away_is_waited_for(
    scene: Scene, worker: TrackerWorker, method: str
) -> None:
    async def down(*_: Any) -> None:
        raise StoreUnavailable("gone")

    order = await scene.order()
    await worker.step()
    second = await scene.order()
    scene.chain.mine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(scene.storage.orders), method, down)
        await worker.step()
        await worker.step()
    await worker.step()
    assert await scene.status(order) is OrderStatus.MINING
    assert await scene.status(second) is OrderStatus.MINING


async def test_something_unforeseen_is_logged_and_begun_anew(
    scene: Scene, worker: TrackerWorker
) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("unforeseen")

    order = await scene.order()
    with pytest.MonkeyPatch.context() as patch, capture_logs() as lines:
        patch.setattr(scene.chain, "head", broken)
        await worker.step()
    assert [line["event"] for line in lines] == ["tracker_failed"]
    scene.chain.mine()
    await worker.step()
    assert await scene.status(order) is OrderStatus.MINING


async def test_it_polls_until_it_is_stopped_and_gives_the_lead_up(scene: Scene, lead: Lead) -> None:
    clock = PacedClock(5)
    worker = TrackerWorker(scene.tracker, lead, clock, poll_s=3)
    clock.then = worker.stop
    await worker.run()
    assert clock.slept == [3] * 5
    assert scene.chain.calls["head"] == 5
    assert lead.released


async def test_stopping_does_not_wait_for_the_next_look(scene: Scene, lead: Lead) -> None:
    class Sleepless(ManualClock):
        async def sleep(self, seconds: float) -> None:
            asyncio.get_running_loop().call_soon(worker.stop)
            await asyncio.Event().wait()

    worker = TrackerWorker(scene.tracker, lead, Sleepless(), poll_s=3)
    await asyncio.wait_for(worker.run(), WITHIN_S)
    assert lead.released
