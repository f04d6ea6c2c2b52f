"""The event stream of real processes: kills, ends, reorganisations, and two processes."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.client import QuietswapClient
from quietswap.client.flows.polling import PollingPolicy
from tests import loopback
from tests.databases import running_stores
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.spec.api_client import ApiClient
from tests.waiting import WITHIN_S

EVENTS = "/api/v1/mev/events"
GENEROUS_S = 60.0
WHOLE = ["order.created", "order.submitted", "order.mining", "order.confirmed"]


class Follower:
    """Reads a stream in a thread, from a place or from now on."""

    def __init__(self, url: str, secret: str, after: int | None = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.place: int | None = after
        self.ended_cleanly = False
        self._opened = threading.Event()
        self._headers = {"X-API-Key": secret}
        if after is not None:
            self._headers["Last-Event-ID"] = str(after)
        self._url = url + EVENTS
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        assert self._opened.wait(GENEROUS_S)

    def _read(self) -> None:
        try:
            with loopback.stream(
                "GET", self._url, headers=self._headers, timeout=WITHIN_S
            ) as answer:
                assert answer.status_code == 200
                for line in answer.iter_lines():
                    self._line(line)
            self.ended_cleanly = True
        except httpx.TransportError:
            pass

    def _line(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "id":
            self.place = int(value)
            self._opened.set()
        elif name == "data":
            self.events.append(json.loads(value))

    def until(self, there: Callable[[Sequence[str]], bool]) -> list[str]:
        """Wait until the types of the events fulfil a condition, and return them."""
        end = time.monotonic() + GENEROUS_S
        while not there(self.types):
            assert time.monotonic() < end, "\n".join(map(str, self.events))
            time.sleep(0.02)
        return self.types

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def sequences(self) -> list[int]:
        return [event["sequence"] for event in self.events]

    def wait(self) -> None:
        """Wait until the stream has ended."""
        self._thread.join(GENEROUS_S)
        assert not self._thread.is_alive()


@contextmanager
def desk_of(served: Served, database: str | None = None) -> Iterator[ApiClient]:
    database = database or f"sqlite:///{served.log.parent / 'own.sqlite3'}"
    facts = {**served.town.facts, "baseUrl": served.url}
    with ApiClient(Town(facts, served.town.api, served.town.control), database) as desk:
        yield desk


def seen(*wanted: str) -> Callable[[Sequence[str]], bool]:
    return lambda types: all(types.count(one) >= wanted.count(one) for one in wanted)


def test_an_order_is_told_step_by_step_and_taken_back(town: Town, tmp_path: Path) -> None:
    """A reorganisation after the end was delivered: it is taken back, then comes the new end."""
    with serving(town, tmp_path) as served, desk_of(served) as desk:
        stream = Follower(served.url, desk.secret)
        wallet = desk.wallet()
        with desk.no_blocks():
            order = desk.order(wallet)["orderId"]
            desk.mine(3)
            stream.until(seen("order.confirmed"))
            desk.town.control.post("/reorg", json={"depth": 3}).raise_for_status()
            desk.mine(1)
            stream.until(seen("order.reorganised"))
            desk.mine(3)
            stream.until(seen("order.confirmed", "order.confirmed"))
        events = stream.events
        undone = stream.types.index("order.reorganised")
        first = events[stream.types.index("order.confirmed")]
        assert stream.types[undone - 1] == "order.confirmed"
        assert stream.types[-1] == "order.confirmed"
        assert events[undone]["order"]["status"] == "submitted"
        assert "blockNumber" not in events[undone]["order"]
        assert first["order"]["blockNumber"] <= events[-1]["order"]["blockNumber"]
        assert first["finality"] == {"depth": first["finality"]["depth"], "finalized": False}
        assert first["finality"]["depth"] >= 2
        assert {event["order"]["orderId"] for event in events} == {order}
        assert stream.sequences == list(range(1, len(events) + 1))
        assert events[-1]["order"] == desk.status(order)
        served.stop()
        stream.wait()
        assert stream.ended_cleanly


def test_a_stream_resumes_without_a_gap_over_kills(town: Town, tmp_path: Path) -> None:
    """Each process is killed while its stream is open; what it told is not told again."""
    url = f"sqlite:///{tmp_path / 'shared.sqlite3'}"
    secret, place, told, posted = "", 0, [], set[str]()
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with (
            serving(town, folder, STORAGE__URL=url) as served,
            desk_of(served, url) as desk,
        ):
            secret = secret or desk.secret
            desk.api = desk.client(secret)
            stream = Follower(served.url, secret, place)
            posted |= {desk.order(desk.wallet())["orderId"] for _ in range(2)}
            stream.until(lambda types: len(types) >= 5)
            served.kill()
            stream.wait()
        told += stream.events
        assert stream.place is not None
        place = stream.place
    with serving(town, tmp_path, STORAGE__URL=url) as served:
        last = Follower(served.url, secret, place)
        last.until(lambda _: _all_ended(told + last.events, posted))
        served.stop()
        last.wait()
    told += last.events
    assert [event["sequence"] for event in told] == list(range(1, len(told) + 1))
    assert len({event["id"] for event in told}) == len(told)
    assert {event["order"]["orderId"] for event in told} == posted
    for order in posted:
        steps = [event["type"] for event in told if event["order"]["orderId"] == order]
        assert steps[0] == "order.created"
        assert "order.confirmed" in steps


def _all_ended(events: Sequence[dict[str, Any]], orders: set[str]) -> bool:
    return orders == {e["order"]["orderId"] for e in events if e["type"] == "order.confirmed"}


def test_the_client_follows_by_events(town: Town, tmp_path: Path) -> None:
    """It never waits for a poll: an hour would pass before the first one."""
    pauses: list[float] = []
    with serving(town, tmp_path) as served, desk_of(served) as desk:
        order = desk.order(desk.wallet())["orderId"]
        policy = PollingPolicy(interval_s=3600, patience_s=7200)
        with QuietswapClient(
            served.url, desk.secret, polling=policy, sleep=pauses.append
        ) as client:
            states: list[str] = []
            record = client.follow(order, lambda record: states.append(record.status))
        assert record.status == states[-1] == "confirmed"
        assert all(pause <= 0.2 for pause in pauses)


@pytest.fixture
def stores() -> Iterator[dict[str, str]]:
    with running_stores() as (postgres, redis):
        url = asyncio.run(postgres.migrated())
        yield {"STORAGE__URL": url, "STORAGE__REDIS_URL": redis.url}


def test_a_stream_of_one_process_has_the_events_of_the_other(
    town: Town, tmp_path: Path, stores: dict[str, str]
) -> None:
    """One process takes the orders and follows them, the stream is open at the other one."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        serving(town, tmp_path / "one", **stores) as one,
        serving(town, tmp_path / "two", **stores, TRACKING__ENABLED="false") as two,
        ApiClient(
            Town({**town.facts, "baseUrl": one.url}, town.api, town.control),
            stores["STORAGE__URL"],
        ) as desk,
    ):
        stream = Follower(two.url, desk.secret)
        orders = {desk.order(desk.wallet())["orderId"] for _ in range(3)}
        stream.until(lambda types: types.count("order.confirmed") >= 3)
        assert stream.sequences == list(range(1, len(stream.events) + 1))
        assert {event["order"]["orderId"] for event in stream.events} == orders
        for order in orders:
            steps = [e["type"] for e in stream.events if e["order"]["orderId"] == order]
            assert [step for step in steps if step != "order.finalized"] == WHOLE
        two.stop()
        stream.wait()
        assert stream.ended_cleanly
