"""The cost of a block does not grow with the number of live orders."""

from typing import Any, Never

import pytest

from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.tx.address import from_bytes
from quietswap.service.orders.tracking.index import OrderIndex
from tests.orders.tracking import open_scene
from tests.scripted_chain import Tx
from tests.stored_orders import RULES, order

LIVE = 1000


@pytest.mark.parametrize("live", [1, 40, 600])
async def test_a_block_costs_four_node_calls_and_the_matches(live: int) -> None:
    async with open_scene(started=False) as scene:
        orders = [await scene.order(OrderStatus.MINING) for _ in range(live)]
        await scene.tracker.start()
        for _ in range(20):
            scene.chain.calls.clear()
            await scene.mine()
            assert scene.chain.calls.total() <= 4
        scene.chain.calls.clear()
        await scene.mine(*map(Tx.of, orders[:5]))
        await scene.mine()
        assert scene.chain.calls.total() <= 2 * 4 + 1


async def test_orders_given_up_cost_a_block_nothing() -> None:
    """A hundred refused and a hundred expired ones are watched: none is reported twice."""
    async with open_scene() as scene:
        for status, code in ((OrderStatus.FAILED, "REFUSED"), (OrderStatus.CANCELLED, "EXPIRED")):
            why = Failure(FailureCode(code), "why")
            for _ in range(100):
                await scene.order(status, failure=why, expires_at_ms=0, watch_until_ms=2**50)
        await scene.restart()
        since = scene.clock.now_ms() - 600_000
        for _ in range(20):
            scene.chain.calls.clear()
            await scene.mine()
            assert scene.chain.calls.total() <= 4
        assert await scene.storage.orders.arrivals(since) == []
        assert scene.tracker.watched == 200


async def test_client_polling_and_idle_looks_cost_one_call() -> None:
    async with open_scene() as scene:
        for _ in range(3):
            await scene.order()
        await scene.mine()
        scene.chain.calls.clear()
        for _ in range(10):
            await scene.look()
        assert scene.chain.calls == {"head": 10}


class NeverRead(dict[Any, Any]):
    """A table in which entries are looked up by key, and that nobody may go through."""

    def _gone_through(self) -> Never:
        raise AssertionError("a block must not cost more for each live order")

    __iter__ = keys = values = items = _gone_through  # type: ignore[assignment]


def test_a_block_is_matched_without_going_through_the_live_orders() -> None:
    watches = OrderIndex(RULES)
    for serial in range(LIVE):
        wallet = from_bytes(serial.to_bytes(20))
        watches.put(order(order_id=str(serial), tx_hash=f"{serial:x}", wallet=wallet, nonce=0))
    senders = [from_bytes((LIVE - 5 + n).to_bytes(20)) for n in range(300)]
    tables = [name for name, value in vars(watches).items() if isinstance(value, dict)]
    assert len(tables) >= 4
    for name in tables:
        setattr(watches, name, NeverRead(getattr(watches, name)))
    concerned = [w for n, s in enumerate(senders) for w in watches.affected_by(f"0x{n}", s, 0)]
    assert len(concerned) == 5
