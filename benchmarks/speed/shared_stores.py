"""What a quote costs with PostgreSQL and Redis, beside the same service on SQLite."""

from contextlib import ExitStack

from benchmarks.speed.quotes import CLIENTS, ask
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import Served, Stage
from quietswap.sandbox.stack import StoreUrls

COUNT = 1_280
"""Quotes of a turn."""
WORKERS = (1, 2)


async def shared_stores(stage: Stage, rounds: int) -> list[Row]:
    """32 clients, upstreams that answer at once; the services take turns."""
    # the packages of the tests hold both servers
    from tests.databases import PostgresCluster, RedisServer

    with ExitStack() as stack:
        cluster, redis = PostgresCluster(""), RedisServer()
        stack.callback(cluster.close)
        stack.callback(redis.close)
        alone = await stage.service("quotes-sqlite")
        shared = [
            await stage.service(
                f"quotes-shared-{workers}",
                stores=StoreUrls(await cluster.migrated(), redis.url),
                workers=workers,
            )
            for workers in WORKERS
        ]
        for one in (alone, *shared):
            await ask(one, CLIENTS, 400)
        turns = [[await _cpu_ms(one) for one in (alone, *shared)] for _ in range(rounds)]
        for one in (alone, *shared):
            await one.service.stop()
    own = shown(Spread.of(turn[0] for turn in turns), "ms")
    return [
        Row(
            f"CPU of a quote with PostgreSQL and Redis, {workers} worker{'s' * (workers > 1)}: "
            "over SQLite's",
            Spread.of(turn[n] / turn[0] for turn in turns),
            f"{shown(Spread.of(turn[n] for turn in turns), 'ms')}; with SQLite {own}",
            Goal(1.3, "×"),
        )
        for n, workers in enumerate(WORKERS, 1)
    ]


async def _cpu_ms(served: Served) -> float:
    before = served.cpu_s()
    await ask(served, CLIENTS, COUNT)
    return (served.cpu_s() - before) / COUNT * 1000
