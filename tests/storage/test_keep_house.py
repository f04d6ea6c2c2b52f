"""Retention on both databases: what is old goes in small batches, where the tracker leads."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.orders.order_ids import new_order_id
from quietswap.service.clients.keys import Authenticate
from quietswap.service.orders.retention import BATCH, RetentionJob
from quietswap.service.server.background import _delete_old_data, start_key_uses, start_usual_wait
from quietswap.service.server.container import Container
from quietswap.service.settings import Settings
from quietswap.service.storage.factory import Storage
from tests.storage.examples import HandClock, a_quote, an_event, an_order

HOUR_MS = 3_600_000


@pytest.fixture
def keep(storage: Storage, clock: HandClock) -> RetentionJob:
    return RetentionJob(
        quotes=storage.quotes,
        orders=storage.orders,
        clock=clock,
        events=storage.events,
        watches=storage.watches,
        events_kept_ms=24 * HOUR_MS,
    )


async def count(storage: Storage, table: str) -> int:
    [[found]] = await storage.database.fetch(f"SELECT COUNT(*) FROM {table}")
    return int(found)


async def test_old_quotes_go_batch_by_batch_and_fresh_ones_stay(
    storage: Storage, clock: HandClock, keep: RetentionJob
) -> None:
    old = [a_quote(issued_at_ms=clock.ms) for _ in range(BATCH + 3)]
    clock.ms += 24 * HOUR_MS + 1
    fresh = a_quote(issued_at_ms=clock.ms)
    await asyncio.gather(*(storage.quotes.save(quote) for quote in (*old, fresh)))
    assert await keep()
    assert await count(storage, "quotes") == 4
    assert not await keep()
    assert await count(storage, "quotes") == 1
    assert await storage.quotes.by_id("client-1", fresh.quote_id) == fresh


async def test_signed_bytes_go_once_their_order_is_final_and_the_order_stays(
    storage: Storage, clock: HandClock, keep: RetentionJob
) -> None:
    final, undecided = an_order(), an_order()
    for order in (final, undecided):
        await storage.orders.add(order, an_event(order))
    over = replace(final, status=OrderStatus.CONFIRMED, watched=False)
    assert await storage.orders.update(over, an_event(over, "closed", clock.ms))
    clock.ms += HOUR_MS
    await keep()
    assert await count(storage, "order_bytes") == 2
    clock.ms += 1
    await keep()
    assert await count(storage, "order_bytes") == 1
    kept = await storage.orders.find(final.order_id)
    assert kept is not None
    assert (kept.raw, kept.status) == (None, OrderStatus.CONFIRMED)
    still = await storage.orders.find(undecided.order_id)
    assert still is not None
    assert still.raw == undecided.raw


class Naps(HandClock):
    """Notes how long is slept, and lets go after a few times."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.slept: list[float] = []
        self._most = most

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == self._most:
            raise asyncio.CancelledError


@pytest.mark.parametrize("leads", [True, False])
async def test_it_works_without_pause_where_the_tracker_leads_and_nowhere_else(
    storage: Storage, leads: bool
) -> None:
    clock = Naps(3)
    await asyncio.gather(*(storage.quotes.save(a_quote()) for _ in range(BATCH + 1)))
    clock.ms += 48 * HOUR_MS
    if leads:
        assert await storage.leadership.acquire_or_renew()
    parts: Any = SimpleNamespace(storage=storage, settings=Settings())
    with pytest.raises(asyncio.CancelledError):
        await _delete_old_data(cast(Container, parts), clock)
    assert await count(storage, "quotes") == (0 if leads else BATCH + 1)
    assert clock.slept == ([0.1, 60, 60] if leads else [60, 60, 60])


async def test_it_goes_on_after_an_unexpected_failure(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> bool:
        raise ValueError("unforeseen")

    assert await storage.leadership.acquire_or_renew()
    clock = Naps(2)
    parts: Any = SimpleNamespace(storage=storage, settings=Settings())
    monkeypatch.setattr(RetentionJob, "__call__", broken)
    with capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        await _delete_old_data(cast(Container, parts), clock)
    failed = [line["task"] for line in lines if line["event"] == "background_task_failed"]
    assert failed == ["retention"] * 2
    assert clock.slept == [60, 60]


async def test_the_uses_of_keys_are_stored_after_an_unexpected_failure(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two minutes and the end: each tries again, and the failure ends neither the task nor it."""
    tried: list[float] = []

    async def broken(_: Authenticate) -> None:
        tried.append(len(clock.slept))
        raise ValueError("unforeseen")

    clock = Naps(3)
    parts: Any = SimpleNamespace(
        use=SimpleNamespace(authenticate=Authenticate(storage.keys, clock))
    )
    monkeypatch.setattr(Authenticate, "store_uses", broken)
    with capture_logs() as lines:
        async with AsyncExitStack() as stack:
            start_key_uses(cast(Container, parts), clock, stack)
            for _ in range(10):
                await asyncio.sleep(0)
    assert tried == [1, 2, 3]
    assert [line["task"] for line in lines] == ["key_uses"] * 3


async def test_how_long_orders_wait_is_read_each_minute() -> None:
    """A failure does not end it: the answer to an order has the text that was read last."""
    clock, read = Naps(2), list[int]()

    async def refresh() -> None:
        read.append(len(clock.slept))
        raise ValueError("unforeseen")

    parts: Any = SimpleNamespace(use=SimpleNamespace(inclusion=SimpleNamespace(refresh=refresh)))
    with capture_logs() as lines:
        async with AsyncExitStack() as stack:
            start_usual_wait(cast(Container, parts), clock, stack)
            for _ in range(10):
                await asyncio.sleep(0)
    assert (clock.slept, read) == ([60, 60], [0, 1])
    assert [line["task"] for line in lines] == ["usual_wait"] * 2


DAY_MS = 24 * HOUR_MS


async def _stored(storage: Storage, clock: HandClock, prefix: str, **changes: Any) -> Order:
    """Store an order of now, and move it to its state in a second step."""
    kind = OrderKind.SWAP if prefix == "ord" else OrderKind.WRAP
    order = an_order(
        order_id=new_order_id(prefix, clock.now_ms()),
        kind=kind,
        created_at_ms=clock.ms,
        client_id="client-r",
    )
    await storage.orders.add(order, an_event(order))
    over = replace(order, **changes)
    assert await storage.orders.update(over, an_event(over, "closed", clock.ms))
    return order


async def test_orders_are_kept_unless_the_operator_says_how_long(
    storage: Storage, clock: HandClock, keep: RetentionJob
) -> None:
    await _stored(storage, clock, "ord", status=OrderStatus.CONFIRMED, watched=False)
    clock.ms += 10_000 * DAY_MS
    await keep()
    assert await count(storage, "orders") == 1


async def test_only_orders_that_are_over_are_deleted_with_all_that_is_theirs(
    storage: Storage, clock: HandClock
) -> None:
    keep = RetentionJob(
        quotes=storage.quotes,
        orders=storage.orders,
        clock=clock,
        orders_kept_ms=30 * DAY_MS,
        events=storage.events,
        watches=storage.watches,
        events_kept_ms=30 * DAY_MS,
    )
    over = [
        await _stored(storage, clock, "ord", status=OrderStatus.CONFIRMED, watched=False),
        await _stored(storage, clock, "wrp", status=OrderStatus.FAILED, watched=False),
        await _stored(storage, clock, "ord", status=OrderStatus.CANCELLED, watched=False),
    ]
    stays = [
        await _stored(storage, clock, "ord", status=OrderStatus.CANCELLED, watched=True),
        await _stored(storage, clock, "ord", status=OrderStatus.MINING, watched=True),
    ]
    clock.ms += 30 * DAY_MS
    await keep()
    assert await count(storage, "orders") == 5
    clock.ms += 1
    fresh = await _stored(storage, clock, "ord", status=OrderStatus.CONFIRMED, watched=False)
    await keep()
    for order in over:
        assert await storage.orders.find(order.order_id) is None
        assert await storage.orders.events(order.order_id) == []
    for order in (*stays, fresh):
        assert await storage.orders.find(order.order_id) is not None
    page = await storage.orders.page("client-r", fresh.wallet, None, 10, 0)
    assert page.total == len(page.orders) == 3
    assert await count(storage, "order_bytes") == 3


async def test_many_old_orders_go_batch_by_batch(storage: Storage, clock: HandClock) -> None:
    for _ in range(5):
        await _stored(storage, clock, "ord", status=OrderStatus.CONFIRMED, watched=False)
    assert [await storage.orders.delete_over(clock.ms + 1, 2) for _ in range(4)] == [2, 2, 1, 0]
