"""What a read costs one process: requests a second, and CPU of the service for each.

Run `python -m benchmarks.reads_cost [--stores sqlite shared] [--workers 1 2] [--rounds 3]`. It
needs no chain: status and history are read from the store only. `--updates 500` changes orders
beside the reads.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import psutil

from benchmarks.speed.load import get, load
from benchmarks.speed.orders import pages
from benchmarks.speed.upstreams import wallet
from quietswap.rules.orders.order import Order, OrderEvent, OrderStatus
from quietswap.sandbox.faults import PRICES, VENUES
from quietswap.sandbox.ports import free_port
from quietswap.sandbox.stack import ServiceProcess, StoreUrls, settings_text
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.factory import Storage, open_storage
from tests.databases import PostgresCluster, RedisServer
from tests.stored_orders import inclusion, order

CLIENTS = 64
OWNERS, EACH = 20, 400
_BEGAN_MS = 1_790_000_000_000
_NOWHERE = "http://127.0.0.1:9"
_SERVER_SETTINGS = "[server]\nrate_limit = 1000000000\n"


@dataclass(frozen=True, slots=True)
class Figure:
    """Requests a second, CPU in µs per request of the service, and of the stores beside it."""

    per_second: float
    service_us: float
    stores_us: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Served:
    """A running service, a key to it, and the processes of its stores."""

    service: ServiceProcess
    key: str
    stores: Sequence[psutil.Process]
    urls: StoreUrls

    async def measure(self, requests: Sequence[bytes], count: int) -> Figure:
        """Send `count` requests in turn."""
        service = [psutil.Process(self.service.pid)]
        before = _cpu_s(service), _cpu_s(self.stores)
        result = await load(self.service.port, CLIENTS, count, requests)
        after = _cpu_s(service), _cpu_s(self.stores)
        own, beside = ((b - a) / count * 1e6 for a, b in zip(before, after, strict=True))
        return Figure(result.per_second, own, beside, result.p99)


def _cpu_s(processes: Sequence[psutil.Process]) -> float:
    total = 0.0
    for parent in processes:
        for one in (parent, *parent.children(recursive=True)):
            times = one.cpu_times()
            total += times.user + times.system
    return total


@asynccontextmanager
async def served(kind: str, workers: int) -> AsyncIterator[Served]:
    """Run a service on `sqlite` or on `shared` stores, filled with confirmed orders."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quietswap-reads-")))
        urls, processes = StoreUrls(f"sqlite:///{folder / 'quietswap.sqlite3'}"), []
        if kind == "shared":
            cluster, redis = PostgresCluster(""), RedisServer()
            stack.callback(cluster.close)
            stack.callback(redis.close)
            urls = StoreUrls(await cluster.migrated(), redis.url)
            processes = _running("postgres", "redis-server")
        port = free_port()
        names = (*PRICES, *VENUES, "node", "relay", "backup_relay")
        text = settings_text(dict.fromkeys(names, _NOWHERE), folder, port, 12, urls)
        text = text.replace("[server]\n", f"{_SERVER_SETTINGS}workers = {workers}\n")
        settings = folder / "quietswap.toml"
        settings.write_text(text, "utf-8")
        service = ServiceProcess(settings, port)
        stack.push_async_callback(service.stop)
        _, key = await service.create_key("reads")
        storage = await open_storage(urls.url, clock=SystemClock(), rates_url=None)
        client = (await storage.keys.list())[0].client_id
        await _fill(storage, client)
        await storage.close()
        await service.start()
        yield Served(service, key, processes, urls)


def _running(*names: str) -> list[psutil.Process]:
    """Return the servers that this process started."""
    return [one for one in psutil.Process().children() if one.name() in names]


async def _fill(storage: Storage, client_id: str) -> None:
    for number in range(EACH):
        await asyncio.gather(
            *(_add(storage, an_order(owner, number, client_id)) for owner in range(OWNERS))
        )


async def _add(storage: Storage, one: Order) -> None:
    line = OrderEvent(one.order_id, one.created_at_ms, "benchmark", None, one.status, "filled")
    await storage.orders.add(one, line)


def order_id(owner: int, number: int) -> str:
    """Return the id of an order of the benchmark."""
    return f"ord_{owner:016x}{number:016x}"


def an_order(owner: int, number: int, client_id: str) -> Order:
    """Return a confirmed order; each wallet has `EACH`."""
    at_ms = _BEGAN_MS + (number * OWNERS + owner) * 7_919
    return order(
        order_id=order_id(owner, number), client_id=client_id, wallet=wallet(owner),
        tx_hash=f"0x{owner * EACH + number:064x}", raw=None, watched=False,
        status=OrderStatus.CONFIRMED, created_at_ms=at_ms, submitted_at_ms=at_ms + 40,
        inclusion=inclusion(block_time_ms=at_ms + 12_000),
    )  # fmt: skip


def statuses(key: str) -> list[bytes]:
    """Return one request for the status of each order."""
    return [
        get(f"/api/v1/mev/orders/{order_id(o, n)}", key) for n in range(EACH) for o in range(OWNERS)
    ]


async def updating(served: Served, per_second: int) -> None:
    """Change orders that nobody reads, `per_second` of them, until cancelled."""
    storage = await open_storage(served.urls.url, clock=SystemClock(), rates_url=None)
    try:
        client = (await storage.keys.list())[0].client_id
        crowd = [
            replace(an_order(10**6, n, client), tx_hash=f"0x{10**9 + n:064x}", watched=True)
            for n in range(per_second)
        ]
        await asyncio.gather(*(_add(storage, one) for one in crowd))
        while True:
            began = asyncio.get_running_loop().time()
            for first in range(0, per_second, 25):
                batch = crowd[first : first + 25]
                changed = await asyncio.gather(*(storage.orders.update(o, None) for o in batch))
                assert all(changed)
                due = began + (first + 25) / per_second
                await asyncio.sleep(max(due - asyncio.get_running_loop().time(), 0))
            crowd = [replace(one, version=one.version + 1) for one in crowd]
    finally:
        await storage.close()


async def run(kind: str, workers: int, rounds: int, updates: int) -> None:
    """Print the figures of one arrangement."""
    async with served(kind, workers) as ours:
        status, page = statuses(ours.key), pages(ours.key, range(1, 250))
        await load(ours.service.port, CLIENTS, 2_000, status[:2_000])
        beside = asyncio.ensure_future(updating(ours, updates)) if updates else None
        await asyncio.sleep(1 if updates else 0)
        print(f"{kind}, {workers} workers, {updates} updates/s; load {os.getloadavg()[0]:.1f}")
        part = len(status) // rounds // 2
        firsts = [status[2_000 + n * part :][:part] for n in range(rounds)]
        size = len(page) // rounds
        _print("status", [await ours.measure(one, len(one)) for one in firsts])
        parts = [page[n * size :][:size] for n in range(rounds)]
        _print("page of 50", [await ours.measure(one, size) for one in parts])
        if beside:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)


def _print(what: str, figures: Sequence[Figure]) -> None:
    cells = [
        f"{median(f.per_second for f in figures):8.0f} /s",
        f"{median(f.service_us for f in figures):6.0f} µs of CPU",
        f"least {min(f.service_us for f in figures):6.0f}",
        f"stores {median(f.stores_us for f in figures):6.0f} µs",
        f"p99 {median(f.p99_ms for f in figures):6.1f} ms",
    ]
    print(f"  {what:18}", "  ".join(cells), flush=True)


def main() -> None:
    """Run the arrangements of the command line, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "shared"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=0)
    options = parser.parse_args()
    for kind in options.stores:
        for workers in options.workers if kind == "shared" else [1]:
            asyncio.run(run(kind, workers, options.rounds, options.updates))


if __name__ == "__main__":
    main()
