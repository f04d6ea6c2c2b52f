"""`/healthz` and `/readyz`: what is away is named, by what was seen of it and not by settings."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.rules.relays import BACKUP_TIER
from quietswap.sandbox.faults import RELAYS
from quietswap.sandbox.http_server import HttpResponse
from quietswap.service.server.readiness import WITHIN_S as WITHIN_S_OF_NODE
from tests import loopback
from tests.databases import PostgresCluster, RedisServer
from tests.e2e.conftest import VENDORS_ONLY, VENUES, Town
from tests.e2e.serving import Served, serving
from tests.patient import open_database
from tests.reports.proxy import Calls, RpcProxy, proxy
from tests.reports.relay_cases import CASES, RelayCase
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.xdist_group("readiness")

RELOAD = "SELECT pg_reload_conf()"
WRAP = {"operation": "wrap", "amount": "0.1", "userAddress": f"0x{'1' * 40}"}
OK = {"database": "ok", "node": "ok", "sources": "ok", "relay": "ok"}


def ready(api: httpx.Client) -> tuple[int, dict[str, str]]:
    """Return what /readyz says without a key, once /healthz has said that the process lives."""
    with loopback.Client(base_url=api.base_url, timeout=WITHIN_S) as stranger:
        alive = stranger.get("/healthz")
        assert (alive.status_code, alive.json()["data"]) == (200, {"alive": True})
        answer = stranger.get("/readyz")
    body: dict[str, Any] = answer.json()
    assert body["ok"] is (answer.status_code == 200)
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, body["checks"]


def up(api: httpx.Client) -> dict[str, float]:
    """Return `quietswap_dependency_up` of each check: a look every 15 seconds."""
    text = api.get("/metrics").text
    found = re.findall(r'^quietswap_dependency_up\{check="(\w+)"[^}]*\} (\S+)$', text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def unready(api: httpx.Client, said: str, well: dict[str, str] = OK) -> None:
    """Return once /readyz says so of the database; requests must fare alike."""
    wait_until(lambda: said in ready(api)[1]["database"], lambda: ready(api))
    status, checks = ready(api)
    assert (status, checks) == (503, well | {"database": checks["database"]})
    quote = api.post("/api/v1/mev/wrap/quote", json=WRAP)
    assert (quote.status_code, quote.json()["error"]) == (503, "SERVICE_UNAVAILABLE")


def becomes_ready(api: httpx.Client) -> None:
    """Return once everything is well again."""
    wait_until(lambda: ready(api) == (200, OK), lambda: ready(api))


def becomes(api: httpx.Client, part: str, *, other_than: str = "") -> str:
    """Return what /readyz says of a part, once it is other: a look is believed for two seconds."""
    said = [other_than]

    def changed() -> bool:
        said[:] = [ready(api)[1][part]]
        return said != [other_than]

    wait_until(changed, f"{part} is still {other_than}")
    return said[0]


@pytest.fixture(scope="module")
def served(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(town, tmp_path_factory.mktemp("ready"), **VENDORS_ONLY) as found:
        yield found


def test_a_node_that_is_away_is_named(town: Town, served: Served) -> None:
    assert ready(served.town.api) == (200, OK)
    history = f"/api/v1/mev/orders/user/{town.facts['wallets'][0]['address']}"
    town.fault("node", "down")
    try:
        becomes(served.town.api, "node", other_than="ok")  # a head is believed for a moment
        status, checks = ready(served.town.api)
        assert served.town.api.get(history).status_code == 200
        wait_until(lambda: up(served.town.api)["node"] == 0, "no gauge says so")
    finally:
        town.heal("node")
    assert status == 200, "who takes it out of service loses histories and statuses, too"
    assert checks == OK | {"node": checks["node"]}
    assert "127.0.0.1#1" in checks["node"]
    becomes_ready(served.town.api)


def test_a_node_that_hangs_does_not_hold_up_the_probe_of_a_replica(
    town: Town, tmp_path: Path
) -> None:
    """Each of three URLs has all the patience of this test: only the check's own limit ends it."""
    urls = ",".join([town.facts["rpcUrl"]] * 3)
    with serving(town, tmp_path, **VENDORS_ONLY, NODE__URLS=urls) as served:
        becomes_ready(served.town.api)
        town.fault("node", "hang")
        try:
            said = becomes(served.town.api, "node", other_than="ok")
            status, checks = ready(served.town.api)
        finally:
            town.heal("node")
    assert said == f"no answer in {WITHIN_S_OF_NODE:g} s"
    assert (status, checks) == (200, OK | {"node": said})


def test_sources_that_no_connection_reaches_are_named(town: Town, served: Served) -> None:
    """Nobody has asked for a quote yet."""
    town.fault(VENUES[0], "down")
    assert becomes(served.town.api, "sources") == "ok"  # the others answer
    for venue in VENUES[1:]:
        town.fault(venue, "down")
    try:
        said = becomes(served.town.api, "sources", other_than="ok")
    finally:
        town.heal(*VENUES)
    assert said == f"no connection: {', '.join(VENUES)}"
    becomes_ready(served.town.api)


def test_sources_that_were_silent_are_named(town: Town, tmp_path: Path) -> None:
    """Connections can be made, and nothing comes: only requests show it."""
    with serving(town, tmp_path, **VENDORS_ONLY) as served:
        for venue in VENUES:
            town.fault(venue, "html:500")
        try:
            for _ in range(5):
                assert served.town.quote().status_code == 503
            status, checks = ready(served.town.api)
        finally:
            town.heal(*VENUES)
    assert status == 200
    assert checks == OK | {"sources": checks["sources"]}
    assert all(venue in checks["sources"] for venue in VENUES)


def test_relays_that_no_connection_reaches_are_named(town: Town, served: Served) -> None:
    """Nobody has submitted anything yet."""
    town.fault("relay", "down")
    assert becomes(served.town.api, "relay") == "ok"  # the backup is there
    town.fault("backup_relay", "down")
    try:
        said = becomes(served.town.api, "relay", other_than="ok")
    finally:
        town.heal("relay", "backup_relay")
    assert said == "no connection: MEV Blocker, Backup relay"
    becomes_ready(served.town.api)


def test_a_relay_that_does_not_answer_is_left_before_anybody_signs(
    town: Town, served: Served
) -> None:
    """Connections can be made, and nobody has submitted anything yet."""
    api = served.town.api
    for relay in RELAYS:
        town.fault(relay, "500")
    try:
        assert becomes(api, "relay", other_than="ok") == "status 500: MEV Blocker, Backup relay"
        town.heal("backup_relay")
        wait_until(lambda: ready(api)[1]["relay"] == "ok", lambda: ready(api))
        quote = served.town.quote().json()["data"]
        assert quote["mevProtection"]["providerMetadata"]["tier"] == BACKUP_TIER
    finally:
        town.heal(*RELAYS)
    becomes_ready(api)


def shares(api: httpx.Client, reason: str) -> None:
    """Return once /readyz says why limits are not shared; requests go on within the share."""

    def said() -> bool:
        status, checks = ready(api)
        text = checks["rates"]
        return status == 200 and f"Redis: {reason}" in text and "all of each limit" in text

    wait_until(said, lambda: ready(api))
    answer = api.post("/api/v1/mev/wrap/quote", json=WRAP)
    assert (answer.status_code, "X-RateLimit-Remaining" in answer.headers) == (200, True)


def test_a_database_or_a_redis_that_is_away_is_named(town: Town, tmp_path: Path) -> None:
    postgres, redis = PostgresCluster(), RedisServer()
    stores = {
        "STORAGE__URL": asyncio.run(postgres.migrated()),
        "STORAGE__REDIS_URL": redis.url,
    }
    well = OK | {"rates": "ok"}

    def is_well() -> bool:
        return ready(served.town.api) == (200, well)

    with serving(town, tmp_path, **stores) as served:
        wait_until(is_well, lambda: ready(served.town.api))
        for begin, reason, end in (
            (redis.kill, "", redis.start),
            # It answers PING, and takes no write.
            (partial(redis.command, "CONFIG", "SET", "maxmemory", "1"), "its memory is full",
             partial(redis.command, "CONFIG", "SET", "maxmemory", "0")),
            (partial(redis.command, "REPLICAOF", "127.0.0.1", "1"), "it is a replica",
             partial(redis.command, "REPLICAOF", "NO", "ONE")),
        ):  # fmt: skip
            begin()
            shares(served.town.api, reason)
            end()
            wait_until(is_well, lambda: ready(served.town.api))
        postgres.psql("ALTER SYSTEM SET default_transaction_read_only = on", RELOAD)
        unready(served.town.api, "it is read-only", well)
        postgres.psql("ALTER SYSTEM RESET default_transaction_read_only", RELOAD)
        wait_until(is_well, lambda: ready(served.town.api))
        postgres.kill()
        status, checks = ready(served.town.api)
        assert (status, checks["database"][:11]) == (503, "PostgreSQL:")
        assert checks == well | {"database": checks["database"]}
        postgres.start()
        wait_until(is_well, lambda: ready(served.town.api))
    redis.close()
    postgres.close()


def test_missing_tables_are_named(town: Town, tmp_path: Path, postgres: PostgresCluster) -> None:
    """A restore is under way: it is no failure of the readiness check itself."""
    url = asyncio.run(postgres.migrated())
    with serving(town, tmp_path, STORAGE__URL=url) as served:
        for table in ("orders", "quotes", "api_keys", "clients", "client_usage"):
            asyncio.run(_renamed(url, table, "away"))
            try:
                status, checks = ready(served.town.api)
                said = checks["database"]
                assert (status, "run quietswap migrate" in said) == (503, True), (table, checks)
            finally:
                asyncio.run(_renamed(url, "away", table))
        becomes_ready(served.town.api)


async def _renamed(url: str, table: str, name: str) -> None:
    database = await open_database(url)
    await database.change(f"ALTER TABLE {table} RENAME TO {name}")
    await database.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


def _says(api: httpx.Client, words: str) -> None:
    """Wait for the reason. The first checks may meet connections that ended a moment ago."""

    def said() -> bool:
        status, checks = ready(api)
        assert status == 503, checks
        return words in checks["database"]

    wait_until(said, lambda: ready(api))


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
                _says(served.town.api, words)
                asked = served.town.api.get("/api/v1/mev/orders/none")
            finally:
                postgres.psql(*mended)
            assert (asked.status_code, asked.json()["error"]) == (503, "SERVICE_UNAVAILABLE")
            becomes_ready(served.town.api)


FAR = "4102444800"


def test_a_node_that_names_no_fork_is_a_warning(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path) as served:
        status, warnings = readiness(served.url)
    assert status == 200
    assert "set node.fork_times once it has a date" in warnings["fork"]


SAID = [case for case in CASES if case.answer.status in (401, 502)]


@pytest.mark.parametrize("case", SAID, ids=[case.shown for case in SAID])
async def test_a_relay_that_takes_nothing_is_a_warning_in_its_words(
    town: Town, tmp_path: Path, case: RelayCase
) -> None:
    async def trouble(_: RpcProxy, calls: Calls) -> HttpResponse | None:
        if isinstance(calls, dict) and calls["method"] == "eth_chainId":
            return None  # it answers, and takes nothing
        return HttpResponse(case.answer.status, case.answer.body, case.answer.content_type)

    def posted(url: str) -> tuple[int, dict[str, Any]]:
        with (
            serving(town, tmp_path, RELAY__FIRST__URL=url, NODE__FORK_TIMES=FAR) as served,
            ApiClient(of(served), f"sqlite:///{tmp_path}/own.sqlite3") as desk,
        ):
            assert readiness(served.url) == (200, {})
            desk.submit_wrap(desk.wrap(desk.wallet()))
            return readiness(served.url)

    async with proxy(town.facts["rpcUrl"], trouble) as one:
        found = await asyncio.to_thread(posted, one.url)
    assert found == (200, {"relay MEV Blocker": case.shown})


def of(served: Served) -> Town:
    return replace(served.town, facts=served.town.facts | {"baseUrl": served.url})


def readiness(url: str) -> tuple[int, dict[str, str]]:
    """Return the status of /readyz and its warnings.

    Without that of the clock: the blocks of a town in a hurry are ahead of it.
    """
    with loopback.Client(base_url=url, timeout=WITHIN_S) as stranger:
        answer = stranger.get("/readyz")
    warnings = answer.json().get("warnings", {})
    warnings.pop("clock", None)
    return answer.status_code, warnings
