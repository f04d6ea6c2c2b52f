"""What is kept of orders in memory is never older than what was written."""

import asyncio
import random
from contextlib import suppress
from dataclasses import replace

import pytest

from quietswap.chain.address import Address
from quietswap.clients.client import ClientLimits
from quietswap.errors.clients import WalletNotAllowed
from quietswap.orders.order import OrderStatus
from quietswap.orders.stores import DuplicateTransaction, StoreUnavailable
from quietswap.storage.cached_orders import DOUBT_S
from quietswap.storage.clients import SqlClientStore
from quietswap.storage.orders import SqlOrderStore
from tests.orders import recorded, told
from tests.storage.examples import (
    OTHER_WALLET,
    WALLET,
    HandClock,
    an_order,
    move_to,
    store,
)
from tests.storage.watched import Watched, kept


async def test_what_was_read_is_not_asked_for_again(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    for _ in range(3):
        assert await orders.record("client-1", order.order_id) == recorded(order)
        assert (await orders.page("client-1", WALLET, None, 10, 0)).total == 1
    assert watched.reads == 2


async def test_an_order_that_moved_is_read_again(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    await orders.record("client-1", order.order_id)
    await orders.page("client-1", WALLET, None, 10, 0)
    moved = await move_to(orders, order, OrderStatus.SUBMITTED)
    assert await orders.record("client-1", order.order_id) == recorded(moved)
    [line] = (await orders.page("client-1", WALLET, None, 10, 0)).orders
    assert line.status == "submitted"


async def test_a_write_that_did_nothing_leaves_what_follows_kept(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    assert not await orders.update(replace(order, version=7), None)
    with pytest.raises(DuplicateTransaction):
        await store(orders, replace(order, order_id="another"))
    for _ in range(2):
        assert await orders.record("client-1", order.order_id) == recorded(order)
        assert await orders.record("client-1", "another") is None
        assert (await orders.page("client-1", WALLET, None, 10, 0)).total == 1
    assert watched.reads == 4, "what does not exist is asked for each time"


async def test_another_keys_order_is_not_shown(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    assert await orders.record("client-1", order.order_id)
    assert await orders.record("client-2", order.order_id) is None
    assert (await orders.page("client-1", WALLET, None, 10, 0)).total == 1
    assert (await orders.page("client-2", WALLET, None, 10, 0)).total == 0
    assert (await orders.page("client-1", OTHER_WALLET, None, 10, 0)).total == 0


async def test_a_read_that_a_write_overtook_is_not_kept(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    watched.open.clear()
    status = asyncio.create_task(orders.record("client-1", order.order_id))
    page = asyncio.create_task(orders.page("client-1", WALLET, None, 10, 0))
    await watched.hold(2)
    moved = await move_to(orders, order, OrderStatus.SUBMITTED)
    watched.open.set()
    assert await status == recorded(order)
    assert (await page).orders[0].status == "pending"
    assert await orders.record("client-1", order.order_id) == recorded(moved)
    assert (await orders.page("client-1", WALLET, None, 10, 0)).orders[0].status == "submitted"


async def test_after_a_write_of_unknown_end_nothing_is_kept(watched: Watched) -> None:
    clock = HandClock()
    orders = await kept(watched, clock)
    order = await store(orders, an_order())
    watched.loses_answers = True
    with pytest.raises(StoreUnavailable):
        await move_to(orders, order, OrderStatus.SUBMITTED)
    newcomer = an_order()
    with pytest.raises(StoreUnavailable):
        await store(orders, newcomer)
    watched.loses_answers = False
    for total in (1, 2):  # before and after
        record = await orders.record("client-1", order.order_id)
        assert record is not None
        assert record.status == ("pending" if total == 1 else "submitted")
        assert bool(await orders.record("client-1", newcomer.order_id)) is (total == 2)
        assert (await orders.page("client-1", WALLET, None, 9, 0)).total == total
        watched.come_true.set()
        await asyncio.gather(*watched.late)
    reads = watched.reads
    clock.ms += round(DOUBT_S * 1000)
    for _ in range(3):
        await orders.record("client-1", order.order_id)
    assert watched.reads == reads + 1, "a minute later things are as before"


async def test_a_write_nobody_waited_for_may_come_true_too(watched: Watched) -> None:
    orders = await kept(watched)
    order = await store(orders, an_order())
    writing = asyncio.create_task(move_to(orders, order, OrderStatus.SUBMITTED))
    await asyncio.sleep(0)
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing
    plain = SqlOrderStore(watched)
    for _ in range(20):
        before = await plain.record("client-1", order.order_id)
        seen = await orders.record("client-1", order.order_id)
        assert seen in (before, await plain.record("client-1", order.order_id))
        await asyncio.sleep(0.002)


async def test_what_was_asked_for_last_is_kept(watched: Watched) -> None:
    orders = await kept(watched, records=2, lines=4)
    wallets = (WALLET, OTHER_WALLET, Address(f"0x{7:040x}"))
    stored = [await store(orders, an_order(wallet=wallet)) for wallet in wallets]
    for place, reads in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4)):
        await orders.record("client-1", stored[place].order_id)
        assert watched.reads == reads
    watched.reads = 0
    for place, reads in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4)):
        await orders.page("client-1", wallets[place], None, 9, 0)  # two lines
        assert watched.reads == reads


async def test_only_so_much_is_kept(watched: Watched) -> None:
    orders = await kept(watched, records=2, lines=8)
    stored = [await store(orders, an_order()) for _ in range(3)]
    for order in (*stored, stored[2], stored[1], stored[0]):
        assert await orders.record("client-1", order.order_id) == recorded(order)
    assert watched.reads == 4, "the first had to make room"
    watched.reads = 0
    for wallet in (WALLET, OTHER_WALLET):  # 4 lines, then 1
        await orders.page("client-1", wallet, None, 9, 0)
    await orders.page("client-1", WALLET, None, 2, 0)  # 3 more: eight are kept
    await orders.page("client-1", OTHER_WALLET, None, 9, 0)
    await orders.page("client-1", WALLET, None, 2, 0)
    assert watched.reads == 4, "an empty page takes two"
    await orders.page("client-1", OTHER_WALLET, None, 9, 1)  # the ninth
    await orders.page("client-1", OTHER_WALLET, None, 9, 0)
    assert watched.reads == 6
    await orders.page("client-1", WALLET, None, 2, 0)  # it was not asked about for longest
    assert watched.reads == 7


@pytest.mark.parametrize("seed", range(4))
async def test_many_at_once_never_read_what_is_over(watched: Watched, seed: int) -> None:
    """Each reader knows what had been written when it began: it must see that or later."""
    dice, orders = random.Random(seed), await kept(watched, records=5, lines=20)
    stages = (OrderStatus.SUBMITTED, OrderStatus.MINING, OrderStatus.CONFIRMED)
    live = [await store(orders, an_order()) for _ in range(8)]
    reached = {order.order_id: 0 for order in live}

    async def write() -> None:
        for stage, status in enumerate(stages, 1):
            for order in dice.sample(list(enumerate(live)), len(live)):
                place, known = order
                live[place] = await move_to(orders, known, status)
                reached[known.order_id] = stage

    async def read() -> None:
        names = ["pending", *(status.value for status in stages)]
        while min(reached.values()) < len(stages):
            order_id, before = dice.choice(live).order_id, dict(reached)
            record = await orders.record("client-1", order_id)
            assert record is not None
            assert names.index(record.status) >= before[order_id]
            page = await orders.page("client-1", WALLET, None, 8, 0)
            for line in page.orders:
                assert names.index(line.status) >= before[line.order_id]
            await asyncio.sleep(0)

    await asyncio.gather(write(), *(read() for _ in range(4)))
    plain = SqlOrderStore(watched)
    assert told(await orders.page("client-1", WALLET, None, 8, 0)) == told(
        await plain.page("client-1", WALLET, None, 8, 0)
    )


async def test_a_refused_limit_leaves_what_is_kept(watched: Watched) -> None:
    """It wrote nothing: a client at its limit cannot empty the cache of all others."""
    orders = await kept(watched)
    order = await store(orders, an_order())
    await orders.record("client-1", order.order_id)
    clients = SqlClientStore(watched)
    limits = ClientLimits(wallets=frozenset({OTHER_WALLET}))
    await clients.change_limits("client-1", lambda _: limits)
    with pytest.raises(WalletNotAllowed):
        await store(orders, an_order())
    reads = watched.reads
    assert await orders.record("client-1", order.order_id) == recorded(order)
    assert watched.reads == reads
