"""How long orders are kept in memory, and by whom."""

import asyncio

from quietswap.orders.order import OrderStatus
from quietswap.storage.cached_orders import LASTS_S, SETTLES_S
from quietswap.storage.orders import SqlOrderStore
from tests.orders import recorded
from tests.patient import open_storage
from tests.storage.examples import (
    WALLET,
    HandClock,
    an_order,
    move_to,
    store,
)
from tests.storage.watched import Terms, Watched, as_it_is, kept, settled
from tests.waiting import eventually


async def test_nothing_is_kept_for_longer_than_half_a_minute(watched: Watched) -> None:
    clock = HandClock()
    orders = await kept(watched, clock)
    order = await store(orders, an_order())
    for wait_s, reads in ((0, 2), (LASTS_S - 1, 2), (1, 4), (0, 4)):
        clock.ms += round(wait_s * 1000)
        await orders.record("client-1", order.order_id)
        await orders.page("client-1", WALLET, None, 9, 0)
        assert watched.reads == reads


async def test_what_was_kept_goes_with_the_term(watched: Watched) -> None:
    terms, clock = Terms(), HandClock()
    orders = await settled(watched, clock, terms)
    order = await store(orders, an_order())
    others = SqlOrderStore(watched)

    async def status() -> set[str]:
        record = await orders.record("client-1", order.order_id)
        assert record is not None
        page = await orders.page("client-1", WALLET, None, 9, 0)
        return {record.status, page.orders[0].status}

    assert await status() == {"pending"}
    terms.now = None  # the other process serves
    order = await move_to(others, order, OrderStatus.SUBMITTED)
    terms.now = 2
    assert await status() == {"submitted"}
    await move_to(others, order, OrderStatus.MINING)  # it had begun this before
    assert await status() == {"mining"}, "a term begins with a while in which nothing is kept"
    watched.reads = 0
    clock.ms += round(SETTLES_S * 1000)
    for _ in range(3):
        await status()
    assert watched.reads == 2
    terms.now = None
    for _ in range(3):
        await status()
    assert watched.reads == 8, "while another one may write, each answer is read"


async def test_a_read_that_spans_two_terms_is_not_kept(watched: Watched) -> None:
    terms, clock = Terms(), HandClock()
    orders = await settled(watched, clock, terms)
    order = await store(orders, an_order())
    watched.open.clear()
    reading = asyncio.create_task(orders.record("client-1", order.order_id))
    await watched.hold(1)
    await move_to(SqlOrderStore(watched), order, OrderStatus.SUBMITTED)
    terms.now = 2
    watched.open.set()
    assert await reading == recorded(order)
    clock.ms += round(SETTLES_S * 1000)
    record = await orders.record("client-1", order.order_id)
    assert record is not None
    assert record.status == "submitted"


async def test_orders_are_kept_while_both_locks_are_held(url: str, clock: HandClock) -> None:
    storage = await open_storage(url, clock=clock, alone=True)
    order = await store(storage.orders, an_order())

    async def sees_others() -> bool:
        """Return whether a row that was changed behind its back is read anew."""
        await storage.orders.rendered("client-1", order.order_id, as_it_is)
        sql = "UPDATE orders SET buy_token = ? WHERE order_id = ?"
        token = f"0x{clock.ms:040x}"
        await storage.database.change(sql, token, order.order_id)
        clock.ms += 1
        record = await storage.orders.rendered("client-1", order.order_id, as_it_is)
        return record is not None and record.buy_token == token

    assert await sees_others()
    assert await storage.serving.acquire_or_renew()
    assert await sees_others(), "another process may follow the orders"
    assert await storage.leadership.acquire_or_renew()
    assert await sees_others(), "what another one had begun may still come"
    clock.ms += round(SETTLES_S * 1000)
    assert not await sees_others()
    await storage.leadership.release()
    assert await sees_others()
    assert await storage.leadership.acquire_or_renew()
    assert await sees_others(), "what another one had begun may still come"
    clock.ms += round(SETTLES_S * 1000)
    assert not await sees_others()
    await storage.close()


async def test_the_locks_are_given_up_behind_the_last_write(url: str, clock: HandClock) -> None:
    first = await open_storage(url, clock=clock, alone=True)
    assert await first.serving.acquire_or_renew()
    second = await open_storage(url, clock=clock)
    orders = [an_order() for _ in range(50)]
    writing = asyncio.gather(
        *(store(first.orders, order) for order in orders), return_exceptions=True
    )
    await asyncio.sleep(0)
    closing = asyncio.create_task(first.close())
    await eventually(second.serving.acquire_or_renew)
    found = (await second.orders.page("client-1", WALLET, None, 200, 0)).total
    await asyncio.gather(closing, writing)
    assert (await second.orders.page("client-1", WALLET, None, 200, 0)).total == found
    await second.close()
