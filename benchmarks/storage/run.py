"""The benchmark of one database: fill a small and a large one, then measure both in turns."""

import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from benchmarks.storage import calls
from benchmarks.storage.blocks import Blocks, inserted_blocks
from benchmarks.storage.calls import Calls, Side
from benchmarks.storage.content import EXPIRED, LIVE, Shape
from benchmarks.storage.figures import Figure, Timing, middle, timed
from benchmarks.storage.fill import fill_postgres, fill_sqlite
from quietswap.rules.orders.order import OrderStatus
from quietswap.service.base.clock import SystemClock
from quietswap.service.orders.retention import BATCH
from quietswap.service.storage.database_urls import is_embedded
from quietswap.service.storage.factory import open_storage
from tests.databases import PostgresCluster

SMALL = 10_000
OFFSET = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows in the large database, rounds, and calls of each kind in a round."""

    orders: int
    rounds: int
    calls: int

    @property
    def server(self) -> tuple[str, ...]:
        """Settings unlike those of `initdb`: memory holds the orders and their indexes."""
        megabytes = max(128, self.orders * 14 // 10_000)
        return f"shared_buffers = {megabytes}MB", "max_wal_size = 8GB"

    @property
    def large(self) -> Shape:
        """A hundred orders a wallet on average."""
        return Shape(self.orders, self.orders // 100)

    @property
    def small(self) -> Shape:
        """The same in little."""
        orders = min(SMALL, self.orders // 2)
        return Shape(orders, orders // 100)

    @property
    def offset(self) -> int:
        """The depth of deep pages; a short form has no wallet with 10 000 orders."""
        return min(OFFSET, self.orders // 100)

    @property
    def deep(self) -> Shape:
        """The smallest database that has deep pages: all orders are of one wallet."""
        return Shape(self.offset * 23 // 20 + 2 * LIVE, 1)


@dataclass(frozen=True, slots=True)
class Task:
    """Calls of one kind, `at_once` at any time, `times` in a row in each round."""

    name: str
    calls: Calls
    at_once: int = 1
    times: int = 1
    share: int = 1
    """One of how many of the plan's calls is made: for slow ones."""
    base: str = "small"
    """Which database the large one is compared with."""


def tasks(plan: Plan) -> list[Task]:
    """Return what is measured in each round, in order."""
    paged = f"history, {calls.PAGE} at offset"
    deep = f"{paged} {plan.offset}"
    confirmed = OrderStatus.CONFIRMED
    both = [
        task
        for at_once in (1, 16)
        for task in (
            Task("insert", calls.inserts, at_once),
            Task("status update", calls.updates, at_once, times=4),
            Task("status by id", calls.statuses, at_once),
            Task(f"{paged} 0, small wallets", calls.small_pages, at_once),
        )
    ]
    return [
        *both,
        Task(f"status by id, {calls.KNOWN} orders again and again", calls.known_statuses),
        Task(f"{paged} 0, largest wallet", calls.pages(0)),
        Task(f"{deep}, largest wallet", calls.pages(plan.offset), base="deep"),
        Task(f"{deep}, its confirmed", calls.pages(plan.offset, confirmed), base="deep"),
        Task("nonces of a wallet's open orders", calls.live_nonces),
        Task("what the API wrote (tracker)", calls.arrivals),
        Task("all watched orders (tracker)", calls.watched, share=20),
    ]


async def benchmark(
    database: str, plan: Plan, say: Callable[[str], None]
) -> tuple[list[Figure], list[Blocks]]:
    """Return the figures of `sqlite` or `postgresql`; everything is removed afterwards.

    Only of SQLite, the blocks that an insert writes are counted, too.
    """
    async with AsyncExitStack() as stack:
        new_url = await stack.enter_async_context(_databases(database, plan))
        sides = {}
        for name in ("small", "deep", "large"):
            shape: Shape = getattr(plan, name)
            begun = time.perf_counter()
            sides[name] = await _filled(await new_url(), shape)
            stack.push_async_callback(sides[name].storage.close)
            seconds = time.perf_counter() - begun
            say(f"{database}: {shape.orders} orders filled in {seconds:.0f} s")
        for name in ("small", "large"):
            await _warmed(sides[name], plan)
        rows = tasks(plan)
        found: dict[Task, dict[str, list[Timing]]] = defaultdict(lambda: defaultdict(list))
        for number in range(plan.rounds):
            say(f"{database}: round {number + 1} of {plan.rounds}")
            for task in rows:
                await _turns(task, sides, max(1, plan.calls // task.share), number, found[task])
        clearing = Task(f"one clearing of {BATCH} bytes and {BATCH} quotes", calls.clearings)
        for number in range(min(plan.rounds, EXPIRED // BATCH)):
            await _turns(clearing, sides, 1, number, found[clearing])
        both = sides["small"], sides["large"]
        blocks = [await inserted_blocks(*both, n) for n in (1, 16)] if database == "sqlite" else []
    figures = [
        Figure(
            database,
            plan.orders,
            task.name,
            task.at_once,
            middle(by[task.base]),
            middle(by["large"]),
        )
        for task, by in found.items()
    ]
    return figures, blocks


async def _turns(
    task: Task, sides: dict[str, Side], count: int, number: int, found: dict[str, list[Timing]]
) -> None:
    """Measure both databases one after the other; who begins changes from round to round."""
    names: Sequence[str] = (task.base, "large")
    for _ in range(task.times):
        for name in names if number % 2 else names[::-1]:
            found[name].append(await timed(task.calls(sides[name], count), task.at_once))


async def _warmed(side: Side, plan: Plan) -> None:
    """Let each connection see much of the data, as it has after some time of service."""
    for make in (calls.small_pages, calls.statuses):
        await timed(make(side, plan.orders // 500), at_once=8)


async def _filled(url: str, shape: Shape) -> Side:
    await (fill_sqlite if is_embedded(url) else fill_postgres)(url, shape)
    return Side(shape, await open_storage(url, clock=SystemClock()))


@asynccontextmanager
async def _databases(kind: str, plan: Plan) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    if kind == "postgresql":
        cluster = PostgresCluster("".join(f"{line}\n" for line in plan.server))
        try:
            yield cluster.empty
        finally:
            cluster.close()
        return
    with tempfile.TemporaryDirectory(prefix="quietswap-bench-") as folder:
        names = iter("abc")

        async def new_url() -> str:
            return f"sqlite:///{folder}/{next(names)}.db"

        yield new_url
