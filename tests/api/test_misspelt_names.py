"""A misspelt name is refused with the right one; other unknown names are tolerated."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietswap.rules.contract.requests import SwapOrderBody, SwapQuoteQuery
from quietswap.rules.wire import member_names
from quietswap.service.api.parsing.query import MOST_UNKNOWN, TooManyUnknownNames, find_misspelt
from tests.api import requests
from tests.api.scripted_use_cases import ScriptedUseCases
from tests.api.test_envelope import refused

NAMES = list(member_names(SwapQuoteQuery))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("slipageBps", "slippageBps"),
        ("slippagebps", "slippageBps"),
        ("SLIPPAGEBPS", "slippageBps"),
        ("slippageBp", "slippageBps"),
        ("slippage_bps", "slippageBps"),
        ("slippageBpss", "slippageBps"),
        ("slippgaeBps", "slippageBps"),
        ("slippage", "slippageBps"),
        ("slippagePercentage", "slippageBps"),
        ("slippage_tolerance", "slippageBps"),
        ("slippageBpsXYZ", "slippageBps"),
        ("chainID", "chainId"),
        ("selAmount", "sellAmount"),
        ("buytoken", "buyToken"),
    ],
)
async def test_a_misspelt_parameter_is_refused_and_the_right_one_named(
    client: httpx.AsyncClient, inside: ScriptedUseCases, wrong: str, right: str
) -> None:
    answer = await client.get(requests.QUOTE, params=requests.quote_query() | {wrong: "1"})
    body = refused(answer, 400, "INVALID_PARAMETER")
    assert body["details"]["parameter"] == wrong
    assert f"there is {right}" in body["message"]
    assert inside.asked == []


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        (requests.HISTORY, "limits", "limit"),
        (requests.HISTORY, "offSet", "offset"),
        (requests.HISTORY, "state", "status"),
        (requests.WRAP_INFO, "useraddress", "userAddress"),
    ],
)
async def test_so_it_is_on_every_endpoint_with_a_query(
    client: httpx.AsyncClient, path: str, wrong: str, right: str
) -> None:
    body = refused(await client.get(path, params={wrong: "1"}), 400, "INVALID_PARAMETER")
    assert right in body["message"]


@pytest.mark.parametrize(
    "name", ["utm_source", "_", "apiKey", "debug", "sellTokenSymbol", "maxSlippage"]
)
async def test_other_unknown_parameters_are_tolerated(client: httpx.AsyncClient, name: str) -> None:
    answer = await client.get(requests.QUOTE, params=requests.quote_query() | {name: "1"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("path", "at", "wrong", "right"),
    [
        (requests.ORDERS, (), "providerMetaData", "providerMetadata"),
        (requests.ORDERS, ("orderParams",), "slipageBps", "slippageBps"),
        (requests.ORDERS, ("orderParams",), "slippage", "slippageBps"),
        (requests.ORDERS, ("orderParams",), "referer", "referrer"),
        (requests.ORDERS, ("orderParams", "dexRoute"), "Data", "data"),
        (requests.ORDERS, ("orderParams", "threatAnalysis"), "threadLevel", "threatLevel"),
        (requests.WRAP_QUOTE, (), "chainID", "chainId"),
        (requests.WRAP_ORDER, (), "quoteID", "quoteId"),
        (requests.WRAP_ORDER, (), "amuont", "amount"),
    ],
)
async def test_a_misspelt_member_is_refused_and_the_right_one_named(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    path: str,
    at: tuple[str, ...],
    wrong: str,
    right: str,
) -> None:
    bodies: dict[str, Any] = {
        requests.ORDERS: requests.order_body(),
        requests.WRAP_QUOTE: requests.wrap_quote_body(),
        requests.WRAP_ORDER: requests.wrap_order_body(),
    }
    body = json.loads(json.dumps(bodies[path]))
    inner = body
    for name in at:
        inner = inner[name]
    inner[wrong] = inner.get(right, 1)
    told = refused(await client.post(path, json=body), 422, "VALIDATION_ERROR")["details"]
    prefix = "".join(f"{name}." for name in at)
    fault = {"field": prefix + wrong, "expected": prefix + right, "provided": wrong}
    assert (told["reason"], told["fields"]) == ("MALFORMED", [fault])
    assert inside.asked == []


@pytest.mark.parametrize("at", ["", "orderParams", "providerMetadata"])
async def test_a_member_that_is_given_twice_is_refused_by_name(
    client: httpx.AsyncClient, inside: ScriptedUseCases, at: str
) -> None:
    """A proxy that reads the first of the two would have checked another one."""
    body = requests.order_body()
    text = json.dumps(body)
    inner = body[at] if at else body
    name = next(iter(inner))
    once = json.dumps(inner)
    text = text.replace(once, f'{{"{name}": 1, {once[1:]}')
    headers = {"Content-Type": "application/json"}
    answer = refused(
        await client.post(requests.ORDERS, content=text, headers=headers), 422, "VALIDATION_ERROR"
    )
    assert f"{name} is given twice" in answer["message"]
    assert [fault["field"] for fault in answer["details"]["fields"]] == [name]
    assert inside.asked == []


async def test_a_whole_route_of_a_quote_may_be_sent_back(client: httpx.AsyncClient) -> None:
    """`path` is two letters away from `data`, and a member of every quote's dexRoute."""
    body = requests.order_body()
    body["orderParams"]["dexRoute"] |= {"dex": "x", "path": [], "estimatedGas": 1}
    assert (await client.post(requests.ORDERS, json=body)).status_code == 200


@given(name=st.sampled_from(NAMES), data=st.data())
def test_what_is_known_is_never_taken_for_a_slip(name: str, data: st.DataObject) -> None:
    assert list(find_misspelt(NAMES, NAMES)) == []
    place = data.draw(st.integers(0, len(name) - 1))
    shorter = name[:place] + name[place + 1 :]
    assert list(find_misspelt([shorter], NAMES)) == [(shorter, name)]


def test_a_body_full_of_unknown_names_is_refused_unread() -> None:
    names = [f"amoun{n}xyz" for n in range(100_000)] + ["amuont"]
    with pytest.raises(TooManyUnknownNames):
        list(find_misspelt(names, {*member_names(SwapOrderBody), "amount"}))
    assert list(find_misspelt(names, ())) == []


MANY = {f"x{n}_unknown": "1" for n in range(MOST_UNKNOWN)}


async def test_a_slip_behind_many_unknown_parameters_is_not_missed(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    query = requests.quote_query() | MANY
    assert (await client.get(requests.QUOTE, params=query)).status_code == 200
    inside.asked.clear()
    answer = await client.get(requests.QUOTE, params=query | {"slipageBps": "1"})
    body = refused(answer, 400, "INVALID_PARAMETER")
    assert "more than 50 unknown parameters" in body["message"]
    assert body["details"]["parameter"] == "slipageBps"
    assert inside.asked == []


@pytest.mark.parametrize(("at", "field"), [((), "$"), (("orderParams",), "orderParams")])
async def test_a_slip_behind_many_unknown_members_is_not_missed(
    client: httpx.AsyncClient, inside: ScriptedUseCases, at: tuple[str, ...], field: str
) -> None:
    body = json.loads(json.dumps(requests.order_body()))
    inner = body
    for name in at:
        inner = inner[name]
    inner |= MANY
    assert (await client.post(requests.ORDERS, json=body)).status_code == 200
    inside.asked.clear()
    inner["slipageBps"] = 1
    told = refused(await client.post(requests.ORDERS, json=body), 422, "VALIDATION_ERROR")
    (fault,) = told["details"]["fields"]
    assert (fault["field"], fault["expected"]) == (field, "at most 50 unknown members")
    assert inside.asked == []
