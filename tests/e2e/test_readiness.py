"""`/healthz` and `/readyz`: what is away is named, by what was seen of it and not by settings."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.databases import PostgresCluster, RedisServer
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.test_delivery import Trader

VENUES = ("kyberswap", "velora", "sushi", "openocean")
OK = {"database": "ok", "node": "ok", "sources": "ok", "relay": "ok"}


def ready(api: httpx.Client) -> tuple[int, dict[str, str]]:
    """Return what /readyz says without a key, once /healthz has said that the process lives."""
    with httpx.Client(base_url=api.base_url, timeout=30) as stranger:
        alive = stranger.get("/healthz")
        assert (alive.status_code, alive.json()["data"]) == (200, {"alive": True})
        answer = stranger.get("/readyz")
    body: dict[str, Any] = answer.json()
    assert body["ok"] is (answer.status_code == 200)
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, body["checks"]


def becomes_ready(api: httpx.Client) -> None:
    """Return once everything is well again."""
    until = time.monotonic() + 10
    while ready(api) != (200, OK):
        assert time.monotonic() < until, ready(api)
        time.sleep(0.1)


@pytest.fixture(scope="module")
def served(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(town, tmp_path_factory.mktemp("ready")) as found:
        yield found


def test_a_node_that_is_away_is_named(town: Town, served: Served) -> None:
    assert ready(served.town.api) == (200, OK)
    town.fault("node", "down")
    try:
        time.sleep(0.2)  # a head is believed that long
        status, checks = ready(served.town.api)
    finally:
        town.heal("node")
    assert status == 503
    assert checks == OK | {"node": checks["node"]}
    assert "127.0.0.1#1" in checks["node"]
    becomes_ready(served.town.api)


def test_sources_are_away_once_they_were_silent_and_are_named(town: Town, served: Served) -> None:
    for venue in VENUES:
        town.fault(venue, "down")
    try:
        assert ready(served.town.api) == (200, OK)
        for _ in range(5):
            assert served.town.quote().status_code == 503
        status, checks = ready(served.town.api)
    finally:
        town.heal(*VENUES)
    assert status == 503
    assert checks == OK | {"sources": checks["sources"]}
    assert all(venue in checks["sources"] for venue in VENUES)


def test_relays_are_away_once_all_were_silent(town: Town, tmp_path: Path) -> None:
    tokens = town.facts["tokens"]
    with serving(town, tmp_path) as served:
        trader = Trader(served.town, served.key)
        checks = []
        town.fault("relay", "down")
        town.fault("backup_relay", "down")
        try:
            for size in range(1, 7):  # three silences open a circuit, and then the next is named
                quote = trader.ready_quote(tokens["WETH"], tokens["USDC"], size * 10**15)
                answer = trader.submit(quote)
                assert answer.json()["error"] == "PROVIDER_UNAVAILABLE"
                checks.append(ready(served.town.api))
        finally:
            town.heal("relay", "backup_relay")
            trader.node.http.close()
    *before, (status, last) = checks
    assert before == [(200, OK)] * 5
    assert status == 503
    assert last == OK | {"relay": last["relay"]}
    assert "MEV Blocker, Backup relay" in last["relay"]


def test_a_database_or_a_redis_that_is_away_is_named(town: Town, tmp_path: Path) -> None:
    postgres, redis = PostgresCluster(), RedisServer()
    stores = {
        "STORAGE__URL": asyncio.run(postgres.migrated()),
        "STORAGE__REDIS_URL": redis.url,
    }
    with serving(town, tmp_path, **stores) as served:
        assert ready(served.town.api) == (200, OK)
        redis.kill()
        status, checks = ready(served.town.api)
        assert (status, checks["database"][:6]) == (503, "Redis:")
        redis.start()
        becomes_ready(served.town.api)
        postgres.kill()
        status, checks = ready(served.town.api)
        assert (status, checks["database"][:11]) == (503, "PostgreSQL:")
        assert checks == OK | {"database": checks["database"]}
        postgres.start()
        becomes_ready(served.town.api)
    redis.close()
    postgres.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


def test_a_database_that_refuses_logins_is_away(
    town: Town, tmp_path: Path, postgres: PostgresCluster
) -> None:
    url = asyncio.run(postgres.migrated())
    name = url.partition("?")[0].rpartition("/")[2]
    ends = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    closed = f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"
    outages = {
        "takes no connections": (f"ALTER DATABASE {name} ALLOW_CONNECTIONS true",),
        "no such database": (
            f"ALTER DATABASE elsewhere RENAME TO {name}",
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS true",
        ),
    }
    with serving(town, tmp_path, STORAGE__URL=url) as served:
        for words, mended in outages.items():
            postgres.psql(closed, ends)
            if len(mended) > 1:
                postgres.psql(f"ALTER DATABASE {name} RENAME TO elsewhere")
            try:
                status, checks = ready(served.town.api)
                asked = served.town.api.get("/api/v1/mev/orders/none")
            finally:
                postgres.psql(*mended)
            assert (status, words in checks["database"]) == (503, True), checks
            assert (asked.status_code, asked.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
            becomes_ready(served.town.api)
