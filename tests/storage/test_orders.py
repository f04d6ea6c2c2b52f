"""Orders on both databases."""

import asyncio
import random
from dataclasses import replace

import pytest

from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderKind,
    OrderStatus,
)
from quietswap.rules.orders.stores import DuplicateTransaction
from quietswap.service.storage.factory import Storage
from tests.storage.examples import OTHER_WALLET, T0, WALLET, an_event, an_order, store
from tests.stored_orders import listed, recorded, told


async def test_an_order_comes_back_exactly(storage: Storage) -> None:
    order = await store(storage.orders, an_order(nonce=2**64 - 2))
    assert await storage.orders.find(order.order_id) == order
    assert await storage.orders.by_hash(order.tx_hash) == order
    assert await storage.orders.record("client-1", order.order_id) == recorded(order)


async def test_an_order_that_was_decided_comes_back_exactly(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    decided = replace(
        order,
        status=OrderStatus.FAILED,
        submitted_at_ms=T0 + 5,
        submitted_head=10,
        sent_head=11,
        attempts=3,
        buy_amount=1,
        tier=4,
        inclusion=Inclusion(12, "0xb1", 36_068, 2**200, T0 + 9, succeeded=False),
        failure=Failure(FailureCode.REVERTED, "it reverted"),
        watched=False,
    )
    assert await storage.orders.update(decided, None)
    assert await storage.orders.find(order.order_id) == replace(decided, version=1)
    assert await storage.orders.record("client-1", order.order_id) == recorded(decided)
    page = (await storage.orders.page("client-1", WALLET, None, 1, 0)).orders
    assert page == (listed(decided),)


async def test_what_an_order_is_cannot_be_rewritten(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    assert await storage.orders.update(replace(order, raw=None, sell_amount=1, attempts=1), None)
    assert await storage.orders.find(order.order_id) == replace(order, attempts=1, version=1)


async def test_unknown_orders_are_none(storage: Storage) -> None:
    assert await storage.orders.find("nothing") is None
    assert await storage.orders.by_hash("0x00") is None
    assert not await storage.orders.update(an_order(), None)
    assert await storage.orders.events("nothing") == []


async def test_an_order_is_seen_by_its_key_alone(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    assert await storage.orders.record("client-2", order.order_id) is None
    assert told(await storage.orders.page("client-2", WALLET, None, 10, 0)) == ([], 0)


async def test_a_wrap_is_no_swap_order(storage: Storage) -> None:
    wrap = await store(storage.orders, an_order(kind=OrderKind.WRAP))
    seen = await storage.orders.record("client-1", wrap.order_id)
    assert seen is not None
    assert seen.kind == "wrap"
    assert told(await storage.orders.page("client-1", WALLET, None, 10, 0)) == ([], 0)
    assert await storage.orders.find(wrap.order_id) == wrap
    assert await storage.orders.live_nonces(WALLET) == [wrap.nonce]


async def test_the_same_transaction_is_one_order_under_50_parallel_adds(storage: Storage) -> None:
    rivals = [an_order(tx_hash="0xsame") for _ in range(50)]
    results = await asyncio.gather(
        *(storage.orders.add(order, an_event(order)) for order in rivals), return_exceptions=True
    )
    assert results.count(None) == 1
    winner = rivals[results.index(None)]
    losses = [result for result in results if result is not None]
    assert all(isinstance(loss, DuplicateTransaction) for loss in losses)
    assert {loss.order for loss in losses if isinstance(loss, DuplicateTransaction)} == {winner}
    assert told(await storage.orders.page("client-1", WALLET, None, 10, 0)) == ([listed(winner)], 1)
    assert [len(await storage.orders.events(order.order_id)) for order in rivals].count(1) == 1


async def test_a_duplicate_leaves_the_other_adds_of_its_moment_alone(storage: Storage) -> None:
    first = await store(storage.orders, an_order())
    others = [an_order() for _ in range(20)]
    again = an_order(tx_hash=first.tx_hash)
    results = await asyncio.gather(
        *(storage.orders.add(order, an_event(order)) for order in [*others, again]),
        return_exceptions=True,
    )
    assert results[:-1] == [None] * 20
    assert isinstance(results[-1], DuplicateTransaction)
    assert (await storage.orders.page("client-1", WALLET, None, 1, 0)).total == 21


async def test_one_of_many_parallel_updates_of_a_version_wins(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    moved = replace(order, status=OrderStatus.SUBMITTED)
    results = await asyncio.gather(
        *(storage.orders.update(replace(moved, attempts=n), None) for n in range(20))
    )
    assert results.count(True) == 1
    stored = await storage.orders.find(order.order_id)
    assert stored == replace(moved, attempts=results.index(True), version=1)
    assert (await storage.orders.page("client-1", WALLET, OrderStatus.PENDING, 5, 0)).total == 0
    assert (await storage.orders.page("client-1", WALLET, OrderStatus.SUBMITTED, 5, 0)).total == 1


async def test_crossing_updates_do_not_deadlock(storage: Storage) -> None:
    there = [await store(storage.orders, an_order()) for _ in range(20)]
    back = [await store(storage.orders, an_order(status=OrderStatus.SUBMITTED)) for _ in range(20)]
    moves = [replace(order, status=OrderStatus.SUBMITTED) for order in there]
    moves += [replace(order, status=OrderStatus.PENDING) for order in back]
    assert all(await asyncio.gather(*(storage.orders.update(order, None) for order in moves)))
    for status in (OrderStatus.PENDING, OrderStatus.SUBMITTED):
        assert (await storage.orders.page("client-1", WALLET, status, 5, 0)).total == 20


async def test_the_diary_is_told_in_order(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    events = [an_event(order)]
    for status in (OrderStatus.SUBMITTED, OrderStatus.MINING, OrderStatus.CONFIRMED):
        order = replace(order, status=status)
        # The same moment on purpose: the order of writing decides, not the clock.
        events.append(an_event(order, f"seen {status}"))
        assert await storage.orders.update(order, events[-1])
        order = replace(order, version=order.version + 1)
    assert await storage.orders.events(order.order_id) == events


async def test_a_lost_update_leaves_no_event(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    assert await storage.orders.update(order, an_event(order, "first"))
    assert not await storage.orders.update(order, an_event(order, "late"))
    assert [e.event_type for e in await storage.orders.events(order.order_id)] == [
        "created",
        "first",
    ]


async def test_pages_are_newest_first_and_ties_fall_by_id(storage: Storage) -> None:
    orders = [an_order(created_at_ms=T0 + n // 3) for n in range(20)]
    for order in orders:
        await store(storage.orders, order)
    await store(storage.orders, an_order(wallet=OTHER_WALLET))
    expected = [listed(o) for o in reversed(orders)]
    seen: list[Order] = []
    for offset in range(0, 24, 6):
        page, total = told(await storage.orders.page("client-1", WALLET, None, 6, offset))
        assert total == 20
        seen += page
    assert seen == expected


@pytest.mark.parametrize("status", list(OrderStatus))
async def test_a_page_of_one_status(storage: Storage, status: OrderStatus) -> None:
    orders = [an_order(status=each) for each in OrderStatus for _ in range(2)]
    for order in orders:
        await store(storage.orders, order)
    page, total = told(await storage.orders.page("client-1", WALLET, status, 10, 0))
    assert page == [listed(o) for o in reversed(orders) if o.status is status]
    assert total == 2
    assert told(await storage.orders.page("client-1", WALLET, status, 10, 2)) == ([], 2)


async def test_pages_hold_still_under_a_reader_who_minds_the_total(storage: Storage) -> None:
    """New orders push a page down by as much as the total grows: no row twice, none lost."""
    old = [await store(storage.orders, an_order()) for _ in range(40)]
    seen: list[str] = []
    first_total = (await storage.orders.page("client-1", WALLET, None, 1, 0)).total

    async def insert() -> None:
        for _ in range(40):
            await store(storage.orders, an_order())

    async def read() -> None:
        grown = 0
        while len(seen) < len(old):
            page, total = told(
                await storage.orders.page("client-1", WALLET, None, 5, len(seen) + grown)
            )
            skip = total - first_total - grown
            grown += skip
            seen.extend(order.order_id for order in page[skip:])
            await asyncio.sleep(0)

    await asyncio.gather(insert(), read())
    assert seen == [order.order_id for order in reversed(old)]


async def test_every_page_agrees_with_its_total(storage: Storage) -> None:
    """Rows and total are of one snapshot, whatever is written meanwhile."""

    async def insert() -> None:
        for _ in range(60):
            await store(storage.orders, an_order())

    async def read() -> None:
        while True:
            page, total = told(await storage.orders.page("client-1", WALLET, None, 200, 0))
            assert len(page) == total
            if total == 60:
                return
            await asyncio.sleep(0)

    await asyncio.gather(insert(), read())


async def test_watched_orders_come_with_their_bytes(storage: Storage) -> None:
    kept = await store(storage.orders, an_order())
    decided = await store(
        storage.orders, an_order(status=OrderStatus.CANCELLED, kind=OrderKind.WRAP)
    )
    over = await store(storage.orders, an_order())
    await storage.orders.update(replace(over, status=OrderStatus.CONFIRMED, watched=False), None)
    assert await storage.orders.watched() == [kept, decided]


async def test_bytes_are_dropped_some_time_after_the_end(storage: Storage) -> None:
    orders = [await store(storage.orders, an_order()) for _ in range(5)]
    for n, order in enumerate(orders[:4]):
        final = replace(order, status=OrderStatus.CONFIRMED, watched=False)
        assert await storage.orders.update(final, an_event(final, at_ms=T0 + n))
    assert await storage.orders.drop_raw(T0 + 3, limit=2) == 2
    assert await storage.orders.drop_raw(T0 + 3, limit=2) == 1
    assert await storage.orders.drop_raw(T0 + 3, limit=2) == 0
    kept = [await storage.orders.find(order.order_id) for order in orders]
    assert [order is not None and order.raw is not None for order in kept] == [False] * 3 + [
        True
    ] * 2


async def test_the_hour_of_the_end_is_the_first_one(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    final = replace(order, status=OrderStatus.CONFIRMED, watched=False)
    assert await storage.orders.update(final, an_event(final, at_ms=T0 + 1))
    again = replace(final, version=1)
    assert await storage.orders.update(again, an_event(again, at_ms=T0 + 1000))
    assert await storage.orders.drop_raw(T0 + 2, limit=10) == 1


async def test_an_order_that_is_watched_again_keeps_its_bytes(storage: Storage) -> None:
    order = await store(storage.orders, an_order())
    assert await storage.orders.update(replace(order, watched=False), an_event(order))
    assert await storage.orders.update(replace(order, version=1), an_event(order))
    assert await storage.orders.drop_raw(T0 + 1, limit=10) == 0
    assert await storage.orders.find(order.order_id) == replace(order, version=2)


async def test_counters_stay_true_through_parallel_moves(storage: Storage) -> None:
    """Forty writers move the same few orders about; lost races count nothing."""
    orders = [await store(storage.orders, an_order()) for _ in range(5)]
    chance = random.Random(20)

    async def writer() -> int:
        won = 0
        for _ in range(5):
            seen = await storage.orders.find(chance.choice(orders).order_id)
            assert seen is not None
            moved = replace(seen, status=chance.choice(list(OrderStatus)))
            won += await storage.orders.update(moved, an_event(moved))
        return won

    wins = sum(await asyncio.gather(*(writer() for _ in range(40))))
    stored = [await storage.orders.find(order.order_id) for order in orders]
    assert sum(order.version for order in stored if order) == wins
    for status in OrderStatus:
        page, total = told(await storage.orders.page("client-1", WALLET, status, 10, 0))
        assert total == len(page) == [o.status for o in stored if o].count(status)
