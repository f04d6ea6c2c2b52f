"""Name servers that hang take places from nobody but the client that named them."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from quietswap.rules.webhooks.webhook import (
    SenderBusy,
    WebhookRequest,
    WebhookState,
    WebhookUrlRefused,
)
from quietswap.service.server.webhooks import make_callers
from quietswap.service.settings import Settings, WebhooksConfig
from quietswap.service.webhooks import resolver as resolver_module
from quietswap.service.webhooks import sender as sender_module
from quietswap.service.webhooks.resolver import (
    MAX_LOOKUPS,
    PER_CLIENT,
    ResolutionFailed,
    SystemResolver,
    TooManyLookups,
)
from tests.storage.examples import HandClock
from tests.waiting import eventually
from tests.webhooks.receiver import receiving
from tests.webhooks.scenes import KEY, Scene
from tests.webhooks.senders import Silent, sender

HANGING = "hanging.example.com"
LOOPBACK = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]


@dataclass
class NameServers:
    """Names below HANGING get an answer only after `go`, and all others at once."""

    go: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def answer(self, host: str, *_: Any, **__: Any) -> list[Any]:
        self.asked.append(host)
        if host.endswith(HANGING):
            self.go.wait()
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return LOOPBACK


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServers]:
    servers = NameServers()
    monkeypatch.setattr(resolver_module.socket, "getaddrinfo", servers.answer)
    yield servers
    servers.go.set()


async def hang(resolver: SystemResolver, count: int, client_id: str) -> list[asyncio.Task[Any]]:
    """Begin lookups of different names that get no answer."""
    made = [
        asyncio.create_task(resolver.resolve(f"{client_id}-{number}.{HANGING}", client_id))
        for number in range(count)
    ]
    await asyncio.sleep(0)  # each one begins its lookup
    return made


async def test_a_client_takes_only_its_own_places(names: NameServers) -> None:
    resolver = SystemResolver()
    held = await hang(resolver, PER_CLIENT, "client-1")
    with pytest.raises(TooManyLookups, match="too many host names"):
        await resolver.resolve("a.example.com", "client-1")
    assert [str(found) for found in await resolver.resolve("a.example.com", "client-2")] == [
        "127.0.0.1"
    ]
    assert await resolver.resolve("127.0.0.1", "client-1")  # without a lookup
    names.go.set()
    assert len(await asyncio.gather(*held)) == PER_CLIENT
    assert await resolver.resolve("a.example.com", "client-1")


async def test_all_clients_together_have_a_limit(names: NameServers) -> None:
    resolver = SystemResolver()
    held = [
        task
        for number in range(MAX_LOOKUPS // PER_CLIENT)
        for task in await hang(resolver, PER_CLIENT, f"client-{number}")
    ]
    with pytest.raises(TooManyLookups):
        await resolver.resolve("a.example.com", "another")
    names.go.set()
    await asyncio.gather(*held)
    for _ in range(2 * MAX_LOOKUPS):  # each lookup gives its place back
        assert await resolver.resolve("a.example.com", "another")
        with pytest.raises(ResolutionFailed, match="Name or service not known"):
            await resolver.resolve("unknown.example.com", "another")


async def test_a_lookup_that_nobody_waits_for_keeps_its_place_until_its_end(
    names: NameServers,
) -> None:
    resolver = SystemResolver(max_lookups=1)
    (left,) = await hang(resolver, 1, "client-1")
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    with pytest.raises(TooManyLookups):
        await resolver.resolve("a.example.com", "client-2")
    names.go.set()

    async def has_place() -> bool:
        try:
            return bool(await resolver.resolve("a.example.com", "client-2"))
        except TooManyLookups:
            return False

    await eventually(has_place)


@pytest.mark.parametrize("kind", ["known", "unknown"])
async def test_the_same_name_joins_the_lookup_that_is_under_way(
    names: NameServers, kind: str
) -> None:
    resolver = SystemResolver(max_lookups=1)
    host = f"{kind}.{HANGING}"
    waiting = [
        asyncio.create_task(resolver.resolve(host, f"client-{number}")) for number in range(20)
    ]
    await asyncio.sleep(0)
    waiting[0].cancel()  # the one that began it
    names.go.set()
    _, *results = await asyncio.gather(*waiting, return_exceptions=True)
    assert names.asked == [host]
    if kind == "known":
        assert {str(address) for found in results for address in found} == {"127.0.0.1"}  # type: ignore[union-attr]
    else:
        assert {type(found) for found in results} == {ResolutionFailed}


async def test_a_name_that_dns_cannot_write_has_no_address() -> None:
    with pytest.raises(ResolutionFailed, match="no valid name"):
        await SystemResolver().resolve("a" * 64 + ".example.com", "client-1")


async def test_hanging_creations_delay_no_delivery(
    names: NameServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many clients as it takes hold every place of the creations."""
    monkeypatch.setattr(sender_module, "_RESOLVE_S", 0.05)
    callers = make_callers(Settings(webhooks=WebhooksConfig(allow_private=True)), HandClock())
    refused = await asyncio.gather(
        *(
            callers.requested.sender.check(f"https://n{n}.{HANGING}/", client_id=f"client-{n % 8}")
            for n in range(2 * MAX_LOOKUPS)
        ),
        return_exceptions=True,
    )
    assert {type(one) for one in refused} == {WebhookUrlRefused}
    with pytest.raises(WebhookUrlRefused, match="try again in a few seconds"):
        await callers.requested.sender.check("https://a.example.com/", client_id="another")
    async with receiving() as plain:
        url = f"http://localhost:{plain.port}/"
        assert await callers.delivering.sender.post(url, {}, b"{}", client_id="another") == 200


async def test_a_busy_sender_postpones_and_counts_no_failure(
    scene: Scene, names: NameServers
) -> None:
    url = f"http://localhost:{scene.receiver.port}/in"
    webhook, _ = await scene.manage.create(KEY, WebhookRequest(url, (), None))
    await scene.order()
    free, full = scene.caller, sender(SystemResolver(max_lookups=0))
    with pytest.raises(SenderBusy):
        await full.post(url, {}, b"{}")
    scene.caller = replace(free, sender=full)
    scene.worker = scene.worker_with()
    for _ in range(20):
        with capture_logs() as lines:
            await scene.deliver()
            await scene.deliver()  # too early
        assert [line["event"] for line in lines] == ["webhook_postponed"]
        state = await scene.state(webhook)
        assert (state.state, state.failures) == (WebhookState.ACTIVE, 0)
        assert state.next_try_ms == scene.clock.ms + 5000
        scene.clock.ms += 5000
    assert await scene.tries(webhook) == []
    scene.caller = free
    scene.worker = scene.worker_with()
    await scene.deliver()
    (tried,) = await scene.tries(webhook)
    assert (tried.attempt, tried.error) == (1, None)
    assert json.loads(scene.receiver.requests[0].body)["sequence"] == 1


async def test_a_failed_try_that_is_postponed_keeps_its_failures(scene: Scene) -> None:
    """A name server that hangs is the receiver's fault, and counts."""
    webhook, _ = await scene.create()
    await scene.order()
    scene.caller = replace(scene.caller, sender=sender(Silent(), wait=0.05))
    await scene.storage.database.change("UPDATE webhooks SET url = 'https://a.example.com/'")
    scene.worker = scene.worker_with()
    await scene.deliver()
    assert (await scene.state(webhook)).failures == 1
    full = sender(SystemResolver(max_lookups=0))
    scene.caller = replace(scene.caller, sender=full)
    scene.worker = scene.worker_with()
    scene.clock.ms += 5000
    await scene.deliver()
    state = await scene.state(webhook)
    assert (state.failures, state.next_try_ms) == (1, scene.clock.ms + 5000)
    assert len(await scene.tries(webhook)) == 1
