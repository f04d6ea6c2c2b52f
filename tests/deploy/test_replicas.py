"""The replicas of the compose file, run as processes on a real PostgreSQL and a real Redis.

Only addresses differ from `deploy/compose.yaml`: the node is the sandbox's.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from quietswap.sandbox.ports import free_port
from tests import forked, loopback
from tests.databases import PostgresCluster, RedisServer
from tests.deploy.test_compose import environment as of_compose
from tests.e2e.conftest import Town
from tests.waiting import WITHIN_S

WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
async def settings(
    postgres: PostgresCluster, redis_server: RedisServer, town: Town
) -> dict[str, str]:
    """The environment of a replica, without its port."""
    found = {
        "QUIETSWAP_NODE__URLS": town.facts["rpcUrl"],
        "QUIETSWAP_STORAGE__URL": await postgres.empty(),
        "QUIETSWAP_STORAGE__REDIS_URL": redis_server.url,
        "QUIETSWAP_SERVER__HOST": "127.0.0.1",
    }
    assert set(found) - {"QUIETSWAP_SERVER__HOST"} < set(of_compose("api"))
    outside = {  # readiness looks whether a relay and a source can be reached
        "QUIETSWAP_RELAY__FIRST__URL": town.facts["relayUrl"],
        "QUIETSWAP_SOURCE__KYBERSWAP__URL": town.facts["venues"]["kyberswap"],
    }
    return forked.without_settings() | of_compose("api") | found | outside


def run(settings: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run(words, settings)


@contextmanager
def replica(settings: dict[str, str]) -> Iterator[httpx.Client]:
    """Run one process and yield a client of it; it must end by itself when it is asked to."""
    port = free_port()
    process = forked.Forked(["serve", "--port", str(port)], settings)
    patient = httpx.HTTPTransport(retries=8)  # backs off from half a second to ten
    try:
        with loopback.Client(base_url=f"http://127.0.0.1:{port}", transport=patient) as client:
            yield client
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def test_an_empty_database_is_refused_in_words(settings: dict[str, str]) -> None:
    done = run(settings, "serve", "--port", str(free_port()))
    assert done.returncode != 0
    assert "run quietswap migrate" in done.stderr


def test_a_file_that_was_outgrown_is_taken_along(settings: dict[str, str], tmp_path: Path) -> None:
    old = f"sqlite:///{tmp_path / 'old.sqlite3'}"
    key = run(settings | {"QUIETSWAP_STORAGE__URL": old}, "keys", "create").stdout.strip()
    done = run(settings, "migrate", "--from", old)
    assert done.returncode == 0, done.stderr
    assert "copied 1 row of api_keys" in done.stdout
    with replica(settings) as client:
        answer = client.get("/api/v1/mev/orders/none", headers={"X-API-Key": key})
        assert answer.json()["error"] == "ORDER_NOT_FOUND"
    again = run(settings, "migrate", "--from", old)
    assert again.returncode == 1
    assert "the new database is not empty" in again.stderr
    assert "Traceback" not in again.stderr


def test_replicas_share_keys_and_rates_once_the_schema_is_there(settings: dict[str, str]) -> None:
    assert run(settings, "migrate").stdout.startswith("applied ")
    assert run(settings, "migrate").stdout == "nothing to do\n"
    key = run(settings, "keys", "create", "--name", "shared").stdout.strip()
    remaining = []
    with ExitStack() as stack:
        replicas = [stack.enter_context(replica(settings)) for _ in range(2)]
        for client in replicas:
            assert client.get("/healthz").status_code == 200
            ready = client.get("/readyz")
            assert (ready.status_code, ready.json()["ok"]) == (200, True)
            answer = client.get(
                "/api/v1/mev/wrap/info", params={"userAddress": WALLET}, headers={"X-API-Key": key}
            )
            assert answer.status_code == 200, answer.text
            remaining.append(int(answer.headers["X-RateLimit-Remaining"]))
            assert "quietswap_requests_total" in client.get("/metrics").text
    assert remaining[1] == remaining[0] - 1
