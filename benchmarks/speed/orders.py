"""The rows about orders: status, history, submission."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.speed.load import Result, get, load
from benchmarks.speed.row import Goal, Row, Spread, once, shown
from benchmarks.speed.stage import ROOT, Stage
from benchmarks.speed.upstreams import wallet
from quietswap.clock import SystemClock
from quietswap.orders.order import OrderEvent, OrderStatus
from quietswap.sandbox.ports import free_port
from quietswap.storage.cached_orders import SETTLES_S
from quietswap.storage.factory import open_storage
from tests.orders import inclusion, order

CLIENTS = 64
OWNERS, EACH = 20, 200
"""As many orders as are kept in memory, nearly."""
_COUNT = 20_000
_BEGAN_MS = 1_790_000_000_000
_APART_MS = 7_919


def order_id(owner: int, number: int) -> str:
    """Return the id of an order of the benchmark."""
    return f"ord_{owner:016x}{number:016x}"


async def fill(database: Path, client_id: str) -> None:
    """Store confirmed orders of a few wallets."""
    storage = await open_storage(f"sqlite:///{database}", clock=SystemClock(), rates_url=None)
    for owner in range(OWNERS):
        for number in range(EACH):
            at_ms = _BEGAN_MS + (number * OWNERS + owner) * _APART_MS
            one = order(
                order_id=order_id(owner, number), client_id=client_id, wallet=wallet(owner),
                tx_hash=f"0x{owner * EACH + number:064x}", raw=None, watched=False,
                status=OrderStatus.CONFIRMED, created_at_ms=at_ms, submitted_at_ms=at_ms + 40,
                inclusion=inclusion(block_time_ms=at_ms + 12_000),
            )  # fmt: skip
            line = OrderEvent(one.order_id, at_ms, "benchmark", None, one.status, "filled")
            await storage.orders.add(one, line)
    await storage.close()


def statuses(key: str) -> list[bytes]:
    """Return one request for the status of each order."""
    return [
        get(f"/api/v1/mev/orders/{order_id(o, n)}", key) for o in range(OWNERS) for n in range(EACH)
    ]


def pages(key: str, offsets: Iterable[int]) -> list[bytes]:
    """Return requests for pages of fifty of each wallet."""
    return [
        get(f"/api/v1/mev/orders/user/{wallet(o)}?limit=50&offset={offset}", key)
        for offset in offsets
        for o in range(OWNERS)
    ]


async def settle(port: int, requests: list[bytes]) -> None:
    """Wait until what is read is kept: a process that begins first reads everything anew."""
    await load(port, 1, 1, requests)
    await asyncio.sleep(SETTLES_S + 1)


async def reading(stage: Stage, rounds: int) -> list[Row]:
    """Status by id and a page of fifty, each beside the same bytes from memory."""
    ours = await stage.service("reading", fill=fill)
    port = ours.service.port
    status = statuses(ours.key)
    await settle(port, status)
    history, new_pages = pages(ours.key, (0, 50, 100)), pages(ours.key, range(1, 150))
    rows = []
    for what, requests, new, rate, share in (
        ("status by id", status, status, 12_000, 0.55),
        ("history page of 50", history, new_pages, 3_000, 0.4),
    ):
        first = await load(port, CLIENTS, len(new), new)
        body = _written(stage.folder / "body.json", first.last)
        async with _hello(body) as hello:
            pairs = [
                (
                    await load(port, CLIENTS, _COUNT, requests),
                    await load(hello, CLIENTS, _COUNT, requests),
                )
                for _ in range(rounds)
            ]
        rows += _rows(f"{what}, {CLIENTS} clients", first, pairs, rate, share)
    return rows


def _rows(
    what: str, first: Result, pairs: list[tuple[Result, Result]], rate: float, share: float
) -> list[Row]:
    ours = Spread.of(a.per_second for a, _ in pairs)
    hello = Spread.of(b.per_second for _, b in pairs)
    p99 = Spread.of(a.p99 for a, _ in pairs)
    part = Spread.of(a.per_second / b.per_second for a, b in pairs)
    return [
        Row(what, ours, f"p99 {shown(p99, 'ms')}", Goal(rate, "/s", least=True)),
        Row(
            f"{what}: each for the first time",
            once(first.per_second),
            f"p99 {shown(first.p99, 'ms')}",
            Goal(rate, "/s", least=True),
        ),
        Row(
            f"{what}: share",
            part,
            f"same bytes from memory {shown(hello, '/s')}",
            Goal(share, "%", least=True),
        ),
    ]


def _written(file: Path, text: str) -> Path:
    file.write_text(text, "utf-8")
    return file


@asynccontextmanager
async def _hello(file: Path) -> AsyncIterator[int]:
    """Serve the file from memory; yields the port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.speed.hello", str(port), str(file), cwd=ROOT
    )
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            break
    try:
        yield port
    finally:
        process.terminate()
        await process.wait()
