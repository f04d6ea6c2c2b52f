"""What one block costs the tracker, by the number of live orders: node calls and CPU.

Run `python -m benchmarks.tracker_cost`. The database is a real SQLite file, the chain is scripted:
300 transactions a block, 5 of them orders', so that node and network do not count as our CPU.
"""

import asyncio
import logging
import statistics
import sys
import time

import structlog

from quietswap.domain.address import from_bytes
from quietswap.domain.order import Order, Status
from tests.scripted_chain import Tx
from tests.services.tracking import Scene, open_scene

SIZES = (10, 1_000, 100_000)
BLOCKS = 24
TRANSACTIONS, MATCHES = 300, 5


async def fill(scene: Scene, count: int, start: int = 0) -> list[Order]:
    """Store `count` orders that a relay holds and no block has included yet."""
    orders: list[Order] = []
    for first in range(start, start + count, 1_000):
        batch = range(first, min(first + 1_000, start + count))
        orders += await asyncio.gather(*(an_order(scene, serial) for serial in batch))
    return orders


async def an_order(scene: Scene, serial: int) -> Order:
    """Store one order of a wallet of its own, sent at some block of the last resend cycle."""
    head = scene.chain.blocks[-1].number
    return await scene.order(
        Status.MINING,
        raw=bytes(1_000),
        sent_head=head - serial % 5,
        wallet=from_bytes((serial + 10**6).to_bytes(20)),
    )


async def cost(count: int) -> tuple[float, float, float, float]:
    """Return (median CPU ms, worst CPU ms, most node calls, seconds to start) per block."""
    async with open_scene(started=False) as scene:
        orders = await fill(scene, count)
        started = time.perf_counter()
        await scene.tracker.start()
        start_s = time.perf_counter() - started
        cpu, calls = [], []
        for _ in range(BLOCKS):
            own = [Tx.of(orders.pop()) for _ in range(MATCHES)]
            orders += await fill(scene, MATCHES, start=10**8 + scene.chain.blocks[-1].number * 10)
            strangers = [
                Tx(f"0x{n:064x}", from_bytes(n.to_bytes(20)), 0)
                for n in range(10**9, 10**9 + TRANSACTIONS - len(own))
            ]
            scene.chain.mine(*own, *strangers)
            scene.chain.calls.clear()
            before = time.process_time()
            await scene.tracker.turn()
            cpu.append((time.process_time() - before) * 1000)
            calls.append(scene.chain.calls.total())
        return statistics.median(cpu), max(cpu), max(calls), start_s


def main() -> None:
    """Print one row per number of live orders."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print("live orders | node calls per block | CPU ms per block (median, worst) | start s")
    for count in map(int, sys.argv[1:] or SIZES):
        median, worst, calls, start_s = asyncio.run(cost(count))
        print(f"{count:11} | {calls:20} | {median:8.1f} {worst:8.1f} | {start_s:.2f}")


if __name__ == "__main__":
    main()
