"""The stand-ins for DefiLlama and CoinGecko: shapes, pool prices, faults."""

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from quietswap.sandbox.pools import POOLS
from quietswap.sandbox.stage import Options, Sandbox, running_sandbox
from quietswap.sandbox.tokens import ALL_TOKENS, FEE, USDC, WBTC, WETH


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with running_sandbox(Options(paused=True)) as running:
        yield running


async def _llama(sandbox: Sandbox, *coins: str) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False) as http:
        reply = await http.get(f"{sandbox.defillama_url}/prices/current/{','.join(coins)}")
    found: dict[str, Any] = reply.json()["coins"]
    return found


async def _gecko(sandbox: Sandbox, *addresses: str, **changes: str) -> dict[str, Any]:
    query = {"contract_addresses": ",".join(addresses), "vs_currencies": "usd"} | changes
    async with httpx.AsyncClient(trust_env=False) as http:
        url = sandbox.coingecko_url + "/api/v3/simple/token_price/ethereum"
        found: dict[str, Any] = (await http.get(url, params=query)).json()
    return found


async def test_both_quote_the_pools(sandbox: Sandbox) -> None:
    for token in ALL_TOKENS.values():
        key = f"ethereum:{token.address}"
        coin = (await _llama(sandbox, key))[key]
        off = 0.02 if token is FEE else 0.001  # its pool received less than was sent
        assert coin["price"] == pytest.approx(float(token.usd), rel=off)
        assert (coin["symbol"], coin["decimals"]) == (token.symbol, token.decimals)
        row = (await _gecko(sandbox, token.address))[token.address.lower()]
        assert row == {"usd": coin["price"]}


async def test_prices_follow_a_trade(sandbox: Sandbox) -> None:
    key = f"ethereum:{WBTC.address}"
    before = (await _llama(sandbox, key))[key]["price"]
    pair = next(pool for pool in POOLS if WBTC in (pool.first, pool.second))
    await sandbox.chain.give(WETH, pair.address, pair.amounts[1] * 11 // 10)
    sync = bytes.fromhex("fff6cae9")
    await sandbox.chain.send(sandbox.wallets[0].address, pair.address, sync, gas=200_000)
    await sandbox.builder.mine(1)
    assert (await _llama(sandbox, key))[key]["price"] == pytest.approx(before * 1.1, rel=1e-2)

    return POOLS


async def test_several_at_once_and_the_unknown_are_left_out(sandbox: Sandbox) -> None:
    nobody = "0x000000000000000000000000000000000000dEaD"
    asked = (f"ethereum:{WETH.address.lower()}", f"ethereum:{nobody}", "coingecko:ethereum", "x")
    coins = await _llama(sandbox, *asked)
    assert set(coins) == {asked[0], "coingecko:ethereum"}
    assert "decimals" not in coins["coingecko:ethereum"]
    rows = await _gecko(sandbox, USDC.address, nobody, "nonsense", include_last_updated_at="true")
    assert set(rows) == {USDC.address.lower()}
    assert abs(rows[USDC.address.lower()]["last_updated_at"] - time.time()) < 5
    assert await _gecko(sandbox, USDC.address, vs_currencies="eur") == {}


async def test_faults_of_one_source_and_of_both(sandbox: Sandbox) -> None:
    key, address = f"ethereum:{FEE.address}", FEE.address.lower()
    true = (await _llama(sandbox, key))[key]
    sandbox.board.put("defillama", "2x")
    assert (await _llama(sandbox, key))[key]["price"] == pytest.approx(2 * true["price"])
    assert (await _gecko(sandbox, address))[address]["usd"] == true["price"]
    sandbox.board.put("prices", "stale")
    assert (await _llama(sandbox, key))[key]["timestamp"] < time.time() - 80_000
    dated = await _gecko(sandbox, address, include_last_updated_at="true")
    assert dated[address]["last_updated_at"] < time.time() - 80_000
    sandbox.board.put("prices", "absent")
    assert await _llama(sandbox, key, "coingecko:ethereum") == {}
    assert await _gecko(sandbox, address) == {}


async def test_other_paths_are_not_found(sandbox: Sandbox) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        for url in (sandbox.defillama_url, sandbox.coingecko_url):
            assert (await http.get(url + "/api/v3/coins/list")).status_code == 404
