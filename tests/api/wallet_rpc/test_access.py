"""Who may call: the token, its budget, browser origins, bodies, and that the token stays secret."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service import observe
from quietswap.service.api.middleware.headers import LOOPBACK, TrustedHostsMiddleware
from quietswap.service.api.operation import ApiOptions, RateLimits, WalletRpcOptions
from quietswap.service.server.app import create_api
from tests import loopback
from tests.api.scripted_use_cases import HandClock, ScriptedUseCases
from tests.api.scripted_wallet_rpc import SECRET, TOKEN
from tests.api.wallet_rpc.calls import URL, call, post, request

SEND = request("eth_sendRawTransaction", ["0x02"])
EXTENSION = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn"


def edge(app: ASGIApp, base_url: str = "http://edge") -> httpx.AsyncClient:
    return loopback.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=base_url)


@pytest.mark.parametrize(
    "path",
    [
        "/rpc/qr_" + "7c" * 32, "/rpc/" + SECRET[:-1], "/rpc/" + SECRET + "0", "/rpc/x",
        "/rpc/" + SECRET.upper(), "/rpc/" + SECRET + "%0A", "/rpc/%ff", "/rpc/" + "x" * 5000,
    ],
)  # fmt: skip
async def test_a_wrong_url_is_refused_and_nothing_is_sent(
    client: httpx.AsyncClient, inside: ScriptedUseCases, path: str
) -> None:
    answer = await post(client, SEND, path)
    assert answer.status_code == 401
    assert answer.json()["id"] is None
    assert answer.json()["error"]["code"] == -32001
    assert "nothing was sent" in answer.json()["error"]["message"]
    assert inside.rpc.sent == []
    assert inside.guesses.counts


async def test_the_url_may_end_with_a_slash(client: httpx.AsyncClient) -> None:
    """People and wallets add one."""
    answers = [await post(client, SEND, f"/rpc/{SECRET}{end}") for end in ("", "/")]
    assert [each.status_code for each in answers] == [200, 200]
    assert "result" in answers[1].json()


@pytest.mark.parametrize(
    "path",
    [
        f"/rpc/{SECRET}//",
        f"/rpc/{SECRET}/x",
        f"/api/v1/rpc/{SECRET}",
        f"/RPC/{SECRET}",
        f"/{SECRET}",
        f"/Rpc/{SECRET}",
    ],
)
async def test_a_path_that_is_nearly_the_url_is_not_repeated(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await post(client, SEND, path)
    assert answer.status_code == 404
    assert SECRET not in answer.text


async def test_an_api_key_is_no_rpc_url_and_is_not_needed(
    stranger: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    assert (await post(stranger, SEND, "/rpc/qs_right")).status_code == 401
    assert (await call(stranger, "eth_chainId"))["result"] == "0x1"
    answer = await stranger.get("/api/v1/mev/rpc", headers={"X-API-Key": SECRET})
    assert answer.status_code == 401


async def test_a_revoked_url_is_refused(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    del inside.rpc.tokens[SECRET]
    assert (await post(client, SEND)).status_code == 401
    assert inside.rpc.sent == []


async def test_wrong_urls_are_counted_per_client_address(clock: HandClock) -> None:
    inside = ScriptedUseCases(clock)
    options = ApiOptions(limits=RateLimits(failures=3))
    async with edge(create_api(inside.use_cases(), options, clock)) as client:
        codes = [(await post(client, SEND, "/rpc/x")).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        assert (await call(client, "eth_chainId"))["result"] == "0x1"


async def test_a_token_has_a_budget_of_its_own_and_a_batch_counts_each_call(
    clock: HandClock,
) -> None:
    inside = ScriptedUseCases(clock)
    inside.rpc.tokens["qr_" + "01" * 32] = replace(TOKEN, id="rpc_2")
    options = ApiOptions(limits=RateLimits(requests=1), wallet_rpc=WalletRpcOptions(rate_limit=10))
    async with edge(create_api(inside.use_cases(), options, clock)) as client:
        first = await post(client, [request("eth_chainId")] * 9)
        assert first.headers["x-ratelimit-remaining"] == "1"
        second = await post(client, [request("eth_chainId", call_id="a"), SEND])
        assert second.status_code == 200
        assert [one["error"]["code"] for one in second.json()] == [-32005, -32005]
        assert [one["id"] for one in second.json()] == ["a", 1]
        assert second.json()[0]["error"]["data"]["details"]["retryAfter"] > 0
        assert inside.rpc.sent == []
        other = await post(client, request("eth_chainId"), "/rpc/qr_" + "01" * 32)
        assert other.json()["result"] == "0x1"
        clock.ms += 60_000
        assert (await call(client, "eth_chainId"))["result"] == "0x1"


async def test_visitors_of_the_page_are_counted_by_client_address(clock: HandClock) -> None:
    """Each session and each of its URLs has a budget of its own, and anybody may open more."""
    inside = ScriptedUseCases(clock)
    for place in range(3):
        owned = replace(TOKEN, id=f"rpc_{place}", client_id=f"web_{place}")
        inside.rpc.tokens["qr_" + f"{place:064x}"] = owned
    options = ApiOptions(wallet_rpc=WalletRpcOptions(visitor_limit=4))
    async with edge(create_api(inside.use_cases(), options, clock)) as client:
        paths = [f"/rpc/qr_{place % 3:064x}" for place in range(6)]
        answers = [await post(client, [request("eth_chainId")] * 9, path) for path in paths]
        assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
        assert answers[-1].json()["error"]["code"] == -32005
        assert "more than 4 requests in 60 seconds; nothing was sent" in answers[-1].text
        for _ in range(6):
            assert (await call(client, "eth_chainId"))["result"] == "0x1", "a client's own URL"
        clock.ms += 60_000
        assert (await post(client, SEND, paths[0])).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * 100_000 + b"1]",
        b'[{"jsonrpc":"2.0","method":"a","id":1}' + b",{}" * 100_000 + b"]",
    ],
)
async def test_a_batch_of_100_001_requests_is_refused_as_one(
    client: httpx.AsyncClient, inside: ScriptedUseCases, body: bytes
) -> None:
    answer = await post(client, body)
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32005
    assert answer.json()["id"] is None
    assert "100" in answer.json()["error"]["message"]


async def test_100_requests_are_a_batch_and_101_are_not(client: httpx.AsyncClient) -> None:
    assert len((await post(client, [request("eth_chainId")] * 100)).json()) == 100
    assert (await post(client, [request("eth_chainId")] * 101)).json()["error"]["code"] == -32005


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_of_10_mb_is_refused(
    client: httpx.AsyncClient, inside: ScriptedUseCases, declared: bool
) -> None:
    content = b'["' + b"x" * 10_000_000 + b'"]'

    async def chunks() -> Any:
        for start in range(0, len(content), 65_536):
            yield content[start : start + 65_536]

    headers = {"Content-Type": "application/json"}
    answer = await client.post(URL, content=content if declared else chunks(), headers=headers)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == -32600
    assert answer.json()["error"]["data"]["code"] == "PAYLOAD_TOO_LARGE"


async def test_a_store_that_is_away_is_told_as_json_rpc(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.fails = StoreUnavailable("the database is away")
    answer = await post(client, SEND)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == -32002
    assert "database" not in answer.text
    inside.fails = ZeroDivisionError("boom")
    answer = await post(client, SEND)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, -32603)
    assert inside.rpc.sent == []


@pytest.mark.parametrize(
    "origin",
    [EXTENSION, "moz-extension://0a1b2c3d-1111-4222-8333-444455556666",
     "safari-web-extension://0A1B2C3D-1111-4222-8333-444455556666"],
)  # fmt: skip
async def test_an_extension_may_read_answers_on_this_path_only(
    client: httpx.AsyncClient, origin: str
) -> None:
    ask = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    preflight = await client.options(URL, headers=ask)
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert preflight.headers["access-control-allow-origin"] == origin
    assert preflight.headers["access-control-allow-methods"] == "POST"
    assert "content-type" in preflight.headers["access-control-allow-headers"]
    answer = await client.post(URL, json=request("eth_chainId"), headers={"Origin": origin})
    assert answer.headers["access-control-allow-origin"] == origin
    assert answer.headers["vary"] == "origin"
    refused = await client.post("/rpc/x", json=request("eth_chainId"), headers={"Origin": origin})
    assert refused.headers["access-control-allow-origin"] == origin
    elsewhere = await client.options("/api/v1/quote", headers=ask)
    assert elsewhere.status_code == 405
    assert "access-control-allow-origin" not in elsewhere.headers


@pytest.mark.parametrize(
    "origin",
    ["https://app.example", "http://localhost:3000", "null", "chrome-extension://", "file://",
     "https://chrome-extension://x", "chrome-extension://a b", "evil-extension://abc"],
)  # fmt: skip
async def test_a_page_may_not(client: httpx.AsyncClient, origin: str) -> None:
    ask = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    preflight = await client.options(URL, headers=ask)
    assert preflight.status_code == 405
    answer = await client.post(URL, json=request("eth_chainId"), headers={"Origin": origin})
    for one in (preflight, answer):
        assert not [name for name in one.headers if name.startswith("access-control-")]


async def test_another_host_is_refused(inside: ScriptedUseCases, clock: HandClock) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock)
    guarded = TrustedHostsMiddleware(app, LOOPBACK, addresses=False)
    async with edge(guarded, "http://rebound.example") as client:
        assert (await post(client, SEND)).status_code == 421
    assert inside.rpc.sent == []
    async with edge(guarded, "http://localhost:8080") as client:
        assert (await call(client, "eth_chainId"))["result"] == "0x1"


async def test_the_token_is_in_no_log_line_no_metric_and_no_answer(
    inside: ScriptedUseCases, clock: HandClock, logged: list[Any]
) -> None:
    app = create_api(inside.use_cases(), ApiOptions(), clock, on_answer=observe.request_answered)
    texts = []
    async with edge(app) as client:
        for failure in (None, StoreUnavailable("away"), ZeroDivisionError(URL)):
            inside.fails = failure
            bodies = (SEND, [SEND, request("eth_nothing")], b"{", b"x" * 2_000_000)
            texts += [(await post(client, body)).text for body in bodies]
            texts.append((await client.get(URL)).text)
            texts.append((await post(client, SEND, URL.replace("7b", "7c"))).text)
        inside.fails = None
        inside.rpc.send = ZeroDivisionError(f"at {URL}")
        texts.append((await post(client, SEND)).text)
        await client.post("/rpc/" + SECRET + "/more", json=SEND)
    seen = [str(line) for line in logged if "exc_info" not in line]
    seen += [observe.exposition().decode(), *texts]
    assert any("wallet_rpc" in line and "rpc_1" in line for line in seen)
    assert not [text for text in seen if "7b7b7b7b" in text or "7c7c7c7c" in text]


@pytest.mark.parametrize("method", ["eth_chainId", "hostile\nname"])
async def test_calls_are_counted_by_methods_of_the_allow_list(
    client: httpx.AsyncClient, method: str
) -> None:
    await call(client, method)
    text = observe.exposition().decode()
    assert 'quietswap_wallet_rpc_calls_total{code="OK",method="eth_chainId"}' in text or (
        'quietswap_wallet_rpc_calls_total{code="-32601",method="other"}' in text
    )
    assert "hostile" not in text
