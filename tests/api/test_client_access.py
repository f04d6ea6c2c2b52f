"""Scopes, expiry and limits of a client, as its programs meet them."""

from dataclasses import replace

import httpx
import pytest

from quietswap.rules.clients import ClientLimits, ClientUsage, DayUsage, KeyScope
from quietswap.rules.errors.base import Unauthorized
from quietswap.service.server.routes import OPERATIONS
from tests.api import requests
from tests.api.scripted_use_cases import KEY, SECRET, WALLET, HandClock, ScriptedUseCases
from tests.api.test_envelope import OPS, refused
from tests.stored_orders import NOW_MS, USDC

POSTS = [path for path in requests.ALL if OPS[path].method == "POST"]
GETS = [path for path in requests.ALL if OPS[path].method == "GET"]


@pytest.mark.parametrize("path", POSTS)
async def test_a_key_that_only_reads_posts_nothing(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str
) -> None:
    inside.keys[SECRET] = replace(KEY, scope=KeyScope.READ)
    body = refused(await requests.ask(client, path), 403, "FORBIDDEN")
    assert body["details"] == {"scope": "read", "required": "trade"}
    assert "quietswap keys create --scope" in body["suggestion"]
    assert inside.asked == []


@pytest.mark.parametrize("path", GETS)
async def test_a_key_that_only_reads_reads_everything(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str
) -> None:
    inside.keys[SECRET] = replace(KEY, scope=KeyScope.READ)
    assert (await requests.ask(client, path)).status_code == 200


def test_every_operation_that_writes_needs_the_scope_trade() -> None:
    assert {op.name for op in OPERATIONS if "FORBIDDEN" in op.codes} == {
        op.name for op in OPERATIONS if op.method != "GET"
    }


@pytest.mark.parametrize("reason", ["EXPIRED", "CLIENT_DISABLED"])
async def test_who_has_a_key_that_was_valid_learns_why_it_is_refused(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
) -> None:
    inside.refuses = Unauthorized(reason)
    body = refused(await client.get(requests.ORDER), 401, "UNAUTHORIZED")
    assert body["details"] == {"reason": reason}
    assert inside.asked == []


async def test_the_requests_of_a_minute_count_for_all_keys_of_a_client(
    client: httpx.AsyncClient, inside: ScriptedUseCases, clock: HandClock
) -> None:
    limited = replace(KEY, limits=ClientLimits(requests_per_minute=5))
    inside.keys = {"one": limited, "two": replace(limited, id="key-2")}
    inside.keys["other"] = replace(KEY, id="key-3", client_id="client-2")
    for number in range(5):
        headers = {"X-API-Key": ("one", "two")[number % 2]}
        answer = await client.get(requests.ORDER, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["x-ratelimit-limit"] == "5", "the headers are of the tighter window"
        assert answer.headers["x-ratelimit-remaining"] == str(4 - number)
    clock.ms += 17_500
    answer = await client.get(requests.ORDER, headers={"X-API-Key": "two"})
    body = refused(answer, 429, "RATE_LIMIT_EXCEEDED")
    assert (body["retryAfter"], body["limit"], body["window"]) == (43, 5, 60)
    told = [answer.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")]
    assert told == ["5", "0", str(-(-clock.now_ms() // 1000) + 42)]
    assert "this client may send 5 requests a minute" in body["message"]
    assert (await client.get(requests.ORDER, headers={"X-API-Key": "other"})).status_code == 200
    clock.ms += 43_000
    assert (await client.get(requests.ORDER, headers={"X-API-Key": "one"})).status_code == 200


async def test_usage_without_limits(client: httpx.AsyncClient) -> None:
    found = (await client.get(requests.USAGE)).json()["data"]
    assert found == {
        "clientId": "client-1",
        "scope": "trade",
        "requestsPerMinute": {"limit": None, "used": None, "left": None},
        "quotesPerDay": {"limit": None, "used": 3, "left": None},
        "openOrders": {"limit": None, "used": 1, "left": None},
        "ordersToday": 2,
        "usdPerSwap": None,
        "usdPerDay": {"limit": None, "used": "1.50", "left": None},
        "wallets": [],
        "tokens": [],
        "dayEndsAt": "2027-01-16T00:00:00.000Z",
    }


async def test_usage_shows_what_is_left_and_never_less_than_nothing(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    limits = ClientLimits(
        requests_per_minute=5,
        quotes_per_day=10,
        open_orders=0,
        usd_cents_per_swap=100_000,
        usd_cents_per_day=500_050,
        wallets=frozenset({WALLET}),
        tokens=frozenset({USDC}),
    )
    inside.keys[SECRET] = replace(KEY, limits=limits)
    inside.usage = ClientUsage(KEY.client_id, limits, DayUsage(3, 2, 150), 1, NOW_MS)
    await client.get(requests.ORDER)
    found = (await client.get(requests.USAGE)).json()["data"]
    assert found["requestsPerMinute"] == {"limit": 5, "used": 2, "left": 3}
    assert found["quotesPerDay"] == {"limit": 10, "used": 3, "left": 7}
    assert found["openOrders"] == {"limit": 0, "used": 1, "left": 0}
    assert found["usdPerSwap"] == "1000.00"
    assert found["usdPerDay"] == {"limit": "5000.50", "used": "1.50", "left": "4999.00"}
    assert (found["wallets"], found["tokens"]) == ([WALLET], [USDC])
