"""The outbox on both databases: numbered by client without gaps, written with the change."""

import asyncio
from dataclasses import replace

import pytest

from quietswap.rules.orders.order import Inclusion, Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.orders.order_changes import FINALIZED, POSTED, OrderChange
from quietswap.rules.orders.stores import DuplicateTransaction
from quietswap.service.orders.retention import BATCH
from quietswap.service.storage.event_counters import LOST
from quietswap.service.storage.event_rows import StoredEvent
from quietswap.service.storage.events import EventSpan
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0, WALLET, HandClock, an_order
from tests.waiting import WITHIN_S

DAY_MS = 86_400_000


def change(order: Order, event_type: str, at_ms: int = T0, depth: int = 0) -> OrderEvent:
    return OrderEvent(order.order_id, at_ms, event_type, None, order.status, "as tested", depth)


async def post(storage: Storage, at_ms: int = T0, **changes: object) -> Order:
    order = an_order(**changes)
    await storage.orders.add(order, change(order, POSTED, at_ms))
    return order


async def move(
    storage: Storage, order: Order, event_type: str, depth: int = 0, **to: object
) -> Order:
    moved = replace(order, **to)
    assert await storage.orders.update(moved, change(moved, event_type, depth=depth))
    return replace(moved, version=order.version + 1)


async def told(storage: Storage, client: str = "client-1", after: int = 0) -> list[StoredEvent]:
    return list(await storage.events.after(client, after, 10_000))


async def test_every_change_is_an_event_with_the_record_as_it_was_then(storage: Storage) -> None:
    order = await post(storage)
    taken = await move(
        storage, order, "relay_accepted", status=OrderStatus.SUBMITTED, submitted_at_ms=T0 + 5
    )
    block = Inclusion(7, "0x07", 21_000, 2**70, T0 + 9, succeeded=True)
    mined = await move(storage, taken, "included", 2, status=OrderStatus.CONFIRMED, inclusion=block)
    undone = await move(storage, mined, "reorganised", status=OrderStatus.SUBMITTED, inclusion=None)
    mining = await move(storage, undone, "new_head", status=OrderStatus.MINING)
    last = await move(storage, mining, "included", 2, status=OrderStatus.CONFIRMED, inclusion=block)
    await move(storage, last, FINALIZED, 64, watched=False)
    events = await told(storage)
    assert [(event.sequence, event.type, event.depth) for event in events] == [
        (1, OrderChange.CREATED, 0),
        (2, OrderChange.SUBMITTED, 0),
        (3, OrderChange.CONFIRMED, 2),
        (4, OrderChange.REORGANISED, 0),
        (5, OrderChange.MINING, 0),
        (6, OrderChange.CONFIRMED, 2),
        (7, OrderChange.FINALIZED, 64),
    ]
    assert [event.finalized for event in events] == [False] * 6 + [True]
    assert [event.order.status for event in events[:4]] == [
        "pending", "submitted", "confirmed", "submitted",
    ]  # fmt: skip
    assert events[2].order.block_number == 7
    assert events[2].order.effective_gas_price == str(2**70)
    assert events[3].order.block_number is None
    assert events[-1].order == await storage.orders.record("client-1", order.order_id)
    assert {event.wallet for event in events} == {WALLET}
    assert len({event.event_id for event in events}) == 7


async def test_what_changes_nothing_tells_nothing(storage: Storage) -> None:
    order = await post(storage)
    await move(storage, order, "relay_said")
    assert not await storage.orders.update(order, change(order, "relay_accepted"))
    with pytest.raises(DuplicateTransaction):
        await storage.orders.add(replace(order, order_id="another"), change(order, POSTED))
    assert [event.type for event in await told(storage)] == [OrderChange.CREATED]


@pytest.mark.parametrize("kind", OrderKind)
async def test_orders_of_every_kind_are_told(storage: Storage, kind: OrderKind) -> None:
    order = await post(storage, kind=kind)
    await move(storage, order, "relay_accepted", status=OrderStatus.SUBMITTED)
    events = await told(storage)
    assert [event.type for event in events] == [OrderChange.CREATED, OrderChange.SUBMITTED]
    assert {event.order.kind for event in events} == {kind.value}


async def test_each_client_has_its_own_sequence(storage: Storage) -> None:
    for client in ("a", "b", "a"):
        await post(storage, client_id=client)
    assert [event.sequence for event in await told(storage, "a")] == [1, 2]
    assert [event.sequence for event in await told(storage, "a", 1)] == [2]
    assert [event.sequence for event in await told(storage, "b")] == [1]
    assert await storage.events.newest(["a", "b", "c"]) == {"a": 2, "b": 1}
    many = [f"client-{n}" for n in range(1200)]
    assert await storage.events.newest(["b", *many]) == {"b": 1}
    assert await storage.events.span("a") == EventSpan(1, 2)
    assert await storage.events.span("c") == EventSpan(1, 0)


async def test_parallel_writers_leave_no_gap_and_are_seen_in_order(
    storage: Storage, other: Storage
) -> None:
    """A reader that polls meanwhile sees each number once, in order: none appears late."""
    writers = [post(store) for _ in range(12) for store in (storage, other)]
    seen: list[int] = []

    async def read() -> None:
        while len(seen) < len(writers):
            events = await storage.events.after("client-1", len(seen), 1000)
            seen.extend(event.sequence for event in events)
            await asyncio.sleep(0)

    async with asyncio.timeout(WITHIN_S), asyncio.TaskGroup() as tasks:
        for work in (read(), *writers):
            tasks.create_task(work)
    assert seen == list(range(1, len(writers) + 1))


async def test_old_events_go_and_what_remains_has_no_gap(
    storage: Storage, clock: HandClock
) -> None:
    """The second event has the later time, as from a host whose clock is ahead."""
    for at_ms in (T0, T0 + 9, T0 + 5, T0 + 20):
        await post(storage, at_ms, client_id="a")
    await post(storage, T0, client_id="b")
    assert await storage.events.purge(T0 + 6, BATCH) == 3
    assert [event.sequence for event in await told(storage, "a")] == [4]
    assert await storage.events.span("a") == EventSpan(4, 4)
    assert await storage.events.span("b") == EventSpan(2, 1)
    assert [await storage.events.purge(T0 + 30, 1) for _ in range(2)] == [1, 0]
    await post(storage, client_id="a")
    assert [event.sequence for event in await told(storage, "a")] == [5]


async def test_an_event_of_an_older_release_lacks_the_newer_fields(storage: Storage) -> None:
    order = await post(storage)
    record = f'{{"order_id": "{order.order_id}", "status": "pending", "dropped": 1}}'
    await storage.database.change("UPDATE events SET record = ?", record)
    [event] = await told(storage)
    assert (event.order.order_id, event.order.sell_amount) == (order.order_id, None)


async def test_numbers_that_a_restored_copy_lacks_are_not_given_again(storage: Storage) -> None:
    for _ in range(2):
        await post(storage, client_id="a")
    await storage.events.skip_lost()
    await post(storage, client_id="a")
    [first, second, third] = await told(storage, "a")
    assert (first.sequence, second.sequence) == (1, 2)
    assert third.sequence == 3 + LOST
    for place, has_gap in ((1, False), (2, True), (9, True), (2 + LOST, False), (3 + LOST, False)):
        assert (await storage.events.span("a", place)).has_gap(place) is has_gap
