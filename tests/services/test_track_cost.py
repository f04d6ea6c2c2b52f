"""The cost of a block does not grow with the number of live orders."""

import time

import pytest

from quietswap.domain.address import from_bytes
from quietswap.domain.order import Status
from quietswap.domain.tracking import TrackingRules
from quietswap.domain.watchlist import Watchlist
from tests.orders import order
from tests.scripted_chain import Tx
from tests.services.tracking import open_scene

LIVE = 100_000


@pytest.mark.parametrize("live", [1, 40, 600])
async def test_a_block_costs_four_node_calls_and_the_matches(live: int) -> None:
    async with open_scene(started=False) as scene:
        orders = [await scene.order(Status.MINING) for _ in range(live)]
        await scene.tracker.start()
        for _ in range(20):
            scene.chain.calls.clear()
            await scene.mine()
            assert scene.chain.calls.total() <= 4
        scene.chain.calls.clear()
        await scene.mine(*map(Tx.of, orders[:5]))
        await scene.mine()
        assert scene.chain.calls.total() <= 2 * 4 + 1


async def test_client_polling_and_idle_looks_cost_one_call() -> None:
    async with open_scene() as scene:
        for _ in range(3):
            await scene.order()
        await scene.mine()
        scene.chain.calls.clear()
        for _ in range(10):
            await scene.look()
        assert scene.chain.calls == {"head": 10}


def test_matching_a_block_against_a_hundred_thousand_orders_takes_milliseconds() -> None:
    watches = Watchlist(TrackingRules())
    for serial in range(LIVE):
        wallet = from_bytes(serial.to_bytes(20))
        watches.put(order(order_id=str(serial), tx_hash=f"{serial:x}", wallet=wallet, nonce=0))
    senders = [from_bytes((LIVE - 5 + n).to_bytes(20)) for n in range(300)]
    started = time.process_time()
    concerned = [w for n, s in enumerate(senders) for w in watches.concerned(f"0x{n}", s, 0)]
    assert (time.process_time() - started) * 1000 < 50
    assert len(concerned) == 5
