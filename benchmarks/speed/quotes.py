"""The rows about quotes."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.speed.fanout import Calls, calls_of_a_quote, fan_out
from benchmarks.speed.load import Result, get, load
from benchmarks.speed.row import Goal, Row, shown
from benchmarks.speed.stage import (
    BUY,
    QUIETSWAP,
    SELL,
    SELL_AMOUNT,
    SLIPPAGE_BPS,
    WALLETS,
    Served,
    Stage,
    pin,
)
from benchmarks.speed.upstreams import wallet

DELAY_MS = 100.0
CLIENTS = 32
_UNVERIFIED = (QUIETSWAP[0], "-m", "benchmarks.speed.unverified")


def requests(served: Served) -> list[bytes]:
    """Return one quote request for each wallet."""
    query = f"sellToken={SELL.address}&buyToken={BUY.address}&sellAmount={SELL_AMOUNT}"
    return [
        get(f"/api/v1/quote?{query}&userAddress={wallet(n)}&slippageBps={SLIPPAGE_BPS}", served.key)
        for n in range(WALLETS)
    ]


async def ask(served: Served, clients: int, count: int) -> Result:
    """Ask for `count` quotes."""
    return await load(served.service.port, clients, count, requests(served))


async def latency(stage: Stage, rounds: int) -> list[Row]:
    """One client, upstreams of 100 ms: what the service adds to the slowest of them."""
    ours = await stage.service("latency")
    careless = await stage.service("unverified", program=_UNVERIFIED)
    calls = await calls_of_a_quote(stage)
    for served in (ours, careless):
        await ask(served, 4, 100)
    await stage.world(delay_ms=DELAY_MS)
    results: dict[str, list[Result]] = {"slowest": [], "ours": [], "careless": [], "bare": []}
    for _ in range(rounds):
        results["slowest"].append((await fan_out(calls.slowest, 1, 40, None))[0])
        results["ours"].append(await ask(ours, 1, 40))
        results["careless"].append(await ask(careless, 1, 40))
        results["bare"].append((await fan_out(calls, 1, 40, None))[0])
    await stage.world()
    slowest = median(result.p50 for result in results["slowest"])
    p50 = {name: median(r.p50 for r in rs) - slowest for name, rs in results.items()}
    p99 = {name: median(r.p99 for r in rs) - slowest for name, rs in results.items()}
    beside = "verification off {}, bare fan-out {}"
    what = "quote, 1 client, 100 ms upstreams: beyond the slowest"
    return [
        Row(f"{what}, p50", p50["ours"], _beside(beside, p50), Goal(8, "ms")),
        Row(f"{what}, p99", p99["ours"], _beside(beside, p99), Goal(20, "ms")),
    ]


def _beside(text: str, figures: dict[str, float]) -> str:
    return text.format(shown(figures["careless"], "ms"), shown(figures["bare"], "ms"))


async def throughput(stage: Stage, rounds: int) -> list[Row]:
    """32 clients, upstreams that answer at once; service and fan-out have a core of their own."""
    ours = await stage.service("throughput")
    calls = await calls_of_a_quote(stage)
    await ask(ours, CLIENTS, 400)
    async with _apart(stage, ours):
        pairs = [await _pair(ours, calls) for _ in range(rounds)]
    rate = median(r.per_second for r, _, _, _ in pairs)
    bare = median(b.per_second for _, b, _, _ in pairs)
    share = median(r.per_second / b.per_second for r, b, _, _ in pairs)
    cpu, bare_cpu = (median(p[n] for p in pairs) for n in (2, 3))
    told = f"{shown(cpu, 'ms')} of CPU a quote, bare {shown(bare_cpu, 'ms')}"
    what = f"quotes a second on one core, {CLIENTS} clients, 0 ms upstreams"
    return [
        Row(what, rate, told, Goal(400, "/s", least=True)),
        Row(f"{what}: share", share, f"bare fan-out {shown(bare, '/s')}", Goal(0.7, "%", True)),
    ]


async def _pair(ours: Served, calls: Calls) -> tuple[Result, Result, float, float]:
    count = 1_280
    before = ours.cpu_s()
    result = await ask(ours, CLIENTS, count)
    cpu_ms = (ours.cpu_s() - before) / count * 1000
    bare, cpu_s = await fan_out(calls, CLIENTS, count, 0)
    return result, bare, cpu_ms, cpu_s / count * 1000


@asynccontextmanager
async def _apart(stage: Stage, ours: Served) -> AsyncIterator[None]:
    """Give the service core 0, and the rest of the world (node, upstreams, load) core 1."""
    world = [os.getpid(), *_children(os.getpid())]
    for pid in world:
        pin(pid, 1)
    for pid in ours.pids:
        pin(pid, 0)
    try:
        yield
    finally:
        for pid in world:
            _unpin(pid)


def _children(pid: int) -> Sequence[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


def _unpin(pid: int) -> None:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), range(os.cpu_count() or 1))


async def hanging(stage: Stage, rounds: int) -> list[Row]:
    """One source accepts the connection and never says a word."""
    ours = await stage.service("hanging")
    await ask(ours, 4, 100)
    await stage.world(hangs=("velora",))
    results = []
    for _ in range(min(rounds, 3)):
        results.append(await ask(ours, 1, 60))
        await asyncio.sleep(16)  # the circuit is half open again: the next quote waits once more
    await stage.world()
    together = replace(results[0], ms=[ms for result in results for ms in result.ms])
    told = f"p50 {shown(together.p50, 'ms')}, slowest {shown(max(together.ms), 'ms')}"
    beside = f"{told}: after five silences the source is left alone for a while"
    return [Row("quote while one source hangs, p99", together.p99, beside, Goal(650, "ms"))]
