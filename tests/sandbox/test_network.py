"""The whole network over HTTP: control API, the node's faults, and the stop."""

import asyncio
from typing import Any

import httpx
import pytest

from quietswap.rules.vendors import OVER_HTTP
from quietswap.sandbox.faults import UnknownFault, parse_option
from quietswap.sandbox.network import SandboxNetwork, running_network
from tests import loopback
from tests.sandbox.network_client import Control, payment, rpc, send
from tests.waiting import WITHIN_S


async def test_faults_are_switched_over_http(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    assert await control("GET", "/faults") == {"faults": {}}
    assert await control("PUT", "/faults/sushi", fault="html:200") == {
        "faults": {"sushi": "html:200"}
    }
    assert (await http.get(sandbox.venues["sushi"])).text.startswith("<!DOCTYPE")
    assert await control("DELETE", "/faults/sushi") == {"faults": {}}
    for part, fault in (("uniswap", "hang"), ("sushi", "lag:2"), ("sushi", 3)):
        wrong = await http.put(f"{sandbox.control_url}/faults/{part}", json={"fault": fault})
        assert wrong.status_code == 400
        assert wrong.json()["error"]
    assert (await http.get(sandbox.control_url + "/nothing")).json()["routes"]
    assert (await http.post(sandbox.control_url + "/faults/sushi")).status_code == 405


async def test_down_has_taken_effect_when_the_control_answers(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    await control("PUT", "/faults/relay", fault="down")
    with pytest.raises(httpx.ConnectError):
        await http.get(sandbox.relay_url)
    await control("DELETE", "/faults/relay")
    assert await rpc(http, sandbox.relay_url, "eth_chainId") == "0x1"


async def test_faults_from_the_start() -> None:
    faults = [parse_option("velora=500"), parse_option("prices=absent")]
    async with running_network(faults=faults, paused=True) as sandbox:
        assert sandbox.active_faults.active() == {
            "coingecko": "absent", "defillama": "absent", "velora": "500",
        }  # fmt: skip
    with pytest.raises(UnknownFault):
        parse_option("velora=whatever")


async def test_blocks_on_demand_and_reorgs(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    head = int(await rpc(http, sandbox.rpc_url, "eth_blockNumber"), 16)
    assert await control("POST", "/mine") == {"head": head + 1}
    assert await control("POST", "/mine", blocks=4) == {"head": head + 5}
    before = await rpc(http, sandbox.rpc_url, "eth_getBlockByNumber", "latest", False)
    too_deep = await http.post(sandbox.control_url + "/reorg", json={"depth": 6})
    assert too_deep.json() == {"error": "a reorg may be 5 blocks deep now"}
    assert await control("POST", "/reorg", depth=3) == {"head": head + 5}
    after = await rpc(http, sandbox.rpc_url, "eth_getBlockByNumber", "latest", False)
    assert after["number"] == before["number"]
    assert after["hash"] != before["hash"]
    for blocks in (0, -1, "two", 10**9, True):
        wrong = await http.post(sandbox.control_url + "/mine", json={"blocks": blocks})
        assert wrong.status_code == 400


async def test_mining_is_paused_and_resumed() -> None:
    async with (
        running_network(block_time=0.02) as sandbox,
        loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as http,
    ):
        control = Control(http, sandbox)
        assert await control("POST", "/pause_mining") == {"paused": True}
        await control("POST", "/mine")  # behind a block that was being built
        head = (await sandbox.chain.head())["number"]
        await asyncio.sleep(0.1)
        assert (await sandbox.chain.head())["number"] == head
        assert await control("POST", "/resume_mining") == {"paused": False}
        async with asyncio.timeout(WITHIN_S):
            while (await sandbox.chain.head())["number"] == head:
                pass


async def test_the_control_tells_what_the_relay_holds_and_what_leaked(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    kept, leaked = payment(sandbox), payment(sandbox, nonce=1)
    relay = f"{sandbox.relay_url}/noreverts?shareSafe=1&referrer=test"
    assert await send(http, relay, kept) == kept.hash
    assert (await send(http, relay, kept))["message"] == "already known"
    await send(http, relay, leaked)
    await send(http, relay, payment(sandbox, value=10**30))
    shown = await control("GET", "/relay")
    assert shown["backup_relay"] == {"transactions": [], "refused": {}}
    assert list(shown["relay"]["refused"].values()) == [1]
    assert shown["relay"]["transactions"][0] == {
        "hash": kept.hash, "sender": sandbox.wallets[0].address, "nonce": 0, "state": "held",
        "endpoint": "noreverts", "share": "shareSafe", "referrer": "test", "submissions": 2,
        "simulationError": None, "block": None,
    }  # fmt: skip
    assert await control("GET", "/mempool-leaks") == {"leaks": []}
    await send(http, sandbox.rpc_url, leaked)
    assert await control("GET", "/mempool-leaks") == {"leaks": [leaked.hash]}
    mined = await control("POST", "/mine")
    rows = (await control("GET", "/relay"))["relay"]["transactions"]
    assert [row["block"] for row in rows] == [mined["head"]] * 2
    assert kept.raw.hex() not in str(rows)
    assert await control("GET", "/searcher") == []


async def test_private_transactions_cannot_be_seen_through_the_node(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    tx = payment(sandbox)
    await send(http, sandbox.relay_url, tx)
    assert await rpc(http, sandbox.rpc_url, "eth_getTransactionByHash", tx.hash) is None
    seen: list[Any] = []

    async def watch() -> None:
        while not mining.done():
            content = await rpc(http, sandbox.rpc_url, "txpool_content")
            seen.extend((*content["pending"], *content["queued"]))

    mining = asyncio.create_task(control("POST", "/mine", blocks=20))
    await asyncio.gather(mining, watch())
    assert seen == []
    assert await rpc(http, sandbox.rpc_url, "eth_getTransactionByHash", tx.hash)


async def test_a_feed_answers_what_it_is_told(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    feed = "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419"
    call = {"to": feed, "data": "0xfeaf968c"}  # latestRoundData()
    await control("PUT", "/feed", pair="ETH / USD", usd="1234.5", age=7200)
    answer = (await rpc(http, sandbox.rpc_url, "eth_call", call, "latest"))[2:]
    words = [int(answer[at : at + 64], 16) for at in range(0, 320, 64)]
    now = int((await sandbox.chain.head())["timestamp"], 16)
    assert words[1] == 1234_50000000
    assert words[3] == now - 7200
    wrong = await http.put(sandbox.control_url + "/feed", json={"pair": "X / Y", "usd": "1"})
    assert wrong.status_code == 400


async def test_two_sandboxes_live_side_by_side_and_leave_nothing() -> None:
    async with running_network() as one, running_network() as two:
        assert set(one.urls.values()).isdisjoint(two.urls.values())
        processes = [one.chain.node.process, two.chain.node.process]
        ports = [int(url.rsplit(":")[-1]) for url in (*one.urls.values(), *two.urls.values())]
    assert all(process.returncode is not None for process in processes)
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_a_wanted_port_that_is_taken_leaves_nothing_running(sandbox: SandboxNetwork) -> None:
    taken = int(sandbox.control_url.rsplit(":")[-1])
    before = asyncio.all_tasks()
    with pytest.raises(OSError, match="address already in use"):
        await running_network(ports={"control": taken}).__aenter__()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_facts_are_at_hand(sandbox: SandboxNetwork) -> None:
    assert set(sandbox.tokens) == {"WETH", "USDC", "USDT", "DAI", "WBTC"}
    assert len(sandbox.wallets) == 8
    assert set(sandbox.venues) == set(OVER_HTTP)
