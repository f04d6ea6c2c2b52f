"""The rows about quotes."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.speed.fanout import Calls, calls_of_a_quote, fan_out
from benchmarks.speed.load import Result, get, load
from benchmarks.speed.row import Goal, Row, Spread, shown
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
from quietswap.client import AsyncQuietswapClient, SwapRequest
from quietswap.rules.contract.quotes import StreamedRoute

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
    names = ("slowest", "ours", "careless", "bare")
    results: dict[str, list[Result]] = {name: [] for name in names}
    for _ in range(rounds):
        results["slowest"].append((await fan_out(calls.slowest, 1, 40, None))[0])
        results["ours"].append(await ask(ours, 1, 40))
        results["careless"].append(await ask(careless, 1, 40))
        results["bare"].append((await fan_out(calls, 1, 40, None))[0])
    await stage.world()
    slowest = median(result.p50 for result in results["slowest"])
    p50 = {name: Spread.of(r.p50 - slowest for r in rs) for name, rs in results.items()}
    p99 = {name: Spread.of(r.p99 - slowest for r in rs) for name, rs in results.items()}
    return [*_beyond("p50", p50, Goal(3.5, "ms")), *_beyond("p99", p99, Goal(8, "ms"))]


def _beyond(which: str, ms: dict[str, Spread], goal: Goal) -> list[Row]:
    what = f"quote, 1 client, 100 ms upstreams: beyond the slowest, {which}"
    told = {name: shown(figure, "ms") for name, figure in ms.items()}
    limits = f"verification off {told['careless']}, bare fan-out {told['bare']}"
    return [
        Row(what, ms["ours"], limits, goal),
        Row(f"{what}: over the bare fan-out's", _times(ms, "bare"), told["bare"], Goal(1.25, "×")),
    ]


def _times(ms: dict[str, Spread], other: str) -> Spread:
    """Return our milliseconds over the others', round by round."""
    pairs = zip(ms["ours"].rounds, ms[other].rounds, strict=True)
    return Spread.of(own / max(theirs, 0.01) for own, theirs in pairs)


async def first_route(stage: Stage, _: int) -> list[Row]:
    """Streamed quotes, one source silent: the first verified route after the first answer."""
    ours = await stage.service("first route")
    await ask(ours, 4, 100)
    await stage.world(delay_ms=DELAY_MS, hangs=("velora",))
    first: list[float] = []
    async with AsyncQuietswapClient(ours.service.url, ours.key) as client:
        for number in range(4):  # the fifth silence opens the circuit: nothing is late any more
            arrived: list[float] = []

            def verified(_: StreamedRoute, arrived: list[float] = arrived) -> None:
                arrived.append(time.perf_counter())

            request = SwapRequest(
                SELL.address, BUY.address, SELL_AMOUNT, wallet(number), SLIPPAGE_BPS
            )
            asked = time.perf_counter()
            await client.stream_quote(request, verified)
            first.append((arrived[0] - asked) * 1000 - DELAY_MS)
    await stage.world()
    what = "streamed quote, one source silent: first verified route after the first answer, median"
    told = f"of {len(first)} quotes, upstreams of {DELAY_MS:.0f} ms"
    return [Row(what, Spread((median(first),)), told, Goal(150, "ms"))]


async def throughput(stage: Stage, rounds: int) -> list[Row]:
    """32 clients, upstreams that answer at once; service and fan-out take turns on a core."""
    ours = await stage.service("throughput")
    calls = await calls_of_a_quote(stage)
    await ask(ours, CLIENTS, 400)
    async with apart(ours.pids):
        turns = [await _turn(ours, calls) for _ in range(rounds)]
    rate, bare = (Spread.of(turn[n].rate for turn in turns) for n in range(2))
    share = Spread.of(turn[0].rate / turn[1].rate for turn in turns)
    cpu, bare_cpu = (shown(Spread.of(turn[n].cpu_ms for turn in turns), "ms") for n in range(2))
    told = f"{cpu} of CPU a quote, bare {bare_cpu}"
    what = f"quotes a second on one core, {CLIENTS} clients, 0 ms upstreams"
    return [
        Row(what, rate, told, Goal(400, "/s", least=True)),
        Row(f"{what}: share", share, f"bare fan-out {shown(bare, '/s')}", Goal(0.8, "%", True)),
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """Answers a second, and milliseconds of CPU for one."""

    rate: float
    cpu_ms: float


async def _turn(ours: Served, calls: Calls) -> tuple[_Run, _Run]:
    count = 1_280
    before = ours.cpu_s()
    result = await ask(ours, CLIENTS, count)
    cpu_s = ours.cpu_s() - before
    runs = (result, cpu_s), await fan_out(calls, CLIENTS, count, 0)
    first, second = (_Run(one.per_second, cpu / count * 1000) for one, cpu in runs)
    return first, second


@asynccontextmanager
async def apart(alone: Sequence[int]) -> AsyncIterator[None]:
    """Give these processes core 0, and the rest of the world (node, upstreams, load) core 1."""
    world = [os.getpid(), *_children(os.getpid())]
    for pid in world:
        pin(pid, 1)
    for pid in alone:
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
    p50, p99, slowest = (
        Spread.of(figures)
        for figures in zip(*((r.p50, r.p99, max(r.ms)) for r in results), strict=True)
    )
    told = f"p50 {shown(p50, 'ms')}, slowest {shown(slowest, 'ms')}"
    beside = f"{told}: after five silences the source is left alone for a while"
    return [Row("quote while one source hangs, p99", p99, beside, Goal(650, "ms"))]
