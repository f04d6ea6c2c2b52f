"""The stand-ins for DefiLlama and CoinGecko: formats, pool prices, faults."""

import time
from typing import Any

import httpx
import pytest

from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.pools import ALL_TOKENS, FEE, POOLS, USDC, WBTC, WETH
from quietswap.sandbox.network import SandboxNetwork
from tests import loopback
from tests.sandbox.accounts import give, send


async def _llama(sandbox: SandboxNetwork, *coins: str) -> dict[str, Any]:
    async with loopback.AsyncClient(trust_env=False) as http:
        reply = await http.get(f"{sandbox.urls['defillama']}/prices/current/{','.join(coins)}")
    found: dict[str, Any] = reply.json()["coins"]
    return found


async def _gecko(sandbox: SandboxNetwork, *addresses: str, **changes: str) -> dict[str, Any]:
    query = {"contract_addresses": ",".join(addresses), "vs_currencies": "usd"} | changes
    async with loopback.AsyncClient(trust_env=False) as http:
        url = sandbox.urls["coingecko"] + "/api/v3/simple/token_price/ethereum"
        found: dict[str, Any] = (await http.get(url, params=query)).json()
    return found


async def test_both_quote_the_pools(sandbox: SandboxNetwork) -> None:
    for token in ALL_TOKENS.values():
        key = f"ethereum:{token.address}"
        coin = (await _llama(sandbox, key))[key]
        off = 0.02 if token is FEE else 0.001  # its pool received less than was sent
        assert coin["price"] == pytest.approx(float(token.usd), rel=off)
        assert (coin["symbol"], coin["decimals"]) == (token.symbol, token.decimals)
        row = (await _gecko(sandbox, token.address))[token.address.lower()]
        assert row == {"usd": coin["price"]}


async def test_prices_follow_a_trade(sandbox: SandboxNetwork) -> None:
    key = f"ethereum:{WBTC.address}"
    before = (await _llama(sandbox, key))[key]["price"]
    pair = next(pool for pool in POOLS if WBTC in (pool.first, pool.second))
    await give(sandbox.chain, WETH, pair.address, pair.amounts[1] * 11 // 10)
    sync = bytes.fromhex("fff6cae9")
    await send(sandbox.chain, sandbox.wallets[0].address, pair.address, sync, gas=200_000)
    await sandbox.builder.mine(1)
    assert (await _llama(sandbox, key))[key]["price"] == pytest.approx(before * 1.1, rel=1e-2)


async def _feed(sandbox: SandboxNetwork, pair: str) -> float:
    answer = await sandbox.chain.call(contract_addresses.FEEDS[pair], abi.call("latestRoundData()"))
    return int.from_bytes(answer[32:64], signed=True) / 10**8


async def _trade_eth_upwards(sandbox: SandboxNetwork) -> None:
    """Raise the price of WETH by a fifth in one pair, which then has the best route."""
    pair = next(pool for pool in POOLS if {pool.first, pool.second} == {WETH, USDC})
    held = await sandbox.chain.token_balance(USDC.address, pair.address)
    await give(sandbox.chain, USDC, pair.address, held * 12 // 10)
    sync = bytes.fromhex("fff6cae9")
    await send(sandbox.chain, sandbox.wallets[0].address, pair.address, sync, gas=200_000)


async def test_the_feeds_follow_the_pools_unless_set_by_hand(sandbox: SandboxNetwork) -> None:
    async def control(method: str, body: dict[str, str]) -> httpx.Response:
        async with loopback.AsyncClient(trust_env=False) as http:
            return await http.request(method, f"{sandbox.control_url}/feed", json=body)

    await control("PUT", {"pair": "BTC / USD", "usd": "12345"})
    await _trade_eth_upwards(sandbox)
    await sandbox.builder.mine(1)
    key = f"ethereum:{WETH.address}"
    moved = (await _llama(sandbox, key))[key]["price"]
    assert moved == pytest.approx(3600, rel=2e-2)
    assert await _feed(sandbox, "ETH / USD") == pytest.approx(moved, rel=1e-3)
    assert await _feed(sandbox, "BTC / USD") == 12345
    assert await _feed(sandbox, "USDC / USD") == 1

    assert (await control("DELETE", {"pair": "BTC / USD"})).json()["usd"] == "pools"
    assert await _feed(sandbox, "BTC / USD") == pytest.approx(108_000, rel=3e-2)
    assert (await control("DELETE", {"pair": "X / Y"})).status_code == 400


async def test_the_feeds_go_back_with_a_reorg(sandbox: SandboxNetwork) -> None:
    await _trade_eth_upwards(sandbox)
    await sandbox.builder.mine(1)
    assert await _feed(sandbox, "ETH / USD") > 3500
    await sandbox.builder.reorg(1)
    assert await _feed(sandbox, "ETH / USD") == pytest.approx(3000, rel=1e-3)


async def test_several_at_once_and_the_unknown_are_left_out(sandbox: SandboxNetwork) -> None:
    nobody = "0x000000000000000000000000000000000000dEaD"
    asked = (f"ethereum:{WETH.address.lower()}", f"ethereum:{nobody}", "coingecko:ethereum", "x")
    coins = await _llama(sandbox, *asked)
    assert set(coins) == {asked[0], "coingecko:ethereum"}
    assert "decimals" not in coins["coingecko:ethereum"]
    before = time.time()
    rows = await _gecko(sandbox, USDC.address, nobody, "nonsense", include_last_updated_at="true")
    assert set(rows) == {USDC.address.lower()}
    assert before - 5 < rows[USDC.address.lower()]["last_updated_at"] < time.time() + 5
    assert await _gecko(sandbox, USDC.address, vs_currencies="eur") == {}


async def test_faults_of_one_source_and_of_both(sandbox: SandboxNetwork) -> None:
    key, address = f"ethereum:{FEE.address}", FEE.address.lower()
    true = (await _llama(sandbox, key))[key]
    sandbox.active_faults.put("defillama", "2x")
    assert (await _llama(sandbox, key))[key]["price"] == pytest.approx(2 * true["price"])
    assert (await _gecko(sandbox, address))[address]["usd"] == true["price"]
    sandbox.active_faults.put("prices", "stale")
    assert (await _llama(sandbox, key))[key]["timestamp"] < time.time() - 80_000
    dated = await _gecko(sandbox, address, include_last_updated_at="true")
    assert dated[address]["last_updated_at"] < time.time() - 80_000
    sandbox.active_faults.put("prices", "absent")
    assert await _llama(sandbox, key, "coingecko:ethereum") == {}
    assert await _gecko(sandbox, address) == {}


async def test_other_paths_are_not_found(sandbox: SandboxNetwork) -> None:
    async with loopback.AsyncClient(trust_env=False) as http:
        for url in (sandbox.urls["defillama"], sandbox.urls["coingecko"]):
            assert (await http.get(url + "/api/v3/coins/list")).status_code == 404
