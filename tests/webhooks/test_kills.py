"""The process is killed again and again between commit and delivery, in bad weather.

Every event arrives at least once, in order, with a stable id, and none is invented. The suite kills
a few times; `QUIETSWAP_WEBHOOK_KILLS=50` is the long form.
"""

import asyncio
import contextlib
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from standardwebhooks import Webhook as Verifier

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.webhooks.webhook import Webhook, WebhookRequest
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.factory import Storage
from quietswap.service.webhooks.deliver import WebhookCaller
from quietswap.service.webhooks.http import encoded_test_event
from quietswap.service.webhooks.manage import ManageWebhooks
from quietswap.service.webhooks.secrets import SecretBox
from tests.patient import open_storage
from tests.webhooks.killed_process import KEY_BYTES
from tests.webhooks.receiver import OK, Received, Receiver, answer, receiving
from tests.webhooks.senders import sender

KILLS = int(os.environ.get("QUIETSWAP_WEBHOOK_KILLS", "6"))
ROOT = Path(__file__).parents[2]
KEY = ApiKey("key-1", "a wallet", 0, None, "client-1")
GENEROUS_S = 90
LAST_VERSION = 5
"""An order has five changes after its first state."""
WHEN = ("after a commit", "before an answer", "after an answer")

pytestmark = pytest.mark.timeout(120 + 20 * KILLS)


@dataclass
class Weather:
    """What the receiver answers; it kills the process when its time has come."""

    luck: random.Random
    kill_at: str = ""
    left: int = 0
    is_fine: bool = False
    secrets: dict[str, str] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    killed: dict[str, int] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)

    async def answer(self, request: Received, writer: asyncio.StreamWriter) -> None:
        path = request.line.split()[1]
        Verifier(self.secrets[path]).verify(request.body, request.headers)
        if self._is_time("before an answer"):
            return
        kind = "ok" if self.is_fine else self.luck.choice(("ok", "ok", "500", "cut", "half"))
        self.answered[kind] = self.answered.get(kind, 0) + 1
        writer.write({"ok": OK, "500": answer(500), "cut": b"", "half": OK[:-1]}[kind])
        await writer.drain()
        if kind == "ok":
            self._is_time("after an answer")

    def committed(self) -> None:
        self._is_time("after a commit")

    def _is_time(self, when: str) -> bool:
        if when != self.kill_at or self.process is None:
            return False
        self.left -= 1
        if self.left > 0:
            return False
        self.process.kill()
        self.process = None
        self.killed[when] = self.killed.get(when, 0) + 1
        return True


@contextlib.asynccontextmanager
async def ended(weather: Weather) -> AsyncIterator[None]:
    """Leave no process behind."""
    try:
        yield
    finally:
        if weather.process is not None and weather.process.returncode is None:
            weather.process.kill()
            await weather.process.wait()


async def live(weather: Weather, path: Path, life: int, orders: int) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.webhooks.killed_process", str(path), str(life), str(orders),
        stdout=asyncio.subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    weather.process = process
    return process


async def watched(process: asyncio.subprocess.Process, weather: Weather) -> int:
    """Read the commits of a process until it ends; return its status."""
    assert process.stdout is not None
    async with asyncio.timeout(GENEROUS_S):
        while await process.stdout.readline():
            weather.committed()
        return await process.wait()


async def create(storage: Storage, receiver: Receiver) -> list[tuple[Webhook, str]]:
    """Create a webhook for all events and one for ends only."""
    caller = WebhookCaller(sender(), SecretBox([KEY_BYTES]), SystemClock())
    manage = ManageWebhooks(
        storage.webhooks, storage.events, caller, SystemClock(), encoded_test_event,
        max_per_client=2,
    )  # fmt: skip
    base = f"http://127.0.0.1:{receiver.port}"
    wanted = (WebhookRequest(f"{base}/all", (), None),
              WebhookRequest(f"{base}/ends", ("order.confirmed",), None))  # fmt: skip
    return [await manage.create(KEY, each) for each in wanted]


async def all_delivered(storage: Storage, last: str) -> None:
    """Return once all events are delivered, those of the order `last` included."""
    while True:
        order = await storage.orders.find(last)
        newest = (await storage.events.newest(["client-1"]))["client-1"]
        cursors = {one.cursor for one in await storage.webhooks.list("client-1")}
        if order is not None and order.version >= LAST_VERSION and cursors == {newest}:
            return
        await asyncio.sleep(0.05)


async def test_every_event_survives_kills(tmp_path: Path) -> None:
    weather = Weather(random.Random(17))
    path = tmp_path / "killed.db"
    storage = await open_storage(f"sqlite:///{path}", clock=SystemClock())
    await storage.keys.add(KEY, b"hash", Client("client-1", "a wallet", 0))
    async with receiving() as receiver, ended(weather):
        receiver.answering = weather.answer
        everything, ends = await create(storage, receiver)
        weather.secrets = {"/all": everything[1], "/ends": ends[1]}
        for life in range(KILLS):
            weather.kill_at = WHEN[life % len(WHEN)]
            weather.left = weather.luck.randint(1, 12)
            process = await live(weather, path, life, 3)
            assert await watched(process, weather) == -9
        weather.kill_at, weather.is_fine = "", True
        await live(weather, path, KILLS, 1)
        async with asyncio.timeout(GENEROUS_S):
            await all_delivered(storage, f"order-{1000 * KILLS:06}")
    assert sum(weather.killed.values()) == KILLS
    stored = {event.event_id: event for event in await storage.events.after("client-1", 0, 10**6)}
    check(receiver, "/all", set(stored))
    confirmed = {name for name, event in stored.items() if event.type == "order.confirmed"}
    check(receiver, "/ends", confirmed)
    tries = await storage.webhooks.deliveries(everything[0].webhook_id, 10**6, 0)
    assert {one.event_id for one in tries if one.error is None} == set(stored)
    print(  # noqa: T201  a campaign prints its figures
        f"{KILLS} kills {weather.killed}, {len(stored)} events, "
        f"{len(receiver.requests)} requests, answers {weather.answered}"
    )
    await storage.close()


def check(receiver: Receiver, path: str, expected: set[str]) -> None:
    """Compare what arrived on a path with the stored events."""
    sequences: list[int] = []
    bodies: dict[str, bytes] = {}
    for request in receiver.requests:
        if f" {path} " not in request.line:
            continue
        body = json.loads(request.body)
        identity = request.headers["webhook-id"]
        assert body["id"] == identity
        assert body["order"]["orderId"] in identity
        assert bodies.setdefault(identity, request.body) == request.body
        sequences.append(body["sequence"])
    assert set(bodies) == expected  # all of them, and none invented
    assert sequences == sorted(sequences)
