"""Tokens, balances and prices at the edge: what is parsed, refused and answered."""

import httpx
import pytest

from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import KEY, WALLET, ScriptedUseCases
from tests.stored_orders import NOW_MS, USDC

PAIR = {"sellToken": WETH, "buyToken": USDC, "sellAmount": str(10**18)}


async def test_tokens(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.get("/api/v1/tokens", params={"search": "we", "limit": 2, "offset": 0})
    assert inside.asked == [(KEY, "we", 2, 0)]
    data = answer.json()["data"]
    assert data["tokens"][0] == {
        "address": WETH,
        "symbol": "WETH",
        "name": "Wrapped Ether",
        "decimals": 18,
        "logoURI": "https://tokens.test/weth.png",
        "lists": ["A list"],
        "transferFeeBps": 0,
        "warnings": [],
    }
    assert data["tokens"][1]["warnings"] == ["unlisted"]
    assert (data["total"], data["hasMore"]) == (3, True)
    assert data["pagination"] == {"limit": 2, "offset": 0, "nextOffset": 2}


async def test_tokens_have_defaults(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    await client.get("/api/v1/tokens")
    assert inside.asked == [(KEY, "", 50, 0)]


@pytest.mark.parametrize(
    ("query", "parameter", "most"),
    [
        ({"search": "x" * 101}, "search", 100),
        ({"limit": "0"}, "limit", 200),
        ({"limit": "201"}, "limit", 200),
        ({"offset": "-1"}, "offset", 10**9),
        ({"serch": "x"}, "serch", None),
    ],
)
async def test_bad_searches(
    client: httpx.AsyncClient, query: dict[str, str], parameter: str, most: int | None
) -> None:
    answer = await client.get("/api/v1/tokens", params=query)
    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_PARAMETER")
    details = answer.json()["details"]
    assert (details["parameter"], details["max"]) == (parameter, most)


async def test_balances(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.get(
        f"/api/v1/mev/balances/{WALLET}", params={"tokens": f"{WETH}, {USDC}"}
    )
    assert inside.asked == [(KEY, WALLET, (WETH, USDC))]
    data = answer.json()["data"]
    assert (data["userAddress"], data["blockNumber"]) == (WALLET, 21_000_000)
    assert data["eth"] == {"wei": "1500000000000000000", "ether": "1.5"}
    weth, usdc = data["tokens"]
    assert (weth["symbol"], weth["decimals"], weth["balance"]) == ("WETH", 18, str(10**18))
    assert weth["allowances"][0]["allowance"] == "5"
    assert (usdc["decimals"], usdc["balance"], usdc["allowances"][0]["allowance"]) == (None,) * 3


async def test_balances_without_tokens_are_of_weth(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    await client.get(f"/api/v1/mev/balances/{WALLET}")
    assert inside.asked == [(KEY, WALLET, (WETH,))]


@pytest.mark.parametrize(
    ("wallet", "tokens", "code"),
    [
        (WALLET.lower(), WETH, "INVALID_ADDRESS"),
        ("0x" + "0" * 40, WETH, "INVALID_ADDRESS"),
        (WALLET, WETH.lower(), "INVALID_TOKEN_ADDRESS"),
        (WALLET, f"{WETH},", "INVALID_TOKEN_ADDRESS"),
        (WALLET, "", "INVALID_TOKEN_ADDRESS"),
        (WALLET, "0x" + "e" * 40, "NATIVE_ETH_NOT_SUPPORTED"),
        (WALLET, ",".join([WETH] * 51), "INVALID_PARAMETER"),
    ],
)
async def test_bad_balances(client: httpx.AsyncClient, wallet: str, tokens: str, code: str) -> None:
    answer = await client.get(f"/api/v1/mev/balances/{wallet}", params={"tokens": tokens})
    assert (answer.status_code, answer.json()["error"]) == (400, code)
    if code == "INVALID_PARAMETER":
        assert answer.json()["details"]["max"] == 50
    if code == "INVALID_TOKEN_ADDRESS":
        assert answer.json()["details"]["field"] == "tokens"


async def test_fifty_tokens_are_allowed(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    answer = await client.get(
        f"/api/v1/mev/balances/{WALLET}", params={"tokens": ",".join([WETH] * 50)}
    )
    assert answer.status_code == 200
    assert len(inside.asked[0][2]) == 50


async def test_price(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = await client.get("/api/v1/price", params=PAIR)
    assert inside.asked == [(KEY, IndicativePriceRequest(WETH, USDC, 10**18))]
    assert answer.json()["timestamp"] == NOW_MS
    data = answer.json()["data"]
    assert (data["indicative"], data["verification"]) == (True, "none")
    assert (data["source"], data["buyAmount"], data["estimatedGas"]) == (
        "kyberswap", "3000000000", 200_000,
    )  # fmt: skip
    assert (data["priceImpact"], data["priceImpactAvailable"]) == (0.12, True)
    assert data["loss"] == {"level": "none", "bps": 12, "causes": []}
    assert data["scoring"]["netValueUsd"] == 2999.123457
    assert [row["buyAmount"] for row in data["sources"]] == ["3000000000", None]
    assert "mevProtection" not in data


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"sellToken": WETH.lower()}, "INVALID_TOKEN_ADDRESS"),
        ({"sellToken": "0x" + "0" * 40}, "NATIVE_ETH_NOT_SUPPORTED"),
        ({"buyToken": WETH}, "INVALID_TOKEN_ADDRESS"),
        ({"buyToken": ""}, "INVALID_TOKEN_ADDRESS"),
        ({"sellAmount": "0"}, "INVALID_AMOUNT"),
        ({"sellAmount": "1.5"}, "INVALID_AMOUNT"),
        ({"sellAmount": ""}, "INVALID_AMOUNT"),
        ({"chainId": "10"}, "INVALID_PARAMETER"),
        ({"sources": "kyberswap"}, "INVALID_PARAMETER"),
        ({"sources": ""}, "INVALID_PARAMETER"),
    ],
)
async def test_bad_prices(client: httpx.AsyncClient, changes: dict[str, str], code: str) -> None:
    answer = await client.get("/api/v1/price", params=PAIR | changes)
    assert (answer.status_code, answer.json()["error"]) == (400, code)


@pytest.mark.parametrize(
    "path", ["/api/v1/tokens", f"/api/v1/mev/balances/{WALLET}", "/api/v1/price"]
)
async def test_all_need_a_key_and_only_get(
    stranger: httpx.AsyncClient, inside: ScriptedUseCases, path: str
) -> None:
    assert (await stranger.get(path)).status_code == 401
    assert inside.asked == []
    stranger.headers["X-API-Key"] = "qs_right"
    assert (await stranger.post(path)).status_code == 405
