"""Watches and their events, on both databases."""

import asyncio
from dataclasses import replace

import pytest

from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.watches import Watch, WatchCondition, WatchState
from quietswap.rules.webhooks.webhook import WATCH_MET
from quietswap.service.storage.event_rows import StoredWatchEvent
from quietswap.service.storage.events import EventSpan
from quietswap.service.storage.factory import Storage
from tests.storage.examples import BUY, SELL, T0, an_event, an_order

KEY = ApiKey("key-1", "a wallet", T0, None, "client-1")
ONE, TWO, THREE = (IndicativePriceRequest(SELL, BUY, n, only_own=True) for n in (1, 2, 3))


def a_watch(number: int, **changes: object) -> Watch:
    watch = Watch(
        watch_id=f"wat_{number}",
        client_id="client-1",
        swap=ONE,
        buy_amount=UINT256_MAX,
        condition=WatchCondition.AT_MOST,
        created_at_ms=T0 + number,
        expires_at_ms=T0 + 1000 * number,
    )
    return replace(watch, **changes)  # type: ignore[arg-type]


async def listed(storage: Storage, client: str = "client-1") -> list[Watch]:
    return list(await storage.watches.list(client, 100, 0))


async def post(storage: Storage) -> None:
    order = an_order()
    await storage.orders.add(order, an_event(order, "posted"))


async def test_a_watch_is_read_back_by_its_client_only(storage: Storage) -> None:
    first, second = a_watch(1), a_watch(2, swap=TWO, condition=WatchCondition.AT_LEAST)
    assert await storage.watches.add(first, 10)
    assert await storage.watches.add(second, 10)
    assert await listed(storage) == [second, first]
    assert await storage.watches.list("client-1", 1, 1) == [first]
    assert await listed(storage, "client-2") == []
    assert not await storage.watches.delete("client-2", "wat_1")
    assert await storage.watches.delete("client-1", "wat_1")
    assert not await storage.watches.delete("client-1", "wat_1")
    assert await listed(storage) == [second]


async def test_the_limit_counts_open_watches_also_of_parallel_requests(storage: Storage) -> None:
    added = await asyncio.gather(*(storage.watches.add(a_watch(n), 3) for n in range(1, 13)))
    assert sum(added) == 3
    assert await storage.watches.add(a_watch(50, client_id="client-2"), 3)
    newest, _, oldest = await listed(storage)
    assert await storage.watches.meet(newest.watch_id, 7, T0)
    assert await storage.watches.expire(oldest.expires_at_ms) == 1
    assert await storage.watches.add(a_watch(51), 3)
    assert await storage.watches.add(a_watch(52), 3)
    assert not await storage.watches.add(a_watch(53), 3)


async def test_each_swap_is_named_once_for_clients_with_a_live_key(storage: Storage) -> None:
    await storage.keys.add(KEY, b"hash", Client("client-1", "a wallet", T0))
    ended = a_watch(6, swap=THREE)
    for watch in (
        a_watch(1), a_watch(2), a_watch(3, swap=TWO), a_watch(4, client_id="client-2"),
        a_watch(5, swap=THREE, client_id="client-2"), ended,
    ):  # fmt: skip
        assert await storage.watches.add(watch, 10)
    assert await storage.watches.meet(ended.watch_id, 7, T0)
    assert await storage.watches.open_swaps(None, T0, 10) == [ONE, TWO]
    assert await storage.watches.open_swaps(None, T0, 1) == [ONE]
    assert await storage.watches.open_swaps(ONE, T0, 10) == [TWO]
    assert await storage.watches.open_swaps(TWO, T0, 10) == []
    assert await storage.watches.open_of(ONE, T0) == [a_watch(1), a_watch(2)]
    await storage.database.change("UPDATE clients SET disabled_at_ms = ?", T0)
    assert await storage.watches.open_swaps(None, T0, 10) == []
    assert await storage.watches.open_of(ONE, T0) == []


async def test_a_watch_ends_once_and_its_event_has_its_number(
    storage: Storage, other: Storage
) -> None:
    """Two processes that both believe to lead meet it at the same time."""
    await storage.watches.add(a_watch(1), 10)
    await post(storage)
    met = await asyncio.gather(
        *(store.watches.meet("wat_1", 5, T0 + 9) for store in (storage, other))
    )
    assert sorted(met) == [False, True]
    await post(storage)
    told = a_watch(1, state=WatchState.MET, ended_at_ms=T0 + 9, promised=5)
    assert await storage.watches.delete("client-1", "wat_1")
    events = await storage.events.after("client-1", 0, 10)
    assert [event.sequence for event in events] == [1, 2, 3]
    [event] = [event for event in events if isinstance(event, StoredWatchEvent)]
    assert (event.sequence, event.type, event.event_id) == (2, WATCH_MET, "evt_wat_1")
    assert (event.at_ms, event.watch) == (T0 + 9, told)
    assert [e.sequence for e in await storage.events.after("client-1", 1, 1)] == [2]
    assert await storage.events.span("client-1", 1) == EventSpan(2, 3)


@pytest.mark.parametrize(("now_ms", "state"), [(T0 + 999, "open"), (T0 + 1000, "expired")])
async def test_a_watch_whose_time_is_over_is_told_by_its_state_alone(
    storage: Storage, now_ms: int, state: str
) -> None:
    await storage.watches.add(a_watch(1), 10)
    assert await storage.watches.expire(now_ms) == (state == "expired")
    [watch] = await listed(storage)
    assert watch.state == state
    assert await storage.watches.meet("wat_1", 5, now_ms) is (state == "open")
    assert len(await storage.events.after("client-1", 0, 10)) == (state == "open")


async def test_what_ended_long_ago_is_deleted(storage: Storage) -> None:
    for number in (1, 2, 3):
        await storage.watches.add(a_watch(number), 10)
    for number in (1, 2):
        await storage.watches.meet(f"wat_{number}", 5, T0 + number)
    assert [await storage.watches.purge(T0 + 2, 1) for _ in range(2)] == [1, 0]
    assert [watch.watch_id for watch in await listed(storage)] == ["wat_3", "wat_2"]
    assert await storage.events.purge(T0 + 2, 10) == 1
    assert [event.sequence for event in await storage.events.after("client-1", 0, 10)] == [2]
    assert await storage.events.span("client-1") == EventSpan(2, 2)


async def test_old_events_of_orders_take_the_watches_before_them(storage: Storage) -> None:
    """Retention deletes the beginning of a client's numbers, whatever they tell of."""
    await storage.watches.add(a_watch(1), 10)
    await storage.watches.meet("wat_1", 5, T0 + 9)
    await post(storage)
    assert await storage.events.purge(T0 + 5, 10) == 1
    assert await storage.events.after("client-1", 0, 10) == []
    assert await storage.events.span("client-1") == EventSpan(3, 2)
