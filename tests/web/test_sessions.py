"""The session of the web page: its cookie, who may use it, for what, and how often."""

import re
from typing import Any

import httpx
import pytest

from quietswap.rules.clients import ApiKey
from quietswap.service.server.routes import OPERATIONS
from quietswap.service.storage.factory import Storage
from quietswap.service.web.cookie import PAGE_OPERATIONS
from quietswap.service.web.sessions import FIRST_MS, LASTS_MS
from tests import loopback
from tests.api.requests import CANCEL, HISTORY, ORDERS, QUOTE, RPC, USAGE, WEBHOOKS, ask
from tests.api.scripted_use_cases import WALLET, HandClock, ScriptedUseCases
from tests.web.conftest import Open

SESSION = "/web/session"
TOKENS = "/api/v1/tokens"


async def begin(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(SESSION, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


async def test_a_session_begins_with_a_cookie_that_no_script_reads(visit: Open) -> None:
    client = visit()
    answer = await client.post(SESSION, json={})
    [cookie] = answer.headers.get_list("set-cookie")
    assert re.fullmatch(
        rf"quietswap_session=qw_[0-9a-f]{{64}}; Path=/; Max-Age={FIRST_MS // 1000}; "
        "HttpOnly; SameSite=Strict",
        cookie,
    )
    assert "qw_" not in answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_by_tls_no_other_host_can_set_the_cookie(visit: Open) -> None:
    answer = await visit(secure=True).post(SESSION, json={})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-quietswap_session=qw_")
    assert cookie.endswith("; Path=/; Max-Age=86400; HttpOnly; SameSite=Strict; Secure")
    # a cookie without the prefix, which another host of the domain may have set, is not read
    fixed = cookie.partition(";")[0].removeprefix("__Host-")
    again = await visit(secure=True).get(TOKENS, headers={"cookie": fixed})
    assert again.status_code == 401


async def test_the_answer_has_what_the_page_needs(visit: Open) -> None:
    found = await begin(visit(), address=WALLET.lower())
    assert found["address"] == WALLET
    assert found["chainId"] == 1
    assert found["quoteSeconds"] == 30
    assert found["takenSeconds"] == 60
    assert found["version"] == "1.2.3"
    assert found["explorerUrl"] == "https://explorer.test"
    assert set(found["connected"]) == {"to", "data"}
    assert "address" not in await begin(visit())


@pytest.mark.parametrize("given", ["0x12", "", f"{WALLET}00", WALLET[:-1] + "G"])
async def test_an_account_is_an_address(visit: Open, given: str) -> None:
    answer = await visit().post(SESSION, json={"address": given})
    assert answer.status_code == 400
    assert answer.json()["error"] == "INVALID_ADDRESS"


async def test_a_session_that_goes_on_keeps_its_cookie_and_lasts(visit: Open) -> None:
    client = visit()
    await begin(client)
    before = client.cookies["quietswap_session"]
    answer = await client.post(SESSION, json={})
    assert client.cookies["quietswap_session"] == before
    assert f"Max-Age={LASTS_MS // 1000};" in answer.headers["set-cookie"]


async def test_an_ended_session_is_followed_by_a_new_one(visit: Open, clock: HandClock) -> None:
    client = visit()
    await begin(client)
    before = client.cookies["quietswap_session"]
    clock.ms += FIRST_MS
    assert (
        await client.get(TOKENS, headers={"cookie": f"quietswap_session={before}"})
    ).status_code == 401
    await client.post(SESSION, json={}, headers={"cookie": f"quietswap_session={before}"})
    assert client.cookies["quietswap_session"] != before
    assert (await client.get(TOKENS)).status_code == 200


async def test_each_session_is_a_client_of_its_own(visit: Open, inside: ScriptedUseCases) -> None:
    first, second = visit(), visit()
    await begin(first)
    await begin(second)
    for client in (first, second):
        assert (await ask(client, HISTORY)).status_code == 200
    one, other = (question[0] for question in inside.asked)
    assert isinstance(one, ApiKey)
    assert one.client_id != other.client_id


@pytest.mark.parametrize("path", [QUOTE, HISTORY, f"{ORDERS}/ord_1", RPC, TOKENS])
async def test_a_session_may_do_what_the_page_does(visit: Open, path: str) -> None:
    client = visit()
    await begin(client)
    assert (await ask(client, path)).status_code == 200


@pytest.mark.parametrize(
    "path", [ORDERS, USAGE, WEBHOOKS, "/api/v1/mev/stats", f"{HISTORY}/export"]
)
async def test_a_session_may_do_nothing_else(visit: Open, path: str) -> None:
    client = visit()
    await begin(client)
    with_cookie = await ask(client, path)
    client.cookies.clear()
    assert with_cookie.status_code == 401
    assert with_cookie.content == (await ask(client, path)).content


def test_every_operation_of_the_page_exists() -> None:
    assert {operation.name for operation in OPERATIONS} >= PAGE_OPERATIONS


FOREIGN = [
    {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    {"sec-fetch-site": "same-site", "origin": "http://edge:3000"},
    {"sec-fetch-site": "none"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "same-origin", "origin": "http://edge.evil.example"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_page_of_another_origin_has_no_use_of_the_cookie(
    visit: Open, headers: dict[str, str]
) -> None:
    client = visit()
    await begin(client)
    client.headers.pop("origin")
    client.headers.pop("sec-fetch-site")
    for request in (
        client.build_request("GET", TOKENS, headers=headers),
        client.build_request("POST", CANCEL, json={}, headers=headers),
        client.build_request("POST", RPC, json={"wallets": [WALLET]}, headers=headers),
        client.build_request("POST", SESSION, json={}, headers=headers),
    ):
        answer = await client.send(request)
        assert answer.status_code == 401, request
        assert "set-cookie" not in answer.headers


async def test_an_old_browser_names_its_origin_with_what_changes_something(visit: Open) -> None:
    client = visit()
    await begin(client)
    client.headers.pop("sec-fetch-site")
    assert (await client.post(RPC, json={"wallets": [WALLET]})).status_code == 200
    client.headers.pop("origin")
    assert (await client.get(TOKENS)).status_code == 200
    assert (await client.post(RPC, json={"wallets": [WALLET]})).status_code == 401


async def test_two_of_a_header_are_not_believed(visit: Open) -> None:
    client = visit()
    await begin(client)
    headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-origin")]
    client.headers.pop("sec-fetch-site")
    assert (await client.get(TOKENS, headers=headers)).status_code == 401


async def test_a_session_is_no_api_key_and_a_key_no_session(
    visit: Open, storage: Storage, clock: HandClock
) -> None:
    client = visit()
    await begin(client)
    secret = client.cookies["quietswap_session"]
    client.cookies.clear()
    assert (await client.get(TOKENS, headers={"x-api-key": secret})).status_code == 401
    key = ApiKey("key_1", "", clock.now_ms(), None, "client_1")
    from quietswap.rules.clients import Client
    from quietswap.service.clients.credentials import hash_secret

    await storage.keys.add(key, hash_secret("qw_key"), Client("client_1", "", clock.now_ms()))
    await storage.keys.add(
        ApiKey("key_2", "", clock.now_ms(), None, "client_1"), hash_secret("qs_key")
    )
    for cookie in ("qw_key", "qs_key", "", "qw_" + "0" * 4000, '"', "qw_\\"):
        headers = {"cookie": f"quietswap_session={cookie}"}
        assert (await client.get(TOKENS, headers=headers)).status_code == 401
    assert (await client.get(TOKENS, headers={"x-api-key": "qs_key"})).status_code == 200


async def test_an_api_key_goes_before_the_cookie(visit: Open) -> None:
    client = visit()
    await begin(client)
    assert (await client.get(TOKENS, headers={"x-api-key": "qs_wrong"})).status_code == 401


async def test_one_address_makes_so_many_requests(visit: Open, clock: HandClock) -> None:
    first, second = visit(requests=6), visit(requests=6)
    await begin(first)
    await begin(second)
    for _ in range(4):
        assert (await first.get(TOKENS)).status_code == 200
    for client in (first, second):
        answer = await client.get(TOKENS)
        assert answer.status_code == 429
        assert answer.json()["error"] == "RATE_LIMIT_EXCEEDED"
        assert (await client.post(SESSION, json={})).status_code == 429
    other = visit("192.0.2.2", requests=6)
    await begin(other)
    clock.ms += 60_000
    assert (await first.get(TOKENS)).status_code == 200


async def test_one_session_has_the_rate_of_a_key(visit: Open) -> None:
    client = visit(requests=1000)
    await begin(client)
    answers = [await client.get(TOKENS) for _ in range(301)]
    assert {answer.status_code for answer in answers[:300]} == {200}
    assert answers[300].status_code == 429


async def test_one_address_begins_few_sessions_at_a_time(visit: Open, clock: HandClock) -> None:
    """49 in half a second used the address up: its next visitor was refused for a day."""
    mine = visit(requests=1000)
    await begin(mine)
    answers = [await visit(requests=1000).post(SESSION, json={}) for _ in range(60)]
    assert [answer.status_code for answer in answers] == [200] * 19 + [429] * 41
    assert "in a minute" in answers[-1].json()["message"]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    await begin(visit("192.0.2.2", requests=1000))
    clock.ms += 60_000
    late = visit(requests=1000)
    await begin(late)
    assert (await late.get(TOKENS)).status_code == 200
    await begin(mine)
    assert (await mine.get(TOKENS)).status_code == 200, "the page goes on with a new session"


async def test_a_guessed_cookie_counts_for_the_address(visit: Open) -> None:
    client = visit(requests=3)
    headers = {"cookie": f"quietswap_session=qw_{'0' * 64}"}
    codes = [(await client.get(TOKENS, headers=headers)).status_code for _ in range(4)]
    assert codes == [401, 401, 401, 429]


@pytest.mark.parametrize(
    ("method", "body", "kind", "status"),
    [
        ("GET", None, None, 405),
        ("POST", b"{}", "text/plain", 415),
        ("POST", b"[]", "application/json", 422),
        ("POST", b"{" + b" " * 2000 + b"}", "application/json", 413),
        ("POST", b'{"address": 1}', "application/json", 422),
    ],
)
async def test_what_is_no_request_for_a_session(
    visit: Open, method: str, body: bytes | None, kind: str | None, status: int
) -> None:
    headers = {"content-type": kind} if kind else {}
    answer = await visit().request(method, SESSION, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["ok"] is False
    assert "set-cookie" not in answer.headers


async def test_without_the_page_nothing_of_it_is_there(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    from quietswap.service.api.operation import ApiOptions
    from quietswap.service.server.app import create_api

    app = create_api(inside.use_cases(), ApiOptions(), clock)
    transport = httpx.ASGITransport(app=app)
    async with loopback.AsyncClient(transport=transport, base_url="http://edge") as client:
        for path in ("/", SESSION, "/assets/app.js"):
            assert (await client.get(path)).status_code == 404
