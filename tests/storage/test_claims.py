"""Claiming orders whose bytes are sent again, on both databases."""

import asyncio
from dataclasses import replace

from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.tracking import with_resend_recorded
from quietswap.service.storage.factory import Storage
from tests.storage.examples import an_order, store


async def test_a_claim_writes_what_is_sent_again_and_brings_the_bytes(storage: Storage) -> None:
    first, second, moved = [await store(storage.orders, an_order()) for _ in range(3)]
    assert await storage.orders.update(replace(moved, status=OrderStatus.SUBMITTED), None)
    bare = await store(storage.orders, an_order(raw=None))
    gone = an_order()
    claims = await storage.orders.claim([first, second, moved, bare, gone], 77)
    assert claims == {first.order_id: first.raw, second.order_id: second.raw}
    stored = await storage.orders.find(first.order_id)
    assert stored == replace(with_resend_recorded(first, 77), raw=first.raw)
    for other, version in ((moved, 1), (bare, 0)):
        untouched = await storage.orders.find(other.order_id)
        assert untouched is not None
        assert (untouched.version, untouched.sent_head) == (version, other.sent_head)
    assert await storage.orders.claim([], 77) == {}


async def test_of_claims_at_once_one_wins(storage: Storage) -> None:
    orders = [await store(storage.orders, an_order()) for _ in range(20)]
    claims = await asyncio.gather(*(storage.orders.claim(orders, n) for n in range(5)))
    assert sorted(order_id for claim in claims for order_id in claim) == [
        order.order_id for order in orders
    ]
    found = [await storage.orders.find(order.order_id) for order in orders]
    assert {order.attempts for order in found if order} == {1}
