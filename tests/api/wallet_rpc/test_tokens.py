"""POST, GET and DELETE /api/v1/mev/rpc: a key's client makes, lists and revokes its RPC URLs."""

from typing import Any

import httpx
import pytest

from quietswap.rules.orders.stores import StoreUnavailable
from tests.api.scripted_use_cases import ScriptedUseCases
from tests.api.scripted_wallet_rpc import SECRET, WALLET
from tests.api.test_envelope import refused

PATH = "/api/v1/mev/rpc"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


async def test_a_url_is_made_and_shown_once(client: httpx.AsyncClient) -> None:
    body = {"wallets": [WALLET, OTHER], "name": "desk", "unmatched": "private"}
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 200
    token = answer.json()["data"]["token"]
    assert token["url"] == f"http://edge/rpc/{SECRET}"
    assert token["wallets"] == sorted([WALLET, OTHER])
    assert (token["name"], token["unmatched"]) == ("desk", "private")
    assert "revokedAt" not in token
    assert SECRET not in (await client.get(PATH)).text


async def test_by_default_what_matches_no_quote_is_refused(client: httpx.AsyncClient) -> None:
    token = (await client.post(PATH, json={"wallets": [WALLET]})).json()["data"]["token"]
    assert (token["name"], token["unmatched"]) == ("", "refuse")


async def test_the_urls_are_listed_without_their_secrets(client: httpx.AsyncClient) -> None:
    [token] = (await client.get(PATH)).json()["data"]["tokens"]
    assert token["id"] == "rpc_1"
    assert "url" not in token


async def test_a_url_is_revoked_by_its_id(client: httpx.AsyncClient) -> None:
    answer = await client.delete(f"{PATH}/rpc_1")
    assert answer.json()["data"]["id"] == "rpc_1"
    assert answer.json()["data"]["revokedAt"].endswith("Z")


@pytest.mark.parametrize("token_id", ["rpc_2", "1", "rpc_%00", "rpc_" + "1" * 100, "%ff"])
async def test_an_unknown_id_is_not_found(client: httpx.AsyncClient, token_id: str) -> None:
    refused(await client.delete(f"{PATH}/{token_id}"), 404, "RPC_TOKEN_NOT_FOUND")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"wallets": None}, 400, "MISSING_PARAMETER"),
        ({"wallets": []}, 400, "INVALID_PARAMETER"),
        ({"wallets": [WALLET] * 51}, 400, "INVALID_PARAMETER"),
        ({"wallets": WALLET}, 422, "VALIDATION_ERROR"),
        ({"wallets": [1]}, 400, "INVALID_ADDRESS"),
        ({"wallets": [WALLET.lower()]}, 400, "INVALID_ADDRESS"),
        ({"wallets": ["0x" + "0" * 40]}, 400, "INVALID_ADDRESS"),
        ({"name": "x" * 101}, 400, "INVALID_PARAMETER"),
        ({"name": "a\nb"}, 400, "INVALID_PARAMETER"),
        ({"name": 1}, 422, "VALIDATION_ERROR"),
        ({"unmatched": "public"}, 400, "INVALID_PARAMETER"),
        ({"unmatched": True}, 422, "VALIDATION_ERROR"),
    ],
)
async def test_bad_input_is_named(
    client: httpx.AsyncClient, change: dict[str, Any], status: int, code: str
) -> None:
    body = {"wallets": [WALLET], "name": "", "unmatched": "refuse"} | change
    refused(await client.post(PATH, json=body), status, code)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", PATH), ("GET", PATH), ("DELETE", f"{PATH}/rpc_1")]
)
async def test_each_needs_a_key_and_the_store(
    stranger: httpx.AsyncClient, inside: ScriptedUseCases, method: str, path: str
) -> None:
    body = {"json": {"wallets": [WALLET]}} if method == "POST" else {}
    refused(await stranger.request(method, path, **body), 401, "UNAUTHORIZED")
    stranger.headers["X-API-Key"] = "qs_right"
    inside.fails = StoreUnavailable("away")
    refused(await stranger.request(method, path, **body), 503, "SERVICE_UNAVAILABLE")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("DELETE", PATH, ["GET", "HEAD", "POST"]), ("GET", f"{PATH}/rpc_1", ["DELETE"])],
)
async def test_other_methods_are_not_allowed(
    client: httpx.AsyncClient, method: str, path: str, allowed: list[str]
) -> None:
    answer = await client.request(method, path)
    assert refused(answer, 405, "METHOD_NOT_ALLOWED")["details"]["allowed"] == allowed
    assert (await client.head(PATH)).status_code == 200
