"""What the tokens of strangers make the node do: bounded, remembered, and in the visitors' turn."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from quietswap.sandbox.contracts.addresses import LIMITED_MULTICALL
from quietswap.sandbox.contracts.pools import USDC, V3_TICK_SPACINGS, WETH, SandboxToken
from quietswap.sandbox.http_server import HttpResponse
from quietswap.service.node.work import PLACES, Lane
from tests import loopback
from tests.e2e import foreign_tokens
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.reports.proxy import Calls, RpcProxy, proxy
from tests.spec.api_client import ETHER, ApiClient
from tests.waiting import WITHIN_S, eventually

BURNING = foreign_tokens.token("0x70ce000000000000000000000000000000000003", 300)
OWN_SOURCE = {"QUOTES__SOURCES": "uniswap"}


@pytest.fixture(scope="module")
def burning(town: Town) -> SandboxToken:
    """A token with pools of every kind, whose `transfer` uses up all gas that it gets."""
    with ApiClient(town) as desk:
        foreign_tokens.deploy(desk, BURNING)
        foreign_tokens.open_pool(desk, BURNING, WETH, 3_000_000)
        for fee in V3_TICK_SPACINGS:
            foreign_tokens.open_pool(desk, BURNING, WETH, 1_500_000, fee)
        foreign_tokens.burn_in_transfer(desk, BURNING)
    return BURNING


def gas_of_quotes(body: Calls) -> int:
    """Return the gas that the quotes in a batch may use."""
    calls = body if isinstance(body, list) else [body]
    asked = [call["params"][0] for call in calls if call["method"] == "eth_call"]
    return sum(
        int(each.get("gas", "0x2faf080"), 16)
        for each in asked
        if each["to"].lower() == LIMITED_MULTICALL.lower() or "gas" not in each
    )


def ask(buy: SandboxToken, amount: int) -> dict[str, str]:
    return {"sellToken": WETH.address, "buyToken": buy.address, "sellAmount": str(amount)}


async def test_a_token_that_burns_gas_is_bounded_and_remembered(
    town: Town, burning: SandboxToken, tmp_path: Path
) -> None:
    seen: list[int] = []

    async def count(_: RpcProxy, body: Calls) -> None:
        seen.append(gas_of_quotes(body))

    def prices(served: Served) -> None:
        for n in range(4):
            served.town.api.get("/api/v1/price", params=ask(burning, ETHER + n))
            sums.append(sum(seen))

    sums: list[int] = []
    async with proxy(town.facts["rpcUrl"], count) as node:
        with serving(town, tmp_path, NODE__URLS=node.url, **OWN_SOURCE) as served:
            seen.clear()
            await asyncio.to_thread(prices, served)
    first, *later = sums
    assert 0 < first < 80_000_000, "of all quotes, and of calls without a limit"
    assert [total - first for total in later] == [0, 0, 0]


def visitor_price(served: Served, buy: SandboxToken, amount: int) -> Any:
    own = {"Sec-Fetch-Site": "same-origin", "Origin": served.url.rstrip("/")}
    with loopback.Client(base_url=served.url, headers=own, timeout=WITHIN_S) as browser:
        assert browser.post("/web/session", json={}).status_code == 200
        return browser.get("/api/v1/price", params=ask(buy, amount))


async def test_visitors_wait_for_each_other_and_no_client_for_them(
    town: Town, burning: SandboxToken, tmp_path: Path
) -> None:
    """A node that works for ever on what a visitor's token makes it do."""
    token, free, held = burning.address[2:].lower(), asyncio.Event(), [0, 0]

    async def work(_: RpcProxy, body: Calls) -> HttpResponse | None:
        if token in str(body).lower() and "eth_call" in str(body):
            held[0] += 1
            held[1] = max(held)
            await free.wait()
            held[0] -= 1
        return None

    slow = {"NODE__TIMEOUT_S": "60", "QUOTES__HARD_DEADLINE_S": "9", "QUOTES__SOFT_DEADLINE_S": "8"}
    most = PLACES[Lane.FOREIGN][1]
    async with proxy(town.facts["rpcUrl"], work) as node:
        with serving(town, tmp_path, NODE__URLS=node.url, **OWN_SOURCE, **slow) as served:
            asked = [
                asyncio.create_task(asyncio.to_thread(visitor_price, served, burning, ETHER + n))
                for n in range(3 * most)
            ]

            async def are_held() -> bool:
                return held[0] >= most

            await eventually(are_held)
            for n in range(5):
                client = served.town.api
                params = ask(USDC, 2 * ETHER + n)
                answer = await asyncio.to_thread(client.get, "/api/v1/price", params=params)
                assert answer.status_code == 200, answer.text
            assert held[1] == most
            free.set()
            await asyncio.gather(*asked)
