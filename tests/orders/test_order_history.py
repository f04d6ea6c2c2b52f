"""Paging through a history that grows meanwhile, on a real database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quietswap.rules.clients import ApiKey
from quietswap.rules.contract.orders import Pagination
from quietswap.rules.orders.order import Order, OrderEvent, OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.service.orders.history import GetOrderHistory
from quietswap.service.orders.order_response import order_history_response
from quietswap.service.storage.factory import Storage
from tests.patient import open_storage
from tests.storage.examples import WALLET, HandClock, an_order

KEY = ApiKey("key-1", "test", 0, None, "client-1")


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    found = await open_storage(f"sqlite:///{tmp_path / 'db.sqlite3'}", clock=HandClock())
    yield found
    await found.close()


async def add(storage: Storage, count: int) -> list[str]:
    orders: list[Order] = [an_order() for _ in range(count)]
    for order in orders:
        event = OrderEvent(order.order_id, order.created_at_ms, "posted", None, order.status, "")
        await storage.orders.add(order, event)
    return [order.order_id for order in orders]


def ids(page: OrderPage) -> list[str]:
    return [order.order_id for order in page.orders]


async def test_following_next_offset_shows_each_order_once_while_others_arrive(
    storage: Storage,
) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    there = await add(storage, 23)
    seen: list[str] = []
    while True:
        page = await history(KEY, WALLET, None, 4, len(seen), OrderKind.SWAP)
        if not page.orders:
            break
        assert page.total == 23
        seen += ids(page)
        await add(storage, 3)
    assert seen == there[::-1]


@pytest.mark.parametrize("kind", [OrderKind.SWAP, None])
async def test_two_readers_of_one_history_get_each_order_once(
    storage: Storage, kind: OrderKind | None
) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    starts, seen = [23, 26], [list[str](), list[str]()]
    there = await add(storage, 23)
    for reader in (0, 1):
        page = await history(KEY, WALLET, None, 4, 0, kind)
        assert page.total == starts[reader]
        seen[reader] += ids(page)
        there += await add(storage, 3)
    for turn in range(12):
        reader = turn % 2
        offset = len(seen[reader])
        page = await history(KEY, WALLET, None, 4, offset, kind, starts[reader])
        assert page.total == starts[reader]
        seen[reader] += ids(page)
        await add(storage, 1)
    assert seen == [there[start - 1 :: -1] for start in starts]


async def test_a_new_beginning_shows_what_arrived(storage: Storage) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    await add(storage, 3)
    await history(KEY, WALLET, None, 2, 0, OrderKind.SWAP)
    newest = (await add(storage, 1))[0]
    page = await history(KEY, WALLET, None, 2, 0, OrderKind.SWAP)
    assert page.total == 4
    assert ids(page)[0] == newest


async def test_a_beginning_is_forgotten_after_five_minutes(storage: Storage) -> None:
    clock = HandClock()
    history = GetOrderHistory(storage.orders, clock)
    await add(storage, 4)
    await history(KEY, WALLET, None, 2, 0, OrderKind.SWAP)
    await add(storage, 2)
    assert (await history(KEY, WALLET, None, 2, 2, OrderKind.SWAP)).total == 4
    clock.ms += 301_000
    assert (await history(KEY, WALLET, None, 2, 2, OrderKind.SWAP)).total == 6


async def test_a_page_out_of_the_blue_is_live(storage: Storage) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    there = await add(storage, 5)
    assert ids(await history(KEY, WALLET, None, 2, 2, OrderKind.SWAP)) == [
        there[2],
        there[1],
    ]


async def test_filtered_pages_are_live(storage: Storage) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    await add(storage, 3)
    await history(KEY, WALLET, OrderStatus.PENDING, 2, 0, OrderKind.SWAP)
    await add(storage, 1)
    assert (await history(KEY, WALLET, OrderStatus.PENDING, 2, 2, OrderKind.SWAP)).total == 4
    assert (await history(KEY, WALLET, OrderStatus.CONFIRMED, 2, 0, OrderKind.SWAP)).total == 0


@pytest.mark.parametrize("kind", [OrderKind.SWAP, None])
async def test_every_page_says_where_it_was_asked_for(
    storage: Storage, kind: OrderKind | None
) -> None:
    history = GetOrderHistory(storage.orders, HandClock())
    await add(storage, 7)
    for offset, arriving in ((0, 3), (2, 0), (4, 0)):
        page = await history(KEY, WALLET, None, 2, offset, kind)
        await add(storage, arriving)
        found = order_history_response(page, 2, offset).pagination
        assert found == Pagination(limit=2, offset=offset, next_offset=offset + 2)
