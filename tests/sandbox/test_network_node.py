"""The node's proxy: forwarded requests, and each of its faults."""

import gzip
import itertools
import json

import httpx

from quietswap.sandbox.network import SandboxNetwork
from tests.sandbox.network_client import Control, payment, rpc, send


async def test_the_node_answers_batches_and_nonsense(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    batch = [{"jsonrpc": "2.0", "id": n, "method": "eth_chainId"} for n in range(3)]
    answers = (await http.post(sandbox.rpc_url, json=batch)).json()
    assert [answer["result"] for answer in answers] == ["0x1"] * 3
    for body in (b"{", b"[]", b"3", b'{"id":1}'):
        assert "error" in (await http.post(sandbox.rpc_url, content=body)).json()
    assert (await http.get(sandbox.rpc_url)).status_code == 405


async def test_code_that_is_no_delegation_does_not_end_the_chain(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    url, bob = sandbox.rpc_url, sandbox.wallets[1].address
    state = json.loads(
        gzip.decompress(bytes.fromhex((await rpc(http, url, "anvil_dumpState"))[2:]))
    )
    state["accounts"][bob.lower()]["code"] = "0xef010011"
    loaded = "0x" + gzip.compress(json.dumps(state).encode()).hex()
    for method, *params in (
        ("anvil_setCode", bob, "0xef010011"),
        ("hardhat_setCode", bob, "0XEF01"),
        ("anvil_setCode", bob, [0xEF, 1, 0, 0x11]),
        ("anvil_setCode", bob, "0xef0101" + bob[2:]),
        ("anvil_loadState", loaded),
        ("hardhat_loadState", "0x" + json.dumps(state).encode().hex()),
    ):
        refused = await rpc(http, url, method, *params)
        assert refused["code"] == -32602, (method, refused)
        assert "EIP-7702: 0xef0100 and 20 bytes" in refused["message"]
    calls = (("anvil_setCode", [bob, "0xef01"]), ("eth_chainId", []))
    batch = [
        {"jsonrpc": "2.0", "id": n, "method": m, "params": p} for n, (m, p) in enumerate(calls)
    ]
    refused, answered = (await http.post(url, json=batch)).json()
    assert refused["error"]["code"] == -32602
    assert answered["result"] == "0x1"
    delegation = "0xef0100" + bob[2:].lower()
    for code in (delegation, "0xef", "0x"):
        assert await rpc(http, url, "anvil_setCode", bob, code) is None
        assert await rpc(http, url, "eth_getCode", bob, "latest") == code


async def test_a_lagging_node(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    tx = payment(sandbox)
    await control("POST", "/mine", blocks=5)
    await send(http, sandbox.relay_url, tx)
    head = (await control("POST", "/mine"))["head"]
    await control("PUT", "/faults/node", fault="lag:3")
    url, alice = sandbox.rpc_url, sandbox.wallets[0].address
    assert int(await rpc(http, url, "eth_blockNumber"), 16) == head - 3
    latest = await rpc(http, url, "eth_getBlockByNumber", "latest", True)
    assert int(latest["number"], 16) == head - 3
    assert await rpc(http, url, "eth_getBlockByNumber", hex(head), False) is None
    assert await rpc(http, url, "eth_getTransactionReceipt", tx.hash) is None
    assert await rpc(http, url, "eth_getTransactionByHash", tx.hash) is None
    assert await rpc(http, url, "eth_getTransactionCount", alice, "latest") == "0x0"
    assert await rpc(http, url, "eth_getTransactionCount", alice, "pending") == "0x0"
    above = await rpc(http, url, "eth_getBalance", alice, hex(head))
    assert above["message"] == "header not found"
    await control("POST", "/mine", blocks=3)
    assert await rpc(http, url, "eth_getTransactionReceipt", tx.hash)
    assert await rpc(http, url, "eth_getTransactionCount", alice, "latest") == "0x1"


async def test_a_node_on_another_fork(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    url, tx = sandbox.rpc_url, payment(sandbox)
    await control("POST", "/mine", blocks=3)
    await send(http, sandbox.relay_url, tx)
    head = (await control("POST", "/mine"))["head"]
    real = await rpc(http, url, "eth_getBlockByNumber", hex(head), True)
    await control("PUT", "/faults/node", fault="fork:2")
    assert int(await rpc(http, url, "eth_blockNumber"), 16) == head
    chain = [await rpc(http, url, "eth_getBlockByNumber", hex(n), True) for n in range(head + 1)]
    assert all(b["parentHash"] == a["hash"] for a, b in itertools.pairwise(chain))
    assert chain[head]["hash"] != real["hash"]
    assert chain[head]["transactions"] == []
    assert await rpc(http, url, "eth_getBlockByHash", real["hash"], False) is None
    assert await rpc(http, url, "eth_getBlockByHash", chain[head]["hash"], True) == chain[head]
    assert await rpc(http, url, "eth_getBlockReceipts", "latest") == []
    assert await rpc(http, url, "eth_getTransactionReceipt", tx.hash) is None
    await control("POST", "/mine")
    latest = await rpc(http, url, "eth_getBlockByNumber", "latest", False)
    assert latest["parentHash"] == chain[head]["hash"]
    await control("DELETE", "/faults/node")
    assert await rpc(http, url, "eth_getTransactionReceipt", tx.hash)


async def test_a_node_that_flaps_and_one_that_cannot_simulate(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    await control("PUT", "/faults/node", fault="flap:0.5")
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"}
    statuses = [(await http.post(sandbox.rpc_url, json=body)).status_code for _ in range(60)]
    assert 10 < statuses.count(502) < 50
    await control("PUT", "/faults/node", fault="no_simulate")
    failure = await rpc(http, sandbox.rpc_url, "eth_simulateV1", {"blockStateCalls": []}, "latest")
    assert failure["code"] == -32601
    assert await rpc(http, sandbox.rpc_url, "eth_chainId") == "0x1"


async def test_receipts_that_are_late_or_empty(
    sandbox: SandboxNetwork, http: httpx.AsyncClient, control: Control
) -> None:
    url, tx = sandbox.rpc_url, payment(sandbox)
    await send(http, sandbox.relay_url, tx)
    head = (await control("POST", "/mine"))["head"]
    await control("PUT", "/faults/node", fault="empty_receipts")
    empty = await rpc(http, url, "eth_getTransactionReceipt", tx.hash)
    assert (empty["transactionHash"], empty["blockNumber"]) == (tx.hash, None)
    assert "status" not in empty
    assert await rpc(http, url, "eth_getBlockReceipts", hex(head)) == [empty]
    await control("PUT", "/faults/node", fault="late_receipts")
    assert await rpc(http, url, "eth_getTransactionReceipt", tx.hash) is None
    assert await rpc(http, url, "eth_getBlockReceipts", "latest") is None
    assert await rpc(http, url, "eth_getTransactionCount", tx.sender, "latest") == "0x1"
    await control("POST", "/mine")
    assert (await rpc(http, url, "eth_getTransactionReceipt", tx.hash))["status"] == "0x1"
