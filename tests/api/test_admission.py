"""Keys, budgets and the headers that tell of them."""

from ipaddress import ip_network
from typing import Any

import httpx
import pytest

from quietswap.rules.clients import ApiKey
from quietswap.service.api.operation import ApiOptions, RateLimits
from quietswap.service.server.app import create_api
from tests import loopback
from tests.api import requests
from tests.api.scripted_use_cases import SECRET, HandClock, ScriptedUseCases
from tests.api.test_envelope import refused
from tests.stored_orders import NOW_MS


async def test_without_a_key_nobody_comes_in(
    stranger: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    for path in requests.ALL:
        answer = await requests.ask(stranger, path)
        refused(answer, 401, "UNAUTHORIZED")
        assert "X-API-Key" in answer.headers["www-authenticate"]
    assert inside.asked == []


@pytest.mark.parametrize("secret", ["qs_wrong", "", " ", "x" * 100_000, "\xff\xfe", SECRET + " x"])
async def test_a_key_that_is_not_right_is_refused(stranger: httpx.AsyncClient, secret: str) -> None:
    headers = {"X-API-Key": secret.encode("latin-1")}
    refused(await stranger.get(requests.ORDER, headers=headers), 401, "UNAUTHORIZED")


async def test_the_key_comes_before_everything_else(stranger: httpx.AsyncClient) -> None:
    for method, path in (("GET", "/api/v1/nothing"), ("DELETE", requests.QUOTE)):
        refused(await stranger.request(method, path), 401, "UNAUTHORIZED")
    refused(await stranger.post(requests.ORDERS, content=b"{"), 401, "UNAUTHORIZED")


async def test_an_answer_without_a_key_tells_nothing_of_rates(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get(requests.ORDER)
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]


async def test_every_authenticated_answer_tells_the_rate(client: httpx.AsyncClient) -> None:
    asked = [requests.ask(client, path) for path in requests.ALL]
    asked += [client.get("/api/v1/nothing"), client.delete(requests.QUOTE)]
    asked += [client.post(requests.ORDERS, content=b"{"), client.get(requests.QUOTE)]
    for number, asking in enumerate(asked, 1):
        headers = (await asking).headers
        assert headers["x-ratelimit-limit"] == "300"
        assert headers["x-ratelimit-remaining"] == str(300 - number)
        assert int(headers["x-ratelimit-reset"]) == NOW_MS // 1000 + 60


async def test_the_budget_is_one_over_all_endpoints_and_no_request_more(
    client: httpx.AsyncClient, clock: HandClock
) -> None:
    for number in range(300):
        answer = await requests.ask(client, requests.ALL[number % len(requests.ALL)])
        assert answer.status_code == 200
    clock.ms += 17_500
    answer = await client.get(requests.ORDER)
    body = refused(answer, 429, "RATE_LIMIT_EXCEEDED")
    assert (body["retryAfter"], body["limit"], body["window"]) == (43, 300, 60)
    assert answer.headers["retry-after"] == "43"
    assert answer.headers["x-ratelimit-remaining"] == "0"
    clock.ms += 43_000
    assert (await client.get(requests.ORDER)).status_code == 200


async def test_a_key_does_not_spend_another_keys_budget(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.keys["qs_other"] = ApiKey("key-2", "another", NOW_MS, None, "client-2")
    await client.get(requests.ORDER)
    answer = await client.get(requests.ORDER, headers={"X-API-Key": "qs_other"})
    assert answer.headers["x-ratelimit-remaining"] == "299"


async def test_a_refused_request_reaches_no_use_case(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    for _ in range(300):
        await client.get("/api/v1/nothing")
    refused(await requests.ask(client, requests.ORDERS), 429, "RATE_LIMIT_EXCEEDED")
    assert inside.asked == []


def guessing(
    inside: ScriptedUseCases, clock: HandClock, peer: str, **options: Any
) -> httpx.AsyncClient:
    """Return a client of an edge that allows three wrong keys an address."""
    limits = RateLimits(failures=3)
    app = create_api(inside.use_cases(), ApiOptions(limits=limits, **options), clock)
    transport = httpx.ASGITransport(app=app, client=(peer, 5000))
    return loopback.AsyncClient(transport=transport, base_url="http://edge")


WRONG = {"X-API-Key": "qs_wrong"}
RIGHT = {"X-API-Key": SECRET}


async def test_guessing_keys_is_braked_by_address(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    async with guessing(inside, clock, "203.0.113.7") as client:
        for _ in range(3):
            refused(await client.get(requests.ORDER, headers=WRONG), 401, "UNAUTHORIZED")
        answer = await client.get(requests.ORDER, headers=WRONG)
        body = refused(answer, 429, "RATE_LIMIT_EXCEEDED")
        assert (body["limit"], body["window"]) == (3, 60)
        assert "from this address had no valid API key" in body["message"]
        assert answer.headers["retry-after"] == str(body["retryAfter"])
        left = [answer.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")]
        assert left[:2] == ["3", "0"]
        assert int(left[2]) == clock.now_ms() // 1000 + body["retryAfter"]
    async with guessing(inside, clock, "203.0.113.8") as neighbour:
        refused(await neighbour.get(requests.ORDER, headers=WRONG), 401, "UNAUTHORIZED")


async def test_a_right_key_passes_where_others_guessed(
    inside: ScriptedUseCases, clock: HandClock
) -> None:
    async with guessing(inside, clock, "203.0.113.7") as client:
        for _ in range(9):
            await client.get(requests.ORDER, headers=WRONG)
        assert (await client.get(requests.ORDER, headers=RIGHT)).status_code == 200


async def test_a_missing_key_is_no_guess(inside: ScriptedUseCases, clock: HandClock) -> None:
    async with guessing(inside, clock, "203.0.113.7") as client:
        for _ in range(9):
            refused(await client.get(requests.ORDER), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("peer", "trusted", "forwarded", "counted"),
    [
        ("203.0.113.7", "10.0.0.1", "198.51.100.9", "203.0.113.7"),
        ("10.0.0.1", "10.0.0.1", "192.0.2.1, 198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", "10.0.0.1", "nonsense", "unknown"),
        ("10.9.8.7", "10.0.0.0/8", "198.51.100.9", "198.51.100.9"),
        ("11.9.8.7", "10.0.0.0/8", "198.51.100.9", "11.9.8.7"),
        ("::ffff:10.9.8.7", "10.0.0.0/8", "198.51.100.9", "198.51.100.9"),
        ("2001:db8::1", "2001:db8::/32", "198.51.100.9", "198.51.100.9"),
        ("2001:db8:1:2:3::4", "10.0.0.1", "", "2001:db8:1:2::/64"),
        ("testclient", "10.0.0.1", "", "unknown"),
    ],
)
async def test_guesses_count_for_the_client_behind_a_trusted_proxy(
    inside: ScriptedUseCases,
    clock: HandClock,
    peer: str,
    trusted: str,
    forwarded: str,
    counted: str,
) -> None:
    headers = WRONG | {"X-Forwarded-For": forwarded}
    async with guessing(inside, clock, peer, trusted_proxies=(ip_network(trusted),)) as client:
        await client.get(requests.ORDER, headers=headers)
    assert [key for key, _ in inside.guesses.counts] == [f"guess:{counted}"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("proxy-1.a_B", True), ("", False), ("a b", False), ("x" * 65, False), ('"\\', False)],
)
async def test_a_plain_request_id_is_kept_and_any_other_replaced(
    client: httpx.AsyncClient, sent: str, kept: bool
) -> None:
    answer = await client.get(requests.ORDER, headers={"X-Request-Id": sent})
    told = answer.headers["x-request-id"]
    assert (told == sent) is kept
    assert len(told) >= 11


async def test_answers_are_neither_cached_nor_sniffed(client: httpx.AsyncClient) -> None:
    headers = (await client.get(requests.ORDER)).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
