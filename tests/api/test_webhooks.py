"""The endpoints of webhooks, with the real use cases and database behind them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.rules.clients import ApiKey
from quietswap.rules.orders.order_changes import OrderChange
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.api.operation import ApiOptions
from quietswap.service.server.app import create_api
from quietswap.service.server.webhooks import make_manager
from quietswap.service.settings import Settings, WebhooksConfig
from tests.api.documented import documented_client
from tests.api.scripted_use_cases import SECRET, ScriptedUseCases
from tests.api.scripted_use_cases import HandClock as ApiClock
from tests.storage.examples import T0
from tests.webhooks.receiver import always, answer
from tests.webhooks.scenes import KEY, PRIMARY, Scene, scene_on

PATH = "/api/v1/mev/webhooks"
OTHER = ApiKey("key-2", "other", T0, None, "client-2")


async def caller_of(scene: Scene) -> AsyncIterator[httpx.AsyncClient]:
    inside = ScriptedUseCases(ApiClock())
    inside.keys = {SECRET: KEY, "qs_other": OTHER}
    settings = Settings(webhooks=WebhooksConfig(max_per_client=2))
    real = make_manager(settings, scene.storage, scene.caller, scene.clock)
    app = create_api(replace(inside.use_cases(), webhooks=real), ApiOptions(), inside.clock)
    async with documented_client(app, **{"X-API-Key": SECRET}) as client:
        yield client


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene_on(f"sqlite:///{tmp_path}/api.db", PRIMARY) as found:
        yield found


@pytest.fixture
async def api(scene: Scene) -> AsyncIterator[httpx.AsyncClient]:
    async for client in caller_of(scene):
        yield client


def data(found: httpx.Response) -> Any:
    assert found.status_code == 200, found.text
    return found.json()["data"]


def refused(found: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = found.json()
    assert (found.status_code, body["error"]) == (status, code), body
    return body


async def test_a_webhook_from_its_creation_to_its_end(api: httpx.AsyncClient, scene: Scene) -> None:
    asked = {"url": scene.url, "events": ["order.failed", "order.confirmed"], "description": "mine"}
    made = data(await api.post(PATH, json=asked))
    assert made["secret"].startswith("whsec_")
    assert (made["state"], made["description"], made["url"]) == ("active", "mine", scene.url)
    assert made["events"] == ["order.confirmed", "order.failed"]
    shown = data(await api.get(f"{PATH}/{made['id']}"))
    assert shown == {
        "id": made["id"], "url": scene.url, "events": made["events"], "description": "mine",
        "state": "active", "sequence": 0, "failures": 0, "createdAt": made["createdAt"],
    }  # fmt: skip
    assert data(await api.get(PATH)) == {"webhooks": [shown]}
    tested = data(await api.post(f"{PATH}/{made['id']}/test"))
    assert (tested["delivered"], tested["status"], tested["type"]) == (True, 200, "webhook.test")
    scene.receiver.answering = always(answer(302, "Location: http://127.0.0.1/"))
    again = data(await api.post(f"{PATH}/{made['id']}/test"))
    assert (again["delivered"], again["status"]) == (False, 302)
    tries = data(await api.get(f"{PATH}/{made['id']}/deliveries"))["deliveries"]
    assert tries == [again, tested]
    page = {"limit": 1, "offset": 1}
    found = data(await api.get(f"{PATH}/{made['id']}/deliveries", params=page))["deliveries"]
    assert found == [tested]
    assert data(await api.delete(f"{PATH}/{made['id']}")) == {"id": made["id"], "deleted": True}
    refused(await api.get(f"{PATH}/{made['id']}"), 404, "WEBHOOK_NOT_FOUND")
    assert data(await api.get(PATH)) == {"webhooks": []}


async def test_the_secret_is_shown_once(api: httpx.AsyncClient, scene: Scene) -> None:
    made = data(await api.post(PATH, json={"url": scene.url}))
    hidden = made["secret"].removeprefix("whsec_")
    await api.post(f"{PATH}/{made['id']}/test")
    for path in (PATH, f"{PATH}/{made['id']}", f"{PATH}/{made['id']}/deliveries"):
        assert hidden not in (await api.get(path)).text


async def test_what_is_disabled_says_why(api: httpx.AsyncClient, scene: Scene) -> None:
    made = data(await api.post(PATH, json={"url": scene.url}))
    await scene.order()
    scene.receiver.answering = always(answer(500))
    await scene.deliver()
    shown = data(await api.get(f"{PATH}/{made['id']}"))
    assert (shown["state"], shown["failures"]) == ("active", 1)
    assert shown["nextTryAt"] == "2027-01-15T08:00:05.000Z"
    scene.clock.ms += 5000
    scene.receiver.answering = always(answer(410))
    await scene.deliver()
    shown = data(await api.get(f"{PATH}/{made['id']}"))
    assert (shown["state"], shown["disabledReason"]) == ("disabled", "gone")
    first, *_ = data(await api.get(f"{PATH}/{made['id']}/deliveries"))["deliveries"]
    assert (first["attempt"], first["error"]) == (2, "the receiver answered HTTP 410")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://hooks.example.com/", "http only to loopback"),
        ("ftp://127.0.0.1/", "it must begin with https://"),
        ("https://user:secret@hooks.example.com/", "user name or password"),
        ("https://[::ffff:127.0.0.1]/", "not public (IPv4-mapped)"),
        ("https://no-such-host.invalid/", "its host has no address"),
        ("https://0.0.0.0/", "not public (this network)"),
        ("https://\ud7ff\u00e9.example/", "ASCII"),
    ],
)
async def test_a_url_is_refused_with_the_reason(
    api: httpx.AsyncClient, scene: Scene, url: str, reason: str
) -> None:
    class Public:
        async def resolve(self, host: str, _client_id: str) -> object:
            from ipaddress import ip_address

            return (ip_address("93.184.215.14"),)

    if "example.com" in url:
        scene.caller.sender._resolver = Public()  # type: ignore[attr-defined]
    body = refused(await api.post(PATH, json={"url": url}), 400, "INVALID_PARAMETER")
    assert body["details"]["parameter"] == "url"
    assert reason in body["message"]


@pytest.mark.parametrize(
    ("changes", "parameter", "words"),
    [
        ({"events": ["order.done"]}, "events", "there is no such event; there are order.created"),
        ({"events": []}, "events", "leave it out for all events"),
        ({"events": [7]}, "events", "each event is a string"),
        ({"description": "x" * 201}, "description", "at most 200 printable characters"),
        ({"description": "a\u0000b"}, "description", "printable"),
    ],
)
async def test_other_faults_are_named(
    api: httpx.AsyncClient, scene: Scene, changes: Any, parameter: str, words: str
) -> None:
    asked = {"url": scene.url} | changes
    body = refused(await api.post(PATH, json=asked), 400, "INVALID_PARAMETER")
    assert body["details"]["parameter"] == parameter
    assert words in body["message"]


async def test_shapes_are_checked_like_other_bodies(api: httpx.AsyncClient, scene: Scene) -> None:
    refused(await api.post(PATH, json={}), 400, "MISSING_PARAMETER")
    refused(await api.post(PATH, json={"url": 5}), 422, "VALIDATION_ERROR")
    refused(await api.post(PATH, json={"url": scene.url, "events": "x"}), 422, "VALIDATION_ERROR")
    refused(await api.post(PATH, json={"url": scene.url, "event": []}), 422, "VALIDATION_ERROR")
    found = await api.get(f"{PATH}/whk_1/deliveries", params={"limit": 0})
    refused(found, 400, "INVALID_PARAMETER")


async def test_every_event_of_the_stream_can_be_chosen(
    api: httpx.AsyncClient, scene: Scene
) -> None:
    every = [change.value for change in OrderChange]
    made = data(await api.post(PATH, json={"url": scene.url, "events": every * 2}))
    assert made["events"] == every


async def test_the_number_of_webhooks_is_limited(api: httpx.AsyncClient, scene: Scene) -> None:
    for _ in range(2):
        data(await api.post(PATH, json={"url": scene.url}))
    body = refused(await api.post(PATH, json={"url": scene.url}), 409, "WEBHOOK_LIMIT_REACHED")
    assert body["details"] == {"limit": 2}
    other = {"X-API-Key": "qs_other"}
    data(await api.post(PATH, json={"url": scene.url}, headers=other))


async def test_another_client_sees_nothing(api: httpx.AsyncClient, scene: Scene) -> None:
    made = data(await api.post(PATH, json={"url": scene.url}))
    one, other = f"{PATH}/{made['id']}", {"X-API-Key": "qs_other"}
    assert data(await api.get(PATH, headers=other)) == {"webhooks": []}
    for method, path in (
        ("GET", one), ("DELETE", one), ("POST", f"{one}/test"), ("GET", f"{one}/deliveries"),
    ):  # fmt: skip
        found = await api.request(method, path, headers=other)
        assert refused(found, 404, "WEBHOOK_NOT_FOUND") == refused(
            await api.request(method, path.replace(made["id"], "whk_none"), headers=other),
            404,
            "WEBHOOK_NOT_FOUND",
        )
    data(await api.get(one))
    refused(await api.get(f"{PATH}/{'x' * 200}"), 404, "WEBHOOK_NOT_FOUND")


async def test_without_a_key_for_secrets_nothing_is_created(tmp_path: Path) -> None:
    async with scene_on(f"sqlite:///{tmp_path}/keyless.db") as keyless:
        async for api in caller_of(keyless):
            found = await api.post(PATH, json={"url": keyless.url})
            body = refused(found, 501, "WEBHOOKS_NOT_CONFIGURED")
            assert "webhooks.encryption_key" in body["suggestion"]
            assert data(await api.get(PATH)) == {"webhooks": []}


async def test_methods_of_a_path_with_several(api: httpx.AsyncClient) -> None:
    found = await api.put(PATH, json={})
    refused(found, 405, "METHOD_NOT_ALLOWED")
    assert sorted(found.headers["allow"].split(", ")) == ["GET", "HEAD", "POST"]
    assert (await api.head(PATH)).status_code == 200
    refused(await api.put(PATH, headers={"X-API-Key": "no"}), 401, "UNAUTHORIZED")


async def test_an_outage_of_the_database(
    api: httpx.AsyncClient, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any) -> None:
        raise StoreUnavailable("gone")

    for method in ("list", "find", "delete", "add"):
        monkeypatch.setattr(type(scene.storage.webhooks), method, down)
    for method, path in (("GET", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
        refused(await api.request(method, path), 503, "SERVICE_UNAVAILABLE")
    refused(await api.post(PATH, json={"url": scene.url}), 503, "SERVICE_UNAVAILABLE")
