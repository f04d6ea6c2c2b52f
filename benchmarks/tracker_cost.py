"""What one block costs the tracker, by the number of live orders: node calls and CPU.

Run `python -m benchmarks.tracker_cost`. The database is a real SQLite file, the chain is scripted:
300 transactions a block, 5 of them orders', so that node and network do not count as our CPU. The
log has the service's level and goes nowhere.
"""

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import uvloop

from quietswap.rules.chain.records import Receipt
from quietswap.rules.orders.order import Order, OrderStatus
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.service import observe
from tests.orders.tracking import Scene, open_scene
from tests.scripted_chain import Tx

SIZES = (10, 1_000, 100_000)
BLOCKS = 24
TRANSACTIONS, MATCHES = 300, 5
_NOWHERE = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
"""Open until the process ends, because loggers keep it."""


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
        OrderStatus.MINING,
        raw=bytes(1_000),
        sent_head=head - serial % 5,
        wallet=from_bytes((serial + 10**6).to_bytes(20)),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one block: median and worst CPU in ms, and most node calls.

    `worked` is the mean number of orders that a block sent again or looked up at the node.
    """

    cpu_ms: float
    worst_ms: float
    calls: int
    worked: float
    start_s: float


def counting(scene: Scene) -> Callable[[], int]:
    """Return a function that returns how many orders were sent or looked up until now."""
    looked_up = 0
    receipts = scene.chain.receipts

    async def counted(hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        nonlocal looked_up
        looked_up += len(hashes)
        return await receipts(hashes)

    async def unused(wallets: Sequence[Address]) -> Mapping[Address, int]:
        scene.chain.calls["nonces"] += 1
        return dict.fromkeys(wallets, 0)  # the scripted answer reads every block of the chain

    scene.chain.receipts = counted  # type: ignore[method-assign]
    scene.chain.nonces = unused  # type: ignore[method-assign]
    return lambda: looked_up + len(scene.relay.sent)


async def cost(count: int) -> Cost:
    """Return what a block costs with this number of live orders."""
    async with open_scene(started=False) as scene:
        work = counting(scene)
        orders = await fill(scene, count)
        started = time.perf_counter()
        await scene.tracker.start()
        start_s = time.perf_counter() - started
        cpu, calls = [], []
        worked = work()
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
            await scene.tracker.run_once()
            cpu.append((time.process_time() - before) * 1000)
            calls.append(scene.chain.calls.total())
        worked = (work() - worked) / BLOCKS
        return Cost(statistics.median(cpu), max(cpu), max(calls), worked, start_s)


def each_us(few: Cost, many: Cost) -> float:
    """Return the microseconds of CPU for each further order that needed work."""
    return (many.cpu_ms - few.cpu_ms) * 1000 / (many.worked - few.worked)


def log_nowhere() -> None:
    """Log as a worker of the service does, into a file that takes no time."""
    with redirect_stderr(_NOWHERE):
        observe.write_logs()


def main() -> None:
    """Print one row per number of live orders."""
    log_nowhere()
    print("live orders | node calls | orders worked | CPU ms per block (median, worst) | start s")
    for count in map(int, sys.argv[1:] or SIZES):
        one = uvloop.run(cost(count))
        told = f"{count:11} | {one.calls:10} | {one.worked:13.1f}"
        print(f"{told} | {one.cpu_ms:8.1f} {one.worst_ms:8.1f} | {one.start_s:.2f}")


if __name__ == "__main__":
    main()
