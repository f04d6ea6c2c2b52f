"""What a page fault adds to the read of an order: PostgreSQL, tables of two sizes.

A connection's process maps a page of `shared_buffers` when it first touches it. The larger the
table, the more of its reads meet such a fault.

    python -m benchmarks.storage.page_faults [--orders N]
"""

import argparse
import asyncio
import random
import statistics
import time
from collections import defaultdict
from pathlib import Path

import asyncpg

from benchmarks.storage.content import Shape, order_id
from benchmarks.storage.fill import fill_postgres
from benchmarks.storage.run import SMALL, Plan
from tests.databases import PostgresCluster

READS = 6_000
_SELECT = "SELECT * FROM orders WHERE order_id = $1"


async def measure(orders: int) -> dict[int, dict[int, list[float]]]:
    """Return the milliseconds of reads, by the orders in the table and by their page faults."""
    cluster = PostgresCluster("".join(f"{line}\n" for line in Plan(orders, 1, 1).server))
    try:
        return {size: await _reads(await cluster.empty(), size) for size in (SMALL, orders)}
    finally:
        cluster.close()


async def _reads(url: str, orders: int) -> dict[int, list[float]]:
    """Fill a table, and read orders of any age over a new connection, one at a time."""
    await fill_postgres(url, Shape(orders, orders // 100))
    connection = await asyncpg.connect(url)
    server = await connection.fetchval("SELECT pg_backend_pid()")
    read = await connection.prepare(_SELECT)
    found: dict[int, list[float]] = defaultdict(list)
    dice = random.Random(6)
    for _ in range(READS):
        wanted = order_id(dice.randrange(orders))
        before, begun = _minor_faults(server), time.perf_counter()
        assert await read.fetchrow(wanted) is not None
        took = time.perf_counter() - begun
        found[_minor_faults(server) - before].append(took * 1000)
    await connection.close()
    return found


def _minor_faults(pid: int) -> int:
    """Return the page faults that needed no disk, of a process (proc_pid_stat(5), minflt)."""
    return int(Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[7])


def main() -> None:
    """Measure and print a line for each number of page faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=1_000_000, help="in the larger table")
    for orders, by_faults in asyncio.run(measure(parser.parse_args().orders)).items():
        for faults, times in sorted(by_faults.items()):
            middle = statistics.median(times)
            print(f"{orders} orders, {faults} faults: {middle:.3f} ms ({len(times)} reads)")


if __name__ == "__main__":
    main()
