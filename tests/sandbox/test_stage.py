"""The whole sandbox over HTTP: its control address, its node's faults, and its end."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from quietswap.sandbox.faults import BadFault, parse_option
from quietswap.sandbox.rawtx import Signed, Unsigned, sign
from quietswap.sandbox.stage import Options, Sandbox, running_sandbox

GWEI = 10**9
PAUSED = Options(paused=True)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with running_sandbox(PAUSED) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
        yield client


async def _rpc(http: httpx.AsyncClient, url: str, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = (await http.post(url, json=body)).json()
    assert answer["id"] == 7
    return answer["result"] if "result" in answer else answer["error"]


def _payment(sandbox: Sandbox, nonce: int = 0, tip: int = 0, value: int = 1) -> Signed:
    alice, bob = sandbox.wallets[0], sandbox.wallets[1]
    fields = Unsigned(nonce, bob.address, b"", 21_000, 3 * GWEI, tip, value)
    return sign(fields, alice.private_key)


async def _send(http: httpx.AsyncClient, url: str, tx: Signed) -> Any:
    return await _rpc(http, url, "eth_sendRawTransaction", "0x" + tx.raw.hex())


class Control:
    """The control address as a client sees it."""

    def __init__(self, http: httpx.AsyncClient, sandbox: Sandbox) -> None:
        self._http = http
        self._url = sandbox.control_url

    async def __call__(self, method: str, path: str, **body: Any) -> Any:
        reply = await self._http.request(method, self._url + path, json=body or None)
        assert reply.status_code == 200, reply.text
        return reply.json()


@pytest.fixture
def control(http: httpx.AsyncClient, sandbox: Sandbox) -> Control:
    return Control(http, sandbox)


async def test_faults_are_switched_over_http(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
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
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    await control("PUT", "/faults/relay", fault="down")
    with pytest.raises(httpx.ConnectError):
        await http.get(sandbox.relay_url)
    await control("DELETE", "/faults/relay")
    assert await _rpc(http, sandbox.relay_url, "eth_chainId") == "0x1"


async def test_faults_from_the_start() -> None:
    faults = [parse_option("velora=500"), parse_option("prices=absent")]
    async with running_sandbox(Options(faults=faults, paused=True)) as sandbox:
        assert sandbox.board.active() == {
            "coingecko": "absent", "defillama": "absent", "velora": "500",
        }  # fmt: skip
    with pytest.raises(BadFault):
        parse_option("velora=whatever")


async def test_blocks_on_demand_and_reorgs(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    head = int(await _rpc(http, sandbox.rpc_url, "eth_blockNumber"), 16)
    assert await control("POST", "/mine") == {"head": head + 1}
    assert await control("POST", "/mine", blocks=4) == {"head": head + 5}
    before = await _rpc(http, sandbox.rpc_url, "eth_getBlockByNumber", "latest", False)
    assert await control("POST", "/reorg", depth=3) == {"head": head + 5}
    after = await _rpc(http, sandbox.rpc_url, "eth_getBlockByNumber", "latest", False)
    assert after["number"] == before["number"]
    assert after["hash"] != before["hash"]
    for blocks in (0, -1, "two", 10**9, True):
        wrong = await http.post(sandbox.control_url + "/mine", json={"blocks": blocks})
        assert wrong.status_code == 400


async def test_mining_is_paused_and_resumed() -> None:
    async with (
        running_sandbox(Options(block_time=0.02)) as sandbox,
        httpx.AsyncClient(timeout=5, trust_env=False) as http,
    ):
        control = Control(http, sandbox)
        assert await control("POST", "/pause_mining") == {"paused": True}
        head = (await sandbox.chain.head())["number"]
        await asyncio.sleep(0.1)
        assert (await sandbox.chain.head())["number"] == head
        assert await control("POST", "/resume_mining") == {"paused": False}
        async with asyncio.timeout(5):
            while (await sandbox.chain.head())["number"] == head:
                pass


async def test_the_control_tells_what_the_relay_holds_and_what_leaked(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    kept, leaked = _payment(sandbox), _payment(sandbox, nonce=1)
    relay = f"{sandbox.relay_url}/noreverts?shareSafe=1&referrer=test"
    assert await _send(http, relay, kept) == kept.hash
    assert (await _send(http, relay, kept))["message"] == "already known"
    await _send(http, relay, leaked)
    await _send(http, relay, _payment(sandbox, value=10**30))
    shown = await control("GET", "/relay")
    assert shown["backup_relay"] == {"transactions": [], "refused": {}}
    assert list(shown["relay"]["refused"].values()) == [1]
    assert shown["relay"]["transactions"][0] == {
        "hash": kept.hash, "sender": sandbox.wallets[0].address, "nonce": 0, "state": "held",
        "endpoint": "noreverts", "share": "shareSafe", "referrer": "test", "submissions": 2,
        "simulationError": None, "block": None,
    }  # fmt: skip
    assert await control("GET", "/mempool-leaks") == {"leaks": []}
    await _send(http, sandbox.rpc_url, leaked)
    assert await control("GET", "/mempool-leaks") == {"leaks": [leaked.hash]}
    mined = await control("POST", "/mine")
    rows = (await control("GET", "/relay"))["relay"]["transactions"]
    assert [row["block"] for row in rows] == [mined["head"]] * 2
    assert kept.raw.hex() not in str(rows)
    assert await control("GET", "/searcher") == []


async def test_private_transactions_cannot_be_seen_through_the_node(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    tx = _payment(sandbox)
    await _send(http, sandbox.relay_url, tx)
    assert await _rpc(http, sandbox.rpc_url, "eth_getTransactionByHash", tx.hash) is None
    seen: list[Any] = []

    async def watch() -> None:
        while not mining.done():
            content = await _rpc(http, sandbox.rpc_url, "txpool_content")
            seen.extend((*content["pending"], *content["queued"]))

    mining = asyncio.create_task(control("POST", "/mine", blocks=20))
    await asyncio.gather(mining, watch())
    assert seen == []
    assert await _rpc(http, sandbox.rpc_url, "eth_getTransactionByHash", tx.hash)


async def test_the_node_answers_batches_and_nonsense(
    sandbox: Sandbox, http: httpx.AsyncClient
) -> None:
    batch = [{"jsonrpc": "2.0", "id": n, "method": "eth_chainId"} for n in range(3)]
    answers = (await http.post(sandbox.rpc_url, json=batch)).json()
    assert [answer["result"] for answer in answers] == ["0x1"] * 3
    for body in (b"{", b"[]", b"3", b'{"id":1}'):
        assert "error" in (await http.post(sandbox.rpc_url, content=body)).json()
    assert (await http.get(sandbox.rpc_url)).status_code == 405


async def test_a_lagging_node(sandbox: Sandbox, http: httpx.AsyncClient, control: Control) -> None:
    tx = _payment(sandbox)
    await control("POST", "/mine", blocks=5)
    await _send(http, sandbox.relay_url, tx)
    head = (await control("POST", "/mine"))["head"]
    await control("PUT", "/faults/node", fault="lag:3")
    url, alice = sandbox.rpc_url, sandbox.wallets[0].address
    assert int(await _rpc(http, url, "eth_blockNumber"), 16) == head - 3
    latest = await _rpc(http, url, "eth_getBlockByNumber", "latest", True)
    assert int(latest["number"], 16) == head - 3
    assert await _rpc(http, url, "eth_getBlockByNumber", hex(head), False) is None
    assert await _rpc(http, url, "eth_getTransactionReceipt", tx.hash) is None
    assert await _rpc(http, url, "eth_getTransactionByHash", tx.hash) is None
    assert await _rpc(http, url, "eth_getTransactionCount", alice, "latest") == "0x0"
    assert await _rpc(http, url, "eth_getTransactionCount", alice, "pending") == "0x0"
    above = await _rpc(http, url, "eth_getBalance", alice, hex(head))
    assert above["message"] == "header not found"
    await control("POST", "/mine", blocks=3)
    assert await _rpc(http, url, "eth_getTransactionReceipt", tx.hash)
    assert await _rpc(http, url, "eth_getTransactionCount", alice, "latest") == "0x1"


async def test_a_node_on_another_fork(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    url, tx = sandbox.rpc_url, _payment(sandbox)
    await control("POST", "/mine", blocks=3)
    await _send(http, sandbox.relay_url, tx)
    head = (await control("POST", "/mine"))["head"]
    real = await _rpc(http, url, "eth_getBlockByNumber", hex(head), True)
    await control("PUT", "/faults/node", fault="fork:2")
    assert int(await _rpc(http, url, "eth_blockNumber"), 16) == head
    chain = [await _rpc(http, url, "eth_getBlockByNumber", hex(n), True) for n in range(head + 1)]
    assert all(b["parentHash"] == a["hash"] for a, b in itertools.pairwise(chain))
    assert chain[head]["hash"] != real["hash"]
    assert chain[head]["transactions"] == []
    assert await _rpc(http, url, "eth_getBlockByHash", real["hash"], False) is None
    assert await _rpc(http, url, "eth_getBlockByHash", chain[head]["hash"], True) == chain[head]
    assert await _rpc(http, url, "eth_getBlockReceipts", "latest") == []
    assert await _rpc(http, url, "eth_getTransactionReceipt", tx.hash) is None
    await control("POST", "/mine")
    latest = await _rpc(http, url, "eth_getBlockByNumber", "latest", False)
    assert latest["parentHash"] == chain[head]["hash"]
    await control("DELETE", "/faults/node")
    assert await _rpc(http, url, "eth_getTransactionReceipt", tx.hash)


async def test_a_node_that_flaps_and_one_that_cannot_simulate(
    sandbox: Sandbox, http: httpx.AsyncClient, control: Control
) -> None:
    await control("PUT", "/faults/node", fault="flap:0.5")
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"}
    statuses = [(await http.post(sandbox.rpc_url, json=body)).status_code for _ in range(60)]
    assert 10 < statuses.count(502) < 50
    await control("PUT", "/faults/node", fault="no_simulate")
    failure = await _rpc(http, sandbox.rpc_url, "eth_simulateV1", {"blockStateCalls": []}, "latest")
    assert failure["code"] == -32601
    assert await _rpc(http, sandbox.rpc_url, "eth_chainId") == "0x1"


async def test_two_sandboxes_live_side_by_side_and_leave_nothing() -> None:
    async with running_sandbox() as one, running_sandbox() as two:
        assert set(one.urls.values()).isdisjoint(two.urls.values())
        processes = [one.chain.anvil.process, two.chain.anvil.process]
        ports = [int(url.rsplit(":")[-1]) for url in (*one.urls.values(), *two.urls.values())]
    assert all(process.returncode is not None for process in processes)
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_a_wanted_port_that_is_taken_leaves_nothing_running(sandbox: Sandbox) -> None:
    taken = int(sandbox.control_url.rsplit(":")[-1])
    before = asyncio.all_tasks()
    with pytest.raises(OSError, match="address already in use"):
        await Sandbox.start(Options(ports={"control": taken}))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_stopping_twice_is_harmless_and_facts_are_at_hand() -> None:
    sandbox = await Sandbox.start(PAUSED)
    assert set(sandbox.tokens) == {"WETH", "USDC", "USDT", "DAI", "WBTC"}
    assert len(sandbox.wallets) == 8
    assert set(sandbox.venues) == {
        "kyberswap", "velora", "sushi", "openocean", "zeroex", "oneinch",
    }  # fmt: skip
    await sandbox.stop()
    await sandbox.stop()
