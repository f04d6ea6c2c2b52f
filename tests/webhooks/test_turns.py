"""Slow receivers delay the events of other clients little: turns end, and places are shared."""

import asyncio
from collections import Counter, defaultdict

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.webhooks.webhook import WebhookRequest
from tests.storage.examples import T0
from tests.waiting import eventually
from tests.webhooks.receiver import OK, Received
from tests.webhooks.scenes import Scene

LIFE = (OrderStatus.SUBMITTED, OrderStatus.MINING, OrderStatus.CONFIRMED)


async def test_a_turn_ends_after_a_minute_and_the_next_one_continues(scene: Scene) -> None:
    webhook, _ = await scene.create()
    await scene.order(*LIFE)

    async def slowly(_: Received, writer: asyncio.StreamWriter) -> None:
        scene.clock.ms += 25_000
        writer.write(OK)

    scene.receiver.answering = slowly
    await scene.deliver()
    state = await scene.state(webhook)
    assert (len(scene.got()), state.cursor, state.failures) == (3, 3, 0)
    assert state.next_try_ms == 0  # it is due at once, behind the others
    await scene.deliver()
    assert (await scene.state(webhook)).cursor == 4
    assert len(set(scene.got())) == len(scene.got()) == 4


async def test_a_turn_that_ends_keeps_its_place_among_unwanted_events(scene: Scene) -> None:
    webhook, _ = await scene.create("order.confirmed")
    await scene.order(*LIFE, *LIFE)

    async def slowly(_: Received, writer: asyncio.StreamWriter) -> None:
        scene.clock.ms += 60_000
        writer.write(OK)

    scene.receiver.answering = slowly
    await scene.deliver()
    assert ((await scene.state(webhook)).cursor, len(scene.got())) == (4, 1)
    await scene.deliver()
    assert ((await scene.state(webhook)).cursor, len(scene.got())) == (7, 2)


class Gates:
    """Each receiver answers only after its gate is open."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.arrived: list[str] = []
        scene.receiver.answering = self.answer

    async def answer(self, request: Received, writer: asyncio.StreamWriter) -> None:
        name = request.line.split()[1].removeprefix("/")
        self.arrived.append(name)
        await self.gates[name].wait()
        writer.write(OK)

    async def add(self, client_id: str, webhooks: int) -> None:
        """Add a client with an event that all of its webhooks are due to receive."""
        key = ApiKey(f"key of {client_id}", client_id, T0, None, client_id)
        await self.scene.storage.keys.add(
            key, client_id.encode(), Client(client_id, "a wallet", T0)
        )
        for number in range(webhooks):
            url = f"http://127.0.0.1:{self.scene.receiver.port}/{client_id}/{number}"
            await self.scene.manage.create(key, WebhookRequest(url, (), None))
        await self.scene.order(client_id=client_id)

    async def until_arrived(self, count: int) -> None:
        async def have() -> bool:
            return len(self.arrived) >= count

        await eventually(have)

    def by_client(self) -> Counter[str]:
        return Counter(name.partition("/")[0] for name in self.arrived)


async def test_a_client_has_a_quarter_at_most_and_a_free_place_goes_to_who_has_none(
    scene: Scene,
) -> None:
    gates, worker = Gates(scene), scene.worker_with(parallel=8)
    for number in range(4):
        await gates.add(f"slow-{number}", 3)
    await worker.step()
    await gates.until_arrived(8)
    assert gates.by_client() == {f"slow-{number}": 2 for number in range(4)}
    await gates.add("quiet", 1)
    await worker.step()
    assert len(worker._running) == 8
    first = gates.arrived[0]
    gates.gates[first].set()

    async def is_free() -> bool:
        return len(worker._running) == 7

    await eventually(is_free)
    await worker.step()  # not the third webhook of the slow client, which waits longer
    await gates.until_arrived(9)
    assert gates.arrived[8:] == ["quiet/0"]
    for name in [f"slow-{n}/{w}" for n in range(4) for w in range(3)] + ["quiet/0"]:
        gates.gates[name].set()
    await worker.settle()
    await worker.step()
    await worker.settle()
    assert gates.by_client() == {**{f"slow-{number}": 3 for number in range(4)}, "quiet": 1}
    assert len(set(gates.arrived)) == len(gates.arrived)


async def test_few_places_are_still_places(scene: Scene) -> None:
    gates, worker = Gates(scene), scene.worker_with(parallel=1)
    await gates.add("client-a", 2)
    for name in ("client-a/0", "client-a/1"):
        gates.gates[name].set()
    for _ in range(2):
        await worker.step()
        await worker.settle()
    assert sorted(gates.arrived) == ["client-a/0", "client-a/1"]
