"""Stopping: what was begun is finished, the tracker hands over, and nothing takes ten seconds."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.databases import running_stores
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.e2e.silent import silence
from tests.e2e.test_delivery import Trader
from tests.waiting import WITHIN_S, wait_until

ORDERS = "/api/v1/mev/orders"
AT_ONCE = 32


@contextmanager
def slow_clients(served: Served) -> Iterator[None]:
    """Hold connections by half a head, half a body, an answer nobody reads, and by silence."""
    host, _, port = served.url.removeprefix("http://").rpartition(":")
    key = f"Host: localhost\r\nX-API-Key: {served.key}\r\n"
    body = "Content-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
    words = [
        f"GET {ORDERS}/a HTTP/1.1\r\n{key}",
        f"POST {ORDERS} HTTP/1.1\r\n{key}{body}",
        f"GET /openapi.json HTTP/1.1\r\n{key}\r\n" * 400,
        f"GET {ORDERS}/a HTTP/1.1\r\n{key}\r\n",
    ]
    with ExitStack() as stack:
        for text in words:
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port.rstrip("/"))))
            client.sendall(text.encode())
        yield


def test_a_quote_in_flight_gets_its_answer(town: Town, tmp_path: Path) -> None:
    with silence() as venue:
        only = {"QUOTES__SOURCES": "kyberswap", "SOURCE__KYBERSWAP__URL": venue.url}
        with serving(town, tmp_path, **only) as served, ThreadPoolExecutor(1) as threads:
            quote = threads.submit(served.town.quote)
            venue.until_asked("GET ")
            served.server.send_signal(signal.SIGTERM)
            until_logged(served, "tracker_stopped")
            venue.hang_up()
            served.stop()
            answer = quote.result(WITHIN_S)
        assert answer.status_code == 503
        [row] = answer.json()["details"]["sources"]
        assert (row["source"], row["outcome"]) == ("kyberswap", "unavailable")
        events = [line["event"] for line in served.lines()]
        assert events.index("tracker_stopped") < events.index("request_answered")


def test_every_answered_request_has_its_line(town: Town, tmp_path: Path) -> None:
    """Lines of requests may wait a moment for others: not for a process that has ended."""
    names = [f"last-{number}" for number in range(40)]
    with serving(town, tmp_path) as served:
        for name in names:
            served.town.api.get(f"{ORDERS}/none", headers={"X-Request-Id": name})
        served.stop()
        said = [line.get("request") for line in served.lines()]
        assert [name for name in said if name in names] == names


def test_an_order_in_flight_is_answered_and_followed_after_the_restart(
    town: Town, tmp_path: Path
) -> None:
    tokens = town.facts["tokens"]
    with serving(town, tmp_path) as served, ThreadPoolExecutor(1) as threads:
        trader = Trader(served.town, served.key)
        body = trader.signed_order(trader.ready_quote(tokens["WETH"], tokens["USDC"], 10**16))
        trader.node.http.close()
        town.fault("relay", "delay:2000")
        before = relayed(town)
        posting = threads.submit(served.town.api.post, ORDERS, json=body)
        wait_until(lambda: relayed(town) > before, "the relay was not asked")
        served.stop()
        town.heal("relay")
        answer = posting.result(WITHIN_S)
        assert answer.status_code == 200, answer.text
        headers = {"X-API-Key": served.key}
    path = f"{ORDERS}/{answer.json()['data']['order']['orderId']}"
    with serving(town, tmp_path) as served:
        assert followed(served.town.api, path, headers) == "confirmed"


def relayed(town: Town) -> int:
    """Return how many transactions the relay has been given."""
    return len(town.control.get("/relay").json()["relay"]["transactions"])


def followed(api: httpx.Client, path: str, headers: dict[str, str]) -> str:
    """Return the status of an order once it is terminal."""

    def status() -> str:
        found: str = api.get(path, headers=headers).json()["data"]["status"]
        return found

    wait_until(lambda: status() in {"confirmed", "failed", "cancelled"}, "it does not end")
    return status()


def test_slow_clients_hold_up_neither_the_end_nor_the_next_tracker(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with serving(town, first, "--workers", "2", **shared_stores) as leaving:
        until_logged(leaving, "tracker_started")
        with serving(town, second, **shared_stores) as staying, slow_clients(leaving):
            assert "tracker_started" not in [line["event"] for line in staying.lines()]
            leaving.server.send_signal(signal.SIGTERM)
            until_logged(staying, "tracker_started")
            leaving.stop()


def until_logged(served: Served, event: str) -> None:
    """Return once the service has logged an event."""
    wait_until(
        lambda: event in [line["event"] for line in served.lines()],
        lambda: served.log.read_text("utf-8"),
    )


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_database_that_is_away_does_not_hold_up_the_end(
    town: Town, tmp_path: Path, how: str
) -> None:
    """Neither for the requests that wait for it, nor for the connections that are to be closed."""
    with running_stores() as (postgres, redis), ThreadPoolExecutor(AT_ONCE) as threads:
        stores = {"STORAGE__URL": asyncio.run(postgres.migrated()), "STORAGE__REDIS_URL": redis.url}
        with serving(town, tmp_path, **stores) as served:

            def asked(number: int) -> int | None:
                """Return the status, None if the request came after the end had begun."""
                headers = {"X-API-Key": f"qs_{number}"}
                try:
                    return served.town.api.get(f"{ORDERS}/a", headers=headers).status_code
                except httpx.TransportError:
                    return None

            until_logged(served, "tracker_started")
            assert set(threads.map(asked, range(AT_ONCE))) == {401}
            postgres.kill() if how == "killed" else postgres.freeze()
            unserved = threads.map(asked, range(AT_ONCE, AT_ONCE + AT_ONCE // 2))
            served.stop()
            assert set(unserved) <= {503, None}


BLOCK = "eth_getBlockByNumber"
"""What the tracker asks first."""


def test_a_hanging_node_holds_up_no_quote(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    """The node hangs for this wallet alone: the checks of readiness ask it for the same tokens."""
    wallet = town.facts["wallets"][0]["address"].removeprefix("0x")
    with silence(wallet, town.facts["rpcUrl"]) as node, ThreadPoolExecutor(1) as threads:
        hanging = shared_stores | {"NODE__URLS": node.url, "NODE__TIMEOUT_S": "2"}
        with serving(town, tmp_path, "--workers", "2", TRACKING__ENABLED="false", **hanging) as it:
            quote = threads.submit(it.town.quote)
            node.until_asked(wallet)
            it.stop()
            assert quote.result(WITHIN_S).json()["error"] == "SERVICE_UNAVAILABLE"


def test_a_hanging_node_does_not_hold_the_tracker_up(
    town: Town, tmp_path: Path, shared_stores: dict[str, str]
) -> None:
    with silence() as node:
        hanging = shared_stores | {"NODE__URLS": node.url, "NODE__TIMEOUT_S": "300"}
        with serving(town, tmp_path, "--workers", "2", **hanging) as served:
            node.until_asked(BLOCK)
            served.stop()
