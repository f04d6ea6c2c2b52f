"""Retention on both databases: what is old goes in small batches, where the tracker leads."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from quietswap.app.parts import Parts
from quietswap.app.tracking import _keep_house
from quietswap.domain.order import Status
from quietswap.services.keep_house import BATCH, KeepHouse
from quietswap.storage.open import Storage
from tests.storage.examples import HandClock, a_quote, an_event, an_order

HOUR_MS = 3_600_000


@pytest.fixture
def keep(storage: Storage, clock: HandClock) -> KeepHouse:
    return KeepHouse(storage.quotes, storage.orders, clock)


async def count(storage: Storage, table: str) -> int:
    [[found]] = await storage.database.fetch(f"SELECT COUNT(*) FROM {table}")
    return int(found)


async def test_old_quotes_go_batch_by_batch_and_fresh_ones_stay(
    storage: Storage, clock: HandClock, keep: KeepHouse
) -> None:
    old = [a_quote(issued_at_ms=clock.ms) for _ in range(BATCH + 3)]
    clock.ms += 24 * HOUR_MS + 1
    fresh = a_quote(issued_at_ms=clock.ms)
    await asyncio.gather(*(storage.quotes.save(quote) for quote in (*old, fresh)))
    assert await keep()
    assert await count(storage, "quotes") == 4
    assert not await keep()
    assert await count(storage, "quotes") == 1
    assert await storage.quotes.by_id("key-1", fresh.quote_id) == fresh


async def test_signed_bytes_go_once_their_order_is_final_and_the_order_stays(
    storage: Storage, clock: HandClock, keep: KeepHouse
) -> None:
    final, undecided = an_order(), an_order()
    for order in (final, undecided):
        await storage.orders.add(order, an_event(order))
    over = replace(final, status=Status.CONFIRMED, watched=False)
    assert await storage.orders.update(over, an_event(over, "closed", clock.ms))
    clock.ms += HOUR_MS
    await keep()
    assert await count(storage, "order_bytes") == 2
    clock.ms += 1
    await keep()
    assert await count(storage, "order_bytes") == 1
    kept = await storage.orders.find(final.order_id)
    assert kept is not None
    assert (kept.raw, kept.status) == (None, Status.CONFIRMED)
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
        assert await storage.leadership.hold()
    parts: Any = SimpleNamespace(storage=storage)
    with pytest.raises(asyncio.CancelledError):
        await _keep_house(cast(Parts, parts), clock)
    assert await count(storage, "quotes") == (0 if leads else BATCH + 1)
    assert clock.slept == ([0.1, 60, 60] if leads else [60, 60, 60])
