"""Two API processes on one PostgreSQL and one Redis: every request goes to the other process."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.databases import PostgresCluster, RedisServer
from tests.e2e.conftest import Town
from tests.e2e.test_delivery import Trader

TAKEOVER_S = 5.0


@dataclass
class Process:
    """One `quietswap serve` with its workers, in a process group of its own."""

    server: subprocess.Popen[bytes]
    api: httpx.Client

    def kill(self) -> None:
        """End it as a power cut would: no handler runs."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()


@dataclass
class Pair:
    """Two processes that share everything, and the key both know."""

    one: Process
    two: Process
    key: str


def environment(settings: str, database: str, redis: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if "QUIETSWAP" not in name}
    return clean | {
        "QUIETSWAP_SETTINGS": settings,
        "QUIETSWAP_STORAGE__URL": database,
        "QUIETSWAP_STORAGE__REDIS_URL": redis,
    }


def serve(variables: dict[str, str]) -> Process:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "quietswap", "serve", "--port", str(port)]
    server = subprocess.Popen(
        command, env=variables, start_new_session=True, stderr=subprocess.DEVNULL
    )
    api = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
    for _ in range(200):
        assert server.poll() is None
        try:
            if api.get("/healthz").status_code == 200:
                return Process(server, api)
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service does not answer")


@pytest.fixture(scope="module")
def stores() -> Iterator[tuple[str, str]]:
    postgres, redis = PostgresCluster(), RedisServer()
    yield asyncio.run(postgres.migrated()), redis.url
    redis.close()
    postgres.close()


@pytest.fixture
def pair(town: Town, stores: tuple[str, str]) -> Iterator[Pair]:
    variables = environment(town.facts["settingsFile"], *stores)
    create = [sys.executable, "-m", "quietswap", "keys", "create", "--json"]
    done = subprocess.run(create, env=variables, capture_output=True, text=True, check=True)
    key = json.loads(done.stdout)["key"]
    one = serve(variables)
    time.sleep(1)  # the first takes the lead: a real process has only real time
    two = serve(variables)
    for process in (one, two):
        process.api.headers["X-API-Key"] = key
    yield Pair(one, two, key)
    for process in (one, two):
        process.api.close()
        if process.server.poll() is None:
            process.kill()


def test_a_flow_across_both_survives_the_death_of_the_tracker(town: Town, pair: Pair) -> None:
    trader = Trader(town, town.facts["apiKey"])
    tokens = town.facts["tokens"]
    sell, buy = tokens["WETH"], tokens["DAI"]
    try:
        router = trader.ready_quote(sell, buy, 10**17)["dexRoute"]["target"]
        ask = {"sellToken": sell, "buyToken": buy, "sellAmount": str(10**17)}
        ask["userAddress"] = trader.address
        quote = pair.one.api.get("/api/v1/quote", params=ask).json()["data"]
        if quote["dexRoute"]["target"] != router:
            trader.approve(sell, quote["dexRoute"]["target"])
            quote = pair.one.api.get("/api/v1/quote", params=ask).json()["data"]
        body = trader.signed_order(quote)
        taken = pair.two.api.post("/api/v1/mev/orders", json=body)
        assert taken.status_code == 200, taken.text
        again = pair.one.api.post("/api/v1/mev/orders", json=body)
        assert again.json()["error"] == "SIGNATURE_REPLAY"
        order_id = taken.json()["data"]["order"]["orderId"]
        path = f"/api/v1/mev/orders/{order_id}"
        assert pair.one.api.get(path).json()["data"]["orderId"] == order_id
        pair.one.kill()
        assert _confirmed(pair.two.api, path)["status"] == "confirmed"
    finally:
        trader.node.http.close()


def _confirmed(api: httpx.Client, path: str) -> dict[str, Any]:
    """Return the record once terminal; the takeover and four blocks are all the time there is."""
    deadline = time.monotonic() + TAKEOVER_S + 10
    record: dict[str, Any] = {}
    while time.monotonic() < deadline:
        record = api.get(path).json()["data"]
        if record["status"] in ("confirmed", "failed", "cancelled"):
            break
        time.sleep(0.2)
    return record


def test_the_rate_limit_is_one_for_both(pair: Pair) -> None:
    def hit(number: int) -> int:
        process = pair.one if number % 2 else pair.two
        return process.api.get("/api/v1/mev/orders/none").status_code

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(hit, range(330)))
    assert statuses.count(429) == 30
    assert statuses.count(404) == 300
