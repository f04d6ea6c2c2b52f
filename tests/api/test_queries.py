"""Query strings and paths: numbers, addresses, encodings. Each refusal is quick and by name."""

import json
import time
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from starlette.types import ASGIApp

from quietswap.rules.errors.requests import OrderNotFound
from quietswap.rules.orders.order import OrderKind
from tests.api import requests
from tests.api.scripted_use_cases import KEY, SECRET, WALLET, ScriptedUseCases
from tests.api.test_envelope import refused

LONG = "9" * 60_000
HUGE = "9" * 10**6
NOT_DIGITS = ["1e18", "+1", " 1", "1 ", "1_000", "٣", "0x10", "NaN", "Infinity", "-1", "1.0", "1,0",
              "²", "１", "\x001", "1\n", "", "null", "0b1"]  # fmt: skip
BOUND_S = 5
"""Of this process's own work, whatever else the machine does."""

BAD_UNITS = [*NOT_DIGITS, "0", "00", str(2**255), str(2**256), LONG]
BAD_ETHER = ["1e18", "+1", " 1", "1_000", "٣", "0x10", "NaN", "-1", "", ".5", "5.", "1.2.3", "0",
             "0.0", "1,5", "0." + "0" * 18 + "1", "1" + "0" * 60, HUGE,
             "0." + HUGE, "1\x00"]  # fmt: skip


@pytest.mark.parametrize("amount", BAD_UNITS, ids=lambda v: repr(v[:20]))
async def test_a_sell_amount_is_plain_digits_above_zero(
    client: httpx.AsyncClient, inside: ScriptedUseCases, amount: str
) -> None:
    started = time.process_time()
    answer = await requests.ask(client, requests.QUOTE, sellAmount=amount)
    seconds = time.process_time() - started
    details = refused(answer, 400, "INVALID_AMOUNT")["details"]
    assert details == {"provided": amount[:100], "field": "sellAmount"}
    assert seconds < BOUND_S
    assert inside.asked == []


@pytest.mark.parametrize("amount", BAD_ETHER, ids=lambda v: repr(v[:20]))
async def test_a_wrap_amount_is_a_plain_decimal_above_zero(
    client: httpx.AsyncClient, inside: ScriptedUseCases, amount: str
) -> None:
    started = time.process_time()
    answer = await requests.ask(client, requests.WRAP_QUOTE, amount=amount)
    seconds = time.process_time() - started
    details = refused(answer, 400, "INVALID_AMOUNT")["details"]
    assert details == {"provided": amount[:100], "field": "amount"}
    assert seconds < BOUND_S
    assert inside.asked == []


@pytest.mark.parametrize(
    ("amount", "told"), [(1.5, "1.5"), (1, "1"), (True, "true"), ([], "[]"), ({}, "{}")]
)
async def test_a_wrap_amount_of_another_json_type_is_an_invalid_amount(
    client: httpx.AsyncClient, amount: object, told: str
) -> None:
    answer = await requests.ask(client, requests.WRAP_QUOTE, amount=amount)
    assert refused(answer, 400, "INVALID_AMOUNT")["details"]["provided"] == told


@pytest.mark.parametrize("name", ["limit", "offset"])
@pytest.mark.parametrize("text", [*NOT_DIGITS, LONG, "99999999999"], ids=lambda v: repr(v[:20]))
async def test_a_page_is_asked_for_in_plain_digits(
    client: httpx.AsyncClient, name: str, text: str
) -> None:
    answer = await requests.ask(client, requests.HISTORY, **{name: text})
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    largest = {"limit": 200, "offset": 10**9}[name]
    assert details == {"parameter": name, "provided": text[:100], "max": largest}


@pytest.mark.parametrize(("name", "text"), [("limit", "0"), ("limit", "201"), ("offset", "-1")])
async def test_a_page_outside_its_range_is_refused(
    client: httpx.AsyncClient, name: str, text: str
) -> None:
    answer = await requests.ask(client, requests.HISTORY, **{name: text})
    assert refused(answer, 400, "INVALID_PARAMETER")["details"]["parameter"] == name


@pytest.mark.parametrize(("limit", "offset"), [(1, 0), (200, 10**9), (50, 7)])
async def test_a_page_at_the_edges_of_its_range_is_given(
    client: httpx.AsyncClient, inside: ScriptedUseCases, limit: int, offset: int
) -> None:
    await requests.ask(client, requests.HISTORY, limit=limit, offset=offset)
    await requests.ask(client, requests.HISTORY, limit=limit, offset=offset, asOf=23)
    page = KEY, WALLET, None, limit, offset, OrderKind.SWAP
    assert inside.asked == [(*page, None), (*page, 23)]


@pytest.mark.parametrize("text", ["", "CONFIRMED", "done", "confirmed,failed", "\x00", "٣"])
async def test_an_unknown_status_is_refused(client: httpx.AsyncClient, text: str) -> None:
    answer = await requests.ask(client, requests.HISTORY, status=text)
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    assert details == {"parameter": "status", "provided": text, "max": None}


@pytest.mark.parametrize("text", ["", "SWAP", "all", "swap,wrap", "\x00"])
async def test_an_unknown_kind_is_refused(client: httpx.AsyncClient, text: str) -> None:
    answer = await requests.ask(client, requests.HISTORY, kind=text)
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    assert details == {"parameter": "kind", "provided": text, "max": None}


@pytest.mark.parametrize("text", ["0", "5001", *NOT_DIGITS], ids=repr)
async def test_slippage_is_1_to_5000_bps(client: httpx.AsyncClient, text: str) -> None:
    answer = await requests.ask(client, requests.QUOTE, slippageBps=text)
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    assert details == {"parameter": "slippageBps", "provided": text, "max": 5000}


@pytest.mark.parametrize("text", ["0", "2", "137", "1.0", "0x1", ""])
async def test_a_swap_quote_knows_mainnet_only(client: httpx.AsyncClient, text: str) -> None:
    answer = await requests.ask(client, requests.QUOTE, chainId=text)
    assert refused(answer, 400, "INVALID_PARAMETER")["details"]["parameter"] == "chainId"


@pytest.mark.parametrize("field", ["sellToken", "buyToken"])
@pytest.mark.parametrize(
    "text",
    [None, "", WALLET.lower(), WALLET.upper(), WALLET[2:], WALLET + "0", " " + WALLET, "\x00",
     WALLET + "\n", WALLET[:-1] + "7", "0X" + WALLET[2:], "WETH", "٣" * 42, "0x" + "g" * 40, LONG],
    ids=lambda v: repr(v)[:30],
)  # fmt: skip
async def test_a_token_is_a_checksummed_address(
    client: httpx.AsyncClient, field: str, text: str | None
) -> None:
    answer = await requests.ask(client, requests.QUOTE, **{field: text})
    details = refused(answer, 400, "INVALID_TOKEN_ADDRESS")["details"]
    assert (details["field"], details["provided"]) == (field, (text or "")[:100])
    assert details["reason"]


@pytest.mark.parametrize("field", ["sellToken", "buyToken"])
@pytest.mark.parametrize(
    "text",
    ["0x" + "0" * 40, "0x" + "e" * 40, "0x" + "E" * 40,
     "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"],
)  # fmt: skip
async def test_native_eth_is_no_token_in_any_case(
    client: httpx.AsyncClient, field: str, text: str
) -> None:
    answer = await requests.ask(client, requests.QUOTE, **{field: text})
    body = refused(answer, 400, "NATIVE_ETH_NOT_SUPPORTED")
    assert "WETH" in body["suggestion"]


async def test_a_token_is_not_swapped_for_itself(client: httpx.AsyncClient) -> None:
    token = requests.quote_query()["sellToken"]
    answer = await requests.ask(client, requests.QUOTE, buyToken=token)
    assert refused(answer, 400, "INVALID_TOKEN_ADDRESS")["details"]["field"] == "buyToken"


@pytest.mark.parametrize("text", [None, ""])
async def test_a_swap_quote_needs_a_wallet(client: httpx.AsyncClient, text: str | None) -> None:
    answer = await requests.ask(client, requests.QUOTE, userAddress=text)
    refused(answer, 400, "USER_ADDRESS_REQUIRED")


@pytest.mark.parametrize("path", [requests.QUOTE, requests.WRAP_INFO])
async def test_a_wallet_is_a_checksummed_address(client: httpx.AsyncClient, path: str) -> None:
    answer = await requests.ask(client, path, userAddress=WALLET.lower())
    details = refused(answer, 400, "INVALID_ADDRESS")["details"]
    assert details["provided"] == WALLET.lower()


@pytest.mark.parametrize("given", [{}, {"userAddress": ""}])
async def test_wrap_info_needs_a_wallet(client: httpx.AsyncClient, given: dict[str, str]) -> None:
    answer = await client.get(requests.WRAP_INFO, params=given)
    body = refused(answer, 400, "MISSING_PARAMETER")
    assert body["details"] == {"field": "userAddress", "required": True}


@pytest.mark.parametrize("text", [WALLET.lower(), "0x12", "%00", "%ff", "%zz", "a" * 10_000])
async def test_a_history_is_of_a_checksummed_wallet(client: httpx.AsyncClient, text: str) -> None:
    answer = await client.get(f"/api/v1/mev/orders/user/{text}")
    details = refused(answer, 400, "INVALID_ADDRESS")["details"]
    assert details["address"] == details["provided"]
    assert details["reason"]


@pytest.mark.parametrize("text", ["%00", "%ff", "%zz", "a%20b", "%D9%A3", "x" * 129, "user"])
async def test_an_id_that_cannot_exist_is_an_order_that_does_not(
    client: httpx.AsyncClient, inside: ScriptedUseCases, text: str
) -> None:
    inside.fails = OrderNotFound()
    answer = await client.get(f"{requests.ORDERS}/{text}")
    assert refused(answer, 404, "ORDER_NOT_FOUND").keys() == {"ok", "error", "message"}
    assert len(inside.asked) == (1 if text in ("user", "%zz") else 0)


READERS = (requests.QUOTE, requests.HISTORY, requests.WRAP_INFO)


@pytest.mark.parametrize("path", READERS)
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("userAddress=%", "userAddress"),
        ("userAddress=%z0", "userAddress"),
        ("userAddress=%ff", "userAddress"),
        ("limit=%C3%28", "limit"),
        ("%ff=1", "%ff"),
        ("a=%e", "a"),
        ("limit=1&limit=1", "limit"),
        ("a=1&b=2&%61=1", "a"),
        ("=1&=2", ""),
    ],
)
async def test_a_query_that_cannot_be_read_one_way_only_is_refused(
    client: httpx.AsyncClient, path: str, query: str, name: str
) -> None:
    answer = await client.get(httpx.URL(f"http://edge{path}", query=query.encode()))
    details = refused(answer, 400, "INVALID_PARAMETER")["details"]
    assert details["parameter"] == name


async def raw_get(app: ASGIApp, path: str, query: bytes) -> dict[str, Any]:
    """Send what no HTTP client would and return the envelope."""
    sent: list[dict[str, Any]] = []
    headers = [(b"x-api-key", SECRET.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope | {"headers": headers}, receive, send)
    told: dict[str, Any] = json.loads(sent[1]["body"])
    return told | {"status": sent[0]["status"]}


async def test_raw_bytes_in_a_query_are_refused(app: ASGIApp) -> None:
    told = await raw_get(app, requests.HISTORY, b"limit=\xff")
    assert (told["status"], told["error"]) == (400, "INVALID_PARAMETER")


@pytest.mark.parametrize("name", ["sellToken", "sellAmount", "userAddress", "slippageBps"])
async def test_a_million_digits_are_refused_quickly(app: ASGIApp, name: str) -> None:
    query = urlencode(requests.quote_query(**{name: HUGE})).encode()
    started = time.process_time()
    told = await raw_get(app, requests.QUOTE, query)
    assert time.process_time() - started < BOUND_S
    assert told["status"] == 400
    assert told["details"]["provided"] == "9" * 100


async def test_a_path_no_encoding_can_spell_is_not_found(app: ASGIApp) -> None:
    told = await raw_get(app, "/api/\udcff", b"")
    assert (told["status"], told["details"]) == (404, {"path": "/api/?"})


async def test_unknown_parameters_and_empty_pairs_are_tolerated(client: httpx.AsyncClient) -> None:
    url = httpx.URL(f"http://edge{requests.HISTORY}", query=b"&&a=b&c&limit=5&")
    assert (await client.get(url)).status_code == 200


async def test_a_plus_is_a_blank(client: httpx.AsyncClient) -> None:
    url = httpx.URL(f"http://edge{requests.HISTORY}", query=b"status=a+b%2B")
    details = refused(await client.get(url), 400, "INVALID_PARAMETER")["details"]
    assert details["provided"] == "a b+"
