"""The row about event streams: many of them on one process, while orders change.

Run as `python -m benchmarks.speed.streams PORT` it is the process that holds the streams: the keys
come on standard input, one for each stream. It prints `open` once all streams are open, and once
as many events have arrived as the next line of its input says, one JSON object: the arrival of each
event at each stream, in seconds of the system's monotonic clock, by order id.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

from benchmarks.speed.load import get
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import ROOT, Stage
from benchmarks.speed.upstreams import wallet
from quietswap.rules.orders.order import OrderEvent
from quietswap.rules.orders.order_changes import POSTED
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients.credentials import hash_secret, new_client, new_key
from quietswap.service.storage.factory import Storage, open_storage
from tests.stored_orders import order

OWNERS, EACH = 50, 20
"""Clients, and streams of each."""
PER_SECOND, SECONDS = 100, 20
_PATIENCE_S = 60


class _Stream(asyncio.Protocol):
    """One open stream. Its text is searched for order ids, not parsed."""

    def __init__(self, request: bytes, arrivals: dict[str, list[float]]) -> None:
        self._request = request
        self._arrivals = arrivals
        self._rest = b""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        """A stream that ends before the end of the benchmark is a fault."""
        if not self.opened.done():
            self.opened.set_exception(ConnectionError("a stream was refused"))

    def data_received(self, data: bytes) -> None:
        """Note the arrival of each event."""
        now = time.perf_counter()
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            if b"retry:" in block and not self.opened.done():
                self.opened.set_result(None)
            _, found, after = block.partition(b'"orderId":"')
            if found:
                self._arrivals[after.partition(b'"')[0].decode()].append(now)


async def _hold(port: int) -> None:
    """Hold the streams of this process until its input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    keys = json.loads(await reader.readline())
    arrivals: dict[str, list[float]] = defaultdict(list)
    streams = []
    for key in keys:
        request = get("/api/v1/mev/events", key)
        _, stream = await loop.create_connection(
            lambda request=request: _Stream(request, arrivals), "127.0.0.1", port
        )
        streams.append(stream)
    await asyncio.gather(*(stream.opened for stream in streams))
    print("open", flush=True)
    expected = int(await reader.readline())
    until = time.monotonic() + _PATIENCE_S
    while (  # noqa: ASYNC110  data_received only counts
        sum(map(len, arrivals.values())) < expected and time.monotonic() < until
    ):
        await asyncio.sleep(0.1)
    print(json.dumps(arrivals), flush=True)


class _Holder:
    """The process that holds the streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def open(cls, port: int, keys: Sequence[str]) -> "_Holder":
        """Open one stream for each key."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.speed.streams", str(port),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT,
            limit=1 << 28,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(list(keys)).encode() + b"\n")
        if (await process.stdout.readline()).strip() != b"open":
            raise RuntimeError("the streams could not be opened")
        return cls(process)

    async def arrivals(self, expected: int) -> dict[str, list[float]]:
        """Wait for that many arrivals, close the streams and return when each event arrived."""
        out, _ = await self._process.communicate(f"{expected}\n".encode())
        found: dict[str, list[float]] = json.loads(out)
        return found


async def _owners(storage: Storage) -> list[tuple[str, str]]:
    """Return client id and key of new clients."""
    found = []
    now = SystemClock().now_ms()
    for number in range(OWNERS):
        client = new_client(f"stream {number}", now)
        key, secret = new_key(client.id, "stream", now)
        await storage.keys.add(key, hash_secret(secret), client)
        found.append((client.id, secret))
    return found


async def _write(storage: Storage, clients: Sequence[str], first: int) -> dict[str, float]:
    """Store orders at an even pace; return when each was committed, by id."""
    committed: dict[str, float] = {}
    began = time.perf_counter()

    async def one(number: int) -> None:
        await asyncio.sleep(max(0.0, began + (number - first) / PER_SECOND - time.perf_counter()))
        new = order(
            order_id=f"ord_bench{number:010}", client_id=clients[number % len(clients)],
            wallet=wallet(number % 20), tx_hash=f"0x{10**12 + number:064x}", raw=None,
            watched=False,
        )  # fmt: skip
        line = OrderEvent(new.order_id, new.created_at_ms, POSTED, None, new.status, "benchmark")
        await storage.orders.add(new, line)
        committed[new.order_id] = time.perf_counter()

    await asyncio.gather(*(one(first + n) for n in range(PER_SECOND * SECONDS)))
    return committed


async def streams(stage: Stage, rounds: int) -> list[Row]:
    """Hold 1 000 streams while 100 orders a second are stored by another process.

    A process answers requests on one core. What the streams take of that core is what status reads
    beside them lose; measured as processor time it does not depend on what else the machine does.
    """
    ours = await stage.service("streams")
    database = Path(ours.service.settings).with_name("quietswap.sqlite3")
    storage = await open_storage(f"sqlite:///{database}", clock=SystemClock())
    owners = await _owners(storage)
    clients, keys = [client for client, _ in owners], [key for _, key in owners] * EACH
    count, late, each, shares = PER_SECOND * SECONDS, [], [], []
    for number in range(min(rounds, 3)):
        before = ours.memory_mb()
        holder = await _Holder.open(ours.service.port, keys)
        each.append((ours.memory_mb() - before) * 1000 / len(keys))
        began, used = time.perf_counter(), ours.cpu_s()
        committed = await _write(storage, clients, number * count)
        await asyncio.sleep(1)
        shares.append((ours.cpu_s() - used) / (time.perf_counter() - began))
        arrived = await holder.arrivals(count * EACH)
        lost = [one for one in committed if len(arrived.get(one, ())) != EACH]
        if lost:
            raise RuntimeError(f"{len(lost)} events did not arrive once at each stream")
        waits = [(t - at) * 1000 for one, at in committed.items() for t in arrived[one]]
        late.append(quantiles(waits, n=100, method="inclusive")[98])
    await storage.close()
    what = f"{len(keys)} event streams of {OWNERS} clients, {PER_SECOND} events a second"
    total = f"{count * EACH} arrivals a round; memory by stream {shown(Spread.of(each), 'KB')}"
    return [
        Row(f"{what}: commit to client, p99", Spread.of(late), total, Goal(250, "ms")),
        Row(
            f"{what}: share of one core",
            Spread.of(shares),
            "processor time of the process that has the streams",
            Goal(0.2, "%"),
        ),
    ]


if __name__ == "__main__":
    asyncio.run(_hold(int(sys.argv[1])))
