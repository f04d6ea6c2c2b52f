"""The nonces that orders hold, on both databases."""

from dataclasses import replace

from quietswap.rules.orders.nonces import OwnNonces
from quietswap.rules.orders.order import AT_LARGE, Failure, FailureCode, OrderStatus
from quietswap.service.storage.factory import Storage
from tests.storage.examples import OTHER_WALLET, WALLET, an_order, store


async def test_live_nonces_are_those_of_open_orders(storage: Storage) -> None:
    for nonce, status in (
        (10, OrderStatus.MINING),
        (9, OrderStatus.SUBMITTED),
        (2**63, OrderStatus.PENDING),
    ):
        await store(storage.orders, an_order(nonce=nonce, status=status))
    await store(storage.orders, an_order(nonce=1, status=OrderStatus.CONFIRMED))
    await store(storage.orders, an_order(nonce=2, wallet=OTHER_WALLET))
    await store(storage.orders, an_order(nonce=11, client_id="client-2"))
    assert await storage.orders.live_nonces(WALLET) == [9, 10, 11, 2**63]


async def test_own_nonces_are_those_of_one_key_and_of_what_may_yet_be_mined(
    storage: Storage,
) -> None:
    await store(storage.orders, an_order(nonce=9, status=OrderStatus.MINING))
    await store(storage.orders, an_order(nonce=2**63, status=OrderStatus.PENDING))
    await store(storage.orders, an_order(nonce=1, status=OrderStatus.CONFIRMED))
    await store(storage.orders, an_order(nonce=2, wallet=OTHER_WALLET))
    await store(storage.orders, an_order(nonce=11, client_id="client-2"))
    for nonce, code in enumerate(FailureCode, 20):
        dead = an_order(nonce=nonce, status=OrderStatus.FAILED, failure=Failure(code, "why"))
        await store(storage.orders, dead)
        over = await store(
            storage.orders,
            an_order(nonce=nonce + 100, status=OrderStatus.CANCELLED, failure=Failure(code, "why")),
        )
        assert await storage.orders.update(replace(over, watched=False), None)
    at_large = tuple(n for n, code in enumerate(FailureCode, 20) if code in AT_LARGE)
    own = await storage.orders.own_nonces("client-1", WALLET)
    assert own == OwnNonces(live=(9, 2**63), at_large=at_large)
    assert await storage.orders.own_nonces("client-2", WALLET) == OwnNonces(live=(11,))
