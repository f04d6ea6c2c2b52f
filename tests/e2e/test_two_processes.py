"""Two processes on one PostgreSQL and one Redis: every request goes to the other process."""

import asyncio
import itertools
import json
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from quietswap.service.storage.postgres_locks import SERVER, AdvisoryLeaderLock
from tests import forked
from tests.databases import running_stores
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.spec.api_client import ETHER, ApiClient
from tests.spec.wire import data, refused
from tests.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.xdist_group("two-processes")

_numbers = itertools.count(1)


class Alternating(httpx.BaseTransport):
    """Sends each request to the next process that is up."""

    def __init__(self) -> None:
        self.processes: list[Served] = []
        self.asked: list[Served] = []
        self._turns = itertools.count()
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        process = self.processes[next(self._turns) % len(self.processes)]
        self.asked.append(process)
        request.url = request.url.copy_with(port=httpx.URL(process.url).port)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


class Across(ApiClient):
    """A desk whose every request goes to the other process."""

    def __init__(self, town: Town, url: str) -> None:
        self.way = Alternating()
        super().__init__(town, url)

    def client(self, secret: str | None) -> httpx.Client:
        client = super().client(secret)
        client._transport.close()
        client._transport = self.way
        return client


@dataclass
class Cluster:
    """Where processes start, each in a folder of its own."""

    town: Town
    folder: Path
    settings: dict[str, str]

    @contextmanager
    def process(self, **settings: str) -> Iterator[Served]:
        folder = self.folder / str(next(_numbers))
        folder.mkdir()
        with serving(self.town, folder, **self.settings | settings) as served:
            yield served

    def command(self, *words: str) -> str:
        """Run a command of an operator on the same stores and return what it prints."""
        named = {f"QUIETSWAP_{name}": text for name, text in self.settings.items()}
        done = forked.run(words, forked.without_settings() | named)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def stores() -> Iterator[dict[str, str]]:
    with running_stores() as (postgres, redis):
        url = asyncio.run(postgres.migrated())
        yield {"STORAGE__URL": url, "STORAGE__REDIS_URL": redis.url}


@pytest.fixture
def cluster(town: Town, tmp_path: Path, stores: dict[str, str]) -> Cluster:
    return Cluster(town, tmp_path, dict(stores))


@pytest.fixture
def desk(town: Town, stores: dict[str, str]) -> Iterator[Across]:
    with Across(town, stores["STORAGE__URL"]) as found:
        yield found


def role(process: Served) -> str:
    """Return what a process says it has to do with following orders."""
    found: str = process.town.api.get("/readyz").json()["tracker"]
    return found


def test_the_whole_flow_across_both_survives_the_death_of_the_tracker(
    cluster: Cluster, desk: Across
) -> None:
    with cluster.process() as one:
        desk.until(lambda: role(one) == "leading")
        with cluster.process() as two:
            desk.way.processes = [one, two]
            assert role(two) == "standing by"
            wallet = desk.wallet()
            with desk.no_blocks():
                swap = desk.swap(wallet)
                taken = data(desk.submit(swap))["order"]
                assert refused(desk.submit(swap), 409, "SIGNATURE_REPLAY")["details"] == {
                    "orderId": taken["orderId"]
                }
                assert [desk.status(taken["orderId"])["status"] for _ in range(2)] == (
                    ["submitted"] * 2
                )
                one.kill()
                desk.way.processes = [two]
                desk.mine(4)  # nobody may have been looking
            found = desk.follow(taken["orderId"])
            receipt = desk.rpc("eth_getTransactionReceipt", taken["txHash"])
            assert found["status"] == "confirmed"
            assert found["blockNumber"] == int(receipt["blockNumber"], 16)
            assert role(two) == "leading"
            with cluster.process() as three:
                desk.way.processes = [two, three]
                _wrap_and_look_back(desk, wallet, taken["orderId"])
                assert role(three) == "standing by"
                assert len(set(map(id, desk.way.asked))) == 3


def _wrap_and_look_back(desk: Across, wallet: Any, order_id: str) -> None:
    """The rest of the interface, each request answered by the other process than the last."""
    for _ in range(2):
        history = desk.history(wallet)
        assert (history["total"], history["orders"][0]["orderId"]) == (1, order_id)
        assert desk.status(order_id)["status"] == "confirmed"
    info = {"userAddress": wallet.address}
    before = data(desk.api.get("/api/v1/mev/wrap/info", params=info))["balances"]["weth"]
    wrap = desk.wrap(wallet)
    first = data(desk.submit_wrap(wrap))["order"]
    again = data(desk.submit_wrap(wrap))["order"]
    assert first == again
    desk.until(lambda: desk.rpc("eth_getTransactionReceipt", first["txHash"]))
    after = data(desk.api.get("/api/v1/mev/wrap/info", params=info))["balances"]["weth"]
    assert int(after["wei"]) - int(before["wei"]) == 3 * ETHER // 2


def test_the_rate_limit_is_one_for_both(cluster: Cluster, desk: Across) -> None:
    long = {"SERVER__RATE_WINDOW_S": "86400"}
    with cluster.process(**long) as one, cluster.process(**long) as two:
        desk.way.processes = [one, two]
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(
                lambda _: desk.api.get("/api/v1/mev/orders/none").status_code, range(330)
            )
        assert Counter(answers) == {404: 300, 429: 30}
        assert not asyncio.run(may_count_alone(cluster)), "a third budget for each key"


def test_only_a_restart_removes_redis(cluster: Cluster, tmp_path: Path) -> None:
    """Its worker would have to end before it is known whether others serve, too."""
    without = Path(cluster.town.facts["settingsFile"]).read_text("utf-8")
    line = f'[storage]\nredis_url = "{cluster.settings["STORAGE__REDIS_URL"]}"\n'
    file = tmp_path / "own.toml"
    file.write_text(without.replace("[storage]\n", line), "utf-8")
    with cluster.process(STORAGE__REDIS_URL="", SETTINGS=str(file)) as own:
        file.write_text(without, "utf-8")
        own.server.send_signal(signal.SIGHUP)
        said = "storage.redis_url: only a restart removes it"
        wait_until(lambda: said in str(own.lines()), "it was not refused")
        assert own.town.api.get("/readyz").status_code == 200


async def may_count_alone(cluster: Cluster) -> bool:
    """Return whether a process without Redis would be let serve from the database now."""
    lock = AdvisoryLeaderLock(cluster.settings["STORAGE__URL"], SERVER, patience_s=WITHIN_S)
    try:
        return await lock.acquire_or_renew()
    finally:
        await lock.release()


def test_posts_of_the_same_bytes_to_both_at_once_are_one_order(
    cluster: Cluster, desk: Across
) -> None:
    with cluster.process() as one, cluster.process() as two:
        desk.way.processes = [one, two]
        wallet = desk.wallet()
        swap = desk.swap(wallet)
        with ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda _: desk.submit(swap), range(20)))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 19}
        [taken] = [data(answer)["order"] for answer in answers if answer.status_code == 200]
        assert {a.json()["details"]["orderId"] for a in answers if a.status_code == 409} == {
            taken["orderId"]
        }
        assert desk.history(wallet)["total"] == 1
        assert [
            row["submissions"] for row in desk.given_to_relays() if row["hash"] == taken["txHash"]
        ] == [1]


def test_a_process_that_may_not_track_leaves_the_orders_to_the_one_that_may(
    cluster: Cluster, desk: Across
) -> None:
    with cluster.process(TRACKING__ENABLED="false") as api:
        desk.way.processes = [api]
        assert role(api) == "off"
        order = desk.order(desk.wallet())
        desk.mine(4)
        assert metrics(api) == {"quietswap_tracker_leads": 0, "quietswap_tracker_enabled": 0}
        assert desk.status(order["orderId"])["status"] == "submitted"
        with cluster.process() as tracker:
            assert desk.follow(order["orderId"])["status"] == "confirmed"
            assert role(tracker) == "leading"
            assert metrics(tracker) == {
                "quietswap_tracker_leads": 1,
                "quietswap_tracker_enabled": 1,
            }


def test_a_relay_that_one_process_finds_down_is_left_by_both(
    cluster: Cluster, desk: Across
) -> None:
    with cluster.process() as one, cluster.process() as two, desk.no_blocks():
        desk.way.processes = [one]
        swaps = [desk.swap(desk.wallet()) for _ in range(3)]
        wallet = desk.wallet()
        with desk.fault("html:429", "relay"):
            for swap in swaps:
                desk.submit(swap)
            desk.way.processes = [two]
            desk.until(lambda: _tier(desk, wallet) == 4)
        desk.way.processes = [one]
        desk.order(desk.wallet())
        desk.way.processes = [two]
        # The pause of 30 s may have to end first: fewer quotes than the client's 300 a minute.
        wait_until(lambda: _tier(desk, wallet) == 2, every_s=1)


def _tier(desk: Across, wallet: LocalAccount) -> int:
    tier: int = desk.quote(wallet)["mevProtection"]["providerMetadata"]["tier"]
    return tier


def metrics(process: Served) -> dict[str, int]:
    """Return what the metrics of a process say of its role."""
    lines = process.town.api.get("/metrics").text.splitlines()
    pairs = (line.split(" ") for line in lines if line.startswith("quietswap_tracker_"))
    return {name: int(float(value)) for name, value in pairs if not name.endswith("_blocks")}


def test_without_redis_a_second_host_refuses_to_start_and_says_why(
    cluster: Cluster, tmp_path: Path
) -> None:
    del cluster.settings["STORAGE__REDIS_URL"]
    with cluster.process() as first:
        with (
            pytest.raises(AssertionError, match="quietswap cannot start") as refusal,
            cluster.process(),
        ):
            pass
        assert "storage.redis_url is not set" in str(refusal.value)
        assert first.town.api.get("/readyz").status_code == 200
        first.kill()
        with cluster.process() as successor:
            assert successor.town.api.get("/readyz").status_code == 200


def test_a_key_that_is_revoked_works_in_neither(cluster: Cluster, desk: Across) -> None:
    made = json.loads(cluster.command("keys", "create", "--name", "leaked", "--json"))
    path = "/api/v1/mev/orders/none"

    def answers(client: httpx.Client, times: int) -> set[int]:
        return {client.get(path).status_code for _ in range(times)}

    with (
        cluster.process() as one,
        cluster.process() as two,
    ):
        desk.way.processes = [one, two]
        leaked = desk.client(made["key"])
        assert answers(leaked, 4) == {404}
        cluster.command("keys", "revoke", made["id"])
        desk.until(lambda: answers(leaked, 2) == {401})
        assert answers(leaked, 4) == {401}, "it never works again"
        assert answers(desk.api, 2) == {404}
