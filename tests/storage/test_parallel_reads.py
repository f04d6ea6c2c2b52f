"""Parallel reads have the answers of single ones."""

import asyncio
from collections.abc import Callable

from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderKind, OrderStatus
from quietswap.service.clients.credentials import LASTS_MS, hash_secret, new_client, new_key
from quietswap.service.clients.keys import Authenticate
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.orders import OrderStore
from tests.storage.examples import OTHER_WALLET, T0, WALLET, HandClock, an_order, store
from tests.stored_orders import inclusion

_PLACES = [(50, 0), (3, 0), (3, 2), (200, 1), (2, 6), (5, 7), (5, 100), (50, 1_000)]


async def _every_kind(add: Callable[..., asyncio.Future[Order]]) -> list[Order]:
    mined = inclusion(block_time_ms=T0 + 12_345)
    failure = Failure(FailureCode.NOT_SENT, 'no relay took it: "no" \\ \n é 🦄')
    changes = [
        {},
        {"status": OrderStatus.SUBMITTED, "submitted_at_ms": T0 + 1},
        {"status": OrderStatus.CONFIRMED, "inclusion": mined, "watched": False},
        {"status": OrderStatus.FAILED, "failure": failure, "watched": False},
        {"status": OrderStatus.CONFIRMED, "inclusion": mined, "watched": False, "sell_amount": 1},
        {"kind": OrderKind.WRAP},
        {"wallet": OTHER_WALLET},
        {"created_at_ms": T0},
    ]
    return [await add(**change) for change in changes]


async def _stored(orders: OrderStore, changes: dict[str, object]) -> Order:
    return await store(orders, an_order(**changes))


async def test_parallel_reads_have_the_answers_of_single_ones(storage: Storage) -> None:
    orders = [await store(storage.orders, an_order()) for _ in range(40)]
    ids = [*(order.order_id for order in orders), "nothing", orders[0].order_id]
    alone = [await storage.orders.record("client-1", one) for one in ids]
    assert await asyncio.gather(*(storage.orders.record("client-1", one) for one in ids)) == alone
    assert alone[-2] is None
    assert alone[-1] is not None
    strangers = asyncio.gather(*(storage.orders.record("client-2", one) for one in ids))
    assert await strangers == [None] * len(ids)
    places = [(limit, offset) for limit in (1, 7, 50) for offset in range(0, 45, 3)]
    pages = [await storage.orders.page("client-1", WALLET, None, *place) for place in places]
    together = await asyncio.gather(
        *(storage.orders.page("client-1", WALLET, None, *place) for place in places)
    )
    assert [(p.orders, p.total) for p in together] == [(p.orders, p.total) for p in pages]
    assert [p.orders[0].order_id for p in pages if p.orders] == [
        orders[39 - offset].order_id for _, offset in places if offset < 40
    ]


async def test_parallel_reads_have_every_value_of_single_ones(storage: Storage) -> None:
    assert isinstance(storage.orders, OrderStore)
    first = storage.orders
    orders = await _every_kind(lambda **changes: asyncio.ensure_future(_stored(first, changes)))
    alone = [await first.record("client-1", order.order_id) for order in orders]
    reads = (first.record("client-1", order.order_id) for order in orders)
    assert await asyncio.gather(*reads) == alone
    assert None not in alone


async def test_a_key_that_another_process_revokes_stops_within_a_second(
    storage: Storage, other: Storage, clock: HandClock
) -> None:
    client = new_client("a company", T0)
    key, secret = new_key(client.id, "bot", T0)
    await storage.keys.add(key, hash_secret(secret), client)
    here, there = Authenticate(storage.keys, clock), Authenticate(other.keys, clock)
    assert await asyncio.gather(*(there(secret) for _ in range(64))) == [key] * 64
    clock.ms += 1
    assert await storage.keys.revoke(key.id, clock.now_ms())
    assert await here(secret) is None, "who did not have it in memory learns it at once"
    clock.ms += LASTS_MS - 1
    assert await asyncio.gather(*(there(secret) for _ in range(64))) == [None] * 64
