"""A whole sandbox as a process, and an ordinary HTTP client of its API."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests import keys, loopback, waiting
from tests.databases import PostgresCluster, RedisServer
from tests.forked import Forked
from tests.waiting import WITHIN_S

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"


VENUES = ("kyberswap", "velora", "sushi")
VENDORS_ONLY = {"QUOTES__SOURCES": ",".join(VENUES)}
"""Settings of `tests.e2e.serving` without the own source, where vendors' answers decide."""
PATIENT = ("--patience", str(WITHIN_S))
"""No upstream of the sandbox is slow, but the machine may be: a late answer is not a failed one."""


@dataclass
class Town:
    """The facts of `quietswap sandbox --json`, with clients for the API and the control address."""

    facts: dict[str, Any]
    api: httpx.Client
    control: httpx.Client

    def fault(self, part: str, fault: str) -> None:
        self.control.put(f"/faults/{part}", json={"fault": fault}).raise_for_status()

    def heal(self, *parts: str) -> None:
        for part in parts:
            self.control.delete(f"/faults/{part}").raise_for_status()

    def quote(self, wallet: int = 0, **changes: str) -> httpx.Response:
        ask = {
            "sellToken": WETH,
            "buyToken": USDC,
            "sellAmount": str(10**18),
            "userAddress": self.facts["wallets"][wallet]["address"],
        }
        return self.api.get("/api/v1/quote", params=ask | changes)

    def price(self) -> httpx.Response:
        ask = {"sellToken": WETH, "buyToken": USDC, "sellAmount": str(10**18)}
        return self.api.get("/api/v1/price", params=ask)


@contextmanager
def running_town(*options: str) -> Iterator[Town]:
    """Run `quietswap sandbox` for the length of a `with` block; it must end with status 0."""
    words = ["sandbox", "--json", "--free-ports", *PATIENT, *options]
    reading, writing = os.pipe()
    process = Forked(words, os.environ, stdout=writing, stderr=2)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:  # open to the end: the sandbox may print more
            facts = json.loads(told.readline())
            headers = {"X-API-Key": facts["apiKey"]}
            base, control_url = facts["baseUrl"], facts["controlUrl"]
            with (
                loopback.Client(base_url=base, headers=headers, timeout=WITHIN_S) as api,
                loopback.Client(base_url=control_url, timeout=WITHIN_S) as control,
            ):
                yield Town(facts, api, control)
    finally:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


@pytest.fixture(scope="package")
def town() -> Iterator[Town]:
    """One sandbox for all tests of a worker; a test heals the faults it switches on."""
    with running_town("--block-time", "0.5") as found:
        yield found


@pytest.fixture(autouse=True)
def budget_of_its_own(request: pytest.FixtureRequest) -> None:
    """Give a test that asks the sandbox a new key: on a fast machine many spend a shared one."""
    if "town" in request.fixturenames:
        found: Town = request.getfixturevalue("town")
        own = {"QUIETSWAP_SETTINGS": found.facts["settingsFile"]}
        found.api.headers["X-API-Key"] = keys.new_key(own)


@pytest.fixture(scope="package")
def store_servers() -> Iterator[tuple[PostgresCluster, RedisServer]]:
    postgres, redis = PostgresCluster(), RedisServer()
    yield postgres, redis
    redis.close()
    postgres.close()


@pytest.fixture
def shared_stores(store_servers: tuple[PostgresCluster, RedisServer]) -> dict[str, str]:
    """A new database and an empty Redis, as settings of `tests.e2e.serving`: for several processes.

    Processes of an earlier test would count in this one: reports stay for a minute.
    """
    postgres, redis = store_servers
    redis.command("FLUSHALL")
    return {"STORAGE__URL": asyncio.run(postgres.migrated()), "STORAGE__REDIS_URL": redis.url}


@pytest.fixture
def new_key(town: Town) -> Callable[[], str]:
    """Issue a fresh API key, as an operator does."""

    return lambda: keys.new_key({"QUIETSWAP_SETTINGS": town.facts["settingsFile"]})


@dataclass
class FailingOver:
    """A service on the documented URL of a primary and its standby, and both servers."""

    town: Town
    primary: PostgresCluster
    standby: PostgresCluster

    def lose_what_follows(self) -> None:
        """Let the standby have all commits up to now, and none of those that follow."""
        waiting.wait_until(
            lambda: self.standby.has_all_of(self.primary), "the standby does not follow"
        )
        self.standby.psql("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        waiting.wait_until(
            lambda: not self.standby.has_all_of(self.primary), "the standby still follows"
        )

    def fail_over(self) -> None:
        """Lose the primary and promote the standby."""
        self.primary.kill()
        self.standby.promote()


@pytest.fixture
def failing_over() -> Iterator[FailingOver]:
    primary = PostgresCluster()
    standby = primary.standby()
    url = asyncio.run(primary.migrated())
    both = f"{url},{standby.folder}&target_session_attrs=read-write"
    try:
        with running_town("--block-time", "0.5", "--storage-url", both) as town:
            yield FailingOver(town, primary, standby)
    finally:
        standby.close()
        primary.close()
