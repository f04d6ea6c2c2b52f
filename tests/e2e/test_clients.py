"""Clients of a running service: rotation under load, a disabled client, limits over processes."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import forked, loopback
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.spec.api_client import ApiClient
from tests.spec.wire import data, refused

PATIENCE_S = 60.0
pytestmark = pytest.mark.timeout(400)


class Office:
    """The operator's commands on one database."""

    def __init__(self, town: Town, url: str) -> None:
        self._environment = forked.without_settings() | {
            "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
            "QUIETSWAP_STORAGE__URL": url,
        }

    def __call__(self, *words: str) -> Any:
        """Run one command with --json and return what it prints."""
        done = forked.run([*words, "--json"], self._environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class Preparer(ApiClient):
    """A client of the service of a test, with a key that the office made."""

    def __init__(self, town: Town, url: str, base_url: str, secret: str) -> None:
        self._base_url = base_url
        super().__init__(town, url)
        self.secret = secret
        self.api = self.client(secret)

    def client(self, secret: str | None) -> httpx.Client:
        client = super().client(secret)
        client.base_url = httpx.URL(self._base_url)
        return client


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)


@pytest.fixture
def served(town: Town, tmp_path: Path) -> Iterator[Served]:
    with serving(town, tmp_path, SERVER__RATE_LIMIT="1000000") as found:
        yield found


@pytest.fixture
def office(town: Town, tmp_path: Path) -> Office:
    return Office(town, f"sqlite:///{tmp_path / 'own.sqlite3'}")


def test_a_key_is_rotated_under_load_with_open_orders_and_nothing_is_lost(
    town: Town, served: Served, office: Office, tmp_path: Path
) -> None:
    client = office("clients", "create", "rotating")
    old = office("keys", "create", "--client", client["id"])
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    with Preparer(town, url, served.url, old["key"]) as preparer, preparer.no_blocks():
        wallet = preparer.wallet()
        order = preparer.order(wallet)
        statuses: Counter[int] = Counter()
        stop: list[bool] = []

        def load(secret: str) -> None:
            with preparer.client(secret) as api:
                while not stop:
                    for path in (f"orders/{order['orderId']}", f"orders/user/{wallet.address}"):
                        statuses[api.get(f"/api/v1/mev/{path}").status_code] += 1

        with ThreadPoolExecutor(4) as threads:
            loads = [threads.submit(load, old["key"]) for _ in range(2)]
            until(lambda: statuses.total() > 50)
            new = office("keys", "rotate", old["id"], "--overlap", "1h")
            loads += [threads.submit(load, new["key"]) for _ in range(2)]
            enough = statuses.total() + 200
            until(lambda: statuses.total() > enough)
            stop.append(True)
            assert [one.result(PATIENCE_S) for one in loads] == [None] * 4
        assert set(statuses) == {200}, "no request failed within the overlap"
        preparer.api = preparer.client(new["key"])
        assert preparer.history(wallet)["orders"][0]["orderId"] == order["orderId"]
        second = preparer.order(preparer.wallet())
        preparer.api = preparer.client(old["key"])
        assert preparer.status(second["orderId"])["status"] in ("submitted", "mining")
        preparer.api = preparer.client(new["key"])
        third = office("keys", "rotate", new["id"], "--overlap", "0m")
        until(lambda: preparer.api.get("/api/v1/mev/usage").status_code == 401)
        body = refused(preparer.api.get("/api/v1/mev/usage"), 401, "UNAUTHORIZED")
        assert body["details"] == {"reason": "EXPIRED"}
        preparer.api = preparer.client(third["key"])
        preparer.mine(5)
        for one in (order, second):
            preparer.until(lambda o=one: preparer.status(o["orderId"])["status"] == "confirmed")
        assert preparer.history(wallet)["total"] == 1
        assert data(preparer.api.get("/api/v1/mev/usage"))["ordersToday"] == 2
    keys = {key["id"]: key for key in office("keys", "list", "--client", "rotating")}
    assert set(keys) == {old["id"], new["id"], third["id"]}
    served.stop()
    uses = {key["id"]: key["lastUsedAt"] for key in office("keys", "list")}
    assert None not in {uses[identity] for identity in keys}, "stored at the end at the latest"


def test_the_open_orders_of_a_disabled_client_are_still_followed(
    town: Town, served: Served, office: Office, tmp_path: Path
) -> None:
    client = office("clients", "create", "leaving")
    key = office("keys", "create", "--client", "leaving")
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    with Preparer(town, url, served.url, key["key"]) as preparer:
        with preparer.no_blocks():
            order = preparer.order(preparer.wallet())
            gone = office("clients", "disable", client["id"])
            assert gone["openOrders"] == 1
            until(lambda: preparer.api.get("/api/v1/mev/usage").status_code == 401)
            body = refused(preparer.api.get("/api/v1/mev/usage"), 401, "UNAUTHORIZED")
            assert body["details"] == {"reason": "CLIENT_DISABLED"}
        until(lambda: office("orders", "show", order["orderId"])["status"] == "confirmed")
        office("clients", "enable", client["id"])
        until(lambda: preparer.api.get("/api/v1/mev/usage").status_code == 200)
        assert preparer.status(order["orderId"])["status"] == "confirmed"
    events = [entry["event"] for entry in office("audit", "list", "--since", "1h")]
    assert events == [
        "client_created",
        "key_created",
        "client_disabled",
        "client_enabled",
    ]


def test_the_value_of_a_swap_comes_from_its_quote(
    town: Town, served: Served, office: Office, tmp_path: Path
) -> None:
    client = office("clients", "create", "small")
    key = office("keys", "create", "--client", "small")
    url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    with Preparer(town, url, served.url, key["key"]) as preparer:
        wallet = preparer.wallet()
        swap = preparer.swap(wallet)
        office("clients", "limit", client["id"], "--usd-per-swap", "100", "--usd-per-day", "5000")
        until(lambda: data(preparer.api.get("/api/v1/mev/usage"))["usdPerSwap"] == "100.00")
        body = refused(preparer.submit(swap), 403, "SWAP_VALUE_LIMIT_EXCEEDED")
        assert body["details"]["limitUsd"] == "100.00"
        assert 100 < float(body["details"]["valueUsd"]) < 1_000, "0.1 WETH"
        refused(preparer.ask_quote(wallet), 403, "SWAP_VALUE_LIMIT_EXCEEDED")
        assert preparer.history(wallet)["total"] == 0
        office("clients", "limit", client["id"], "--usd-per-swap", "none")
        until(lambda: data(preparer.api.get("/api/v1/mev/usage"))["usdPerSwap"] is None)
        data(preparer.submit(swap))
        used = data(preparer.api.get("/api/v1/mev/usage"))["usdPerDay"]
        assert used["used"] == body["details"]["valueUsd"]
        office("clients", "limit", client["id"], "--wallet", "0x" + "11" * 20)
        until(lambda: data(preparer.api.get("/api/v1/mev/usage"))["wallets"])
        refused(preparer.ask_quote(wallet), 403, "WALLET_NOT_ALLOWED")
        lines = town_metrics(served)
    assert f'quietswap_client_refusals_total{{client="{client["id"]}",code="WALLET' in lines
    assert f'quietswap_client_requests_total{{client="{client["id"]}",endpoint="usage"}}' in lines


def town_metrics(served: Served) -> str:
    return served.town.api.get("/metrics").text


def test_64_requests_to_two_processes_at_once_meet_the_limits_exactly(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    office = Office(town, shared_stores["STORAGE__URL"])
    client = office("clients", "create", "parallel")
    key = office("keys", "create", "--client", client["id"])
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with (
        serving(town, folders[0], **shared_stores) as one,
        serving(town, folders[1], **shared_stores) as two,
        Preparer(town, shared_stores["STORAGE__URL"], one.url, key["key"]) as preparer,
    ):
        wallets = [preparer.wallet() for _ in range(8)]
        wraps = [preparer.wrap(wallet) for wallet in wallets]
        office("clients", "limit", client["id"], "--open-orders", "3", "--quotes-per-day", "30")
        way = [
            preparer.api,
            loopback.Client(base_url=two.url, headers=preparer.api.headers, timeout=60),
        ]
        for api in way:
            until(lambda a=api: data(a.get("/api/v1/mev/usage"))["openOrders"]["limit"] == 3)
        ask = {"operation": "wrap", "amount": "1", "userAddress": wallets[0].address}

        def post(number: int) -> httpx.Response:
            if number < 8:
                return way[number % 2].post("/api/v1/mev/wrap/order", json=wraps[number].body)
            return way[number % 2].post("/api/v1/mev/wrap/quote", json=ask)

        with preparer.no_blocks(), ThreadPoolExecutor(32) as threads:
            answers = list(threads.map(post, range(64)))
        orders = Counter(answer.status_code for answer in answers[:8])
        quotes = Counter(answer.status_code for answer in answers[8:])
        assert orders == {200: 3, 409: 5}
        assert quotes == {200: 30 - len(wraps), 429: 56 - 30 + len(wraps)}
        assert {a.json().get("error") for a in answers[8:]} == {None, "QUOTE_LIMIT_EXCEEDED"}
        used = data(preparer.api.get("/api/v1/mev/usage"))
        assert (used["openOrders"]["used"], used["quotesPerDay"]["left"]) == (3, 0)
        way[1].close()
