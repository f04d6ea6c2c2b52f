"""The sandbox's node answers as geth where anvil accepts more, or has other words."""

import httpx

from quietswap.sandbox.network import SandboxNetwork
from tests.sandbox.geth_refusals import (
    ALICE,
    ANSWERS,
    FAILED,
    NOBODY,
    REFUSED,
    block,
    call,
    number,
    raw,
    shape,
    simulated,
    time,
)  # fmt: skip
from tests.sandbox.network_client import Control, rpc


async def test_refusals_are_those_of_geth(sandbox: SandboxNetwork, http: httpx.AsyncClient) -> None:
    head = await sandbox.chain.head()
    for name, asked in REFUSED.items():
        method, params = asked(head)
        error = await rpc(http, sandbox.rpc_url, method, *params)
        assert "code" in error, (name, error)
        assert shape(error) == shape(ANSWERS[name]["error"]), name


async def test_a_nonce_that_is_used_is_too_low(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    calls = [call(nonce="0x0"), call(), call(nonce="0x1")]
    method, params = simulated(block(*calls, baseFeePerGas="0x1"))
    error = await rpc(http, sandbox.rpc_url, method, *params)
    assert shape(error) == shape(ANSWERS["sim:lowNonce"]["error"])
    assert "tx: 1 state: 2" in error["message"]


async def test_a_failed_call_has_the_error_of_geth(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    head = await sandbox.chain.head()
    for name, asked in FAILED.items():
        method, params = asked(head)
        [result] = await rpc(http, sandbox.rpc_url, method, *params)
        [expected] = ANSWERS[name]["result"]
        assert result["calls"][0]["error"] == expected["calls"][0]["error"], name


async def test_a_simulation_in_order_passes(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    head = await sandbox.chain.head()
    own = {"number": number(head, 1), "time": time(head, 12), "baseFeePerGas": hex(10**9)}
    method, params = simulated(block(call(), **own), tag=number(head))
    batch = [
        {"jsonrpc": "2.0", "id": "one", "method": method, "params": params},
        {"jsonrpc": "2.0", "id": None, "method": "eth_chainId"},
    ]
    simulation, chain = (await http.post(sandbox.rpc_url, json=batch)).json()
    assert simulation["id"] == "one"
    assert simulation["result"][0]["calls"][0]["status"] == "0x1"
    assert chain == {"jsonrpc": "2.0", "id": None, "result": "0x1"}


async def test_the_pool_wants_a_tip(sandbox: SandboxNetwork, http: httpx.AsyncClient) -> None:
    refused = await rpc(http, sandbox.rpc_url, "eth_sendRawTransaction", raw(0))
    assert refused == ANSWERS["eth_sendRawTransaction"]["tip 0 (default pool)"]
    taken = await rpc(http, sandbox.rpc_url, "eth_sendRawTransaction", raw(1))
    assert taken.startswith("0x")


async def test_state_is_kept_for_128_blocks(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    head = (await Control(http, sandbox)("POST", "/mine", blocks=130))["head"]
    url = sandbox.rpc_url
    old = await rpc(http, url, "eth_getBalance", ALICE.address, hex(head - 129))
    assert shape(old) == shape(ANSWERS["balance:old"]["error"])
    kept = await rpc(http, url, "eth_getBalance", ALICE.address, hex(head - 128))
    assert int(kept, 16) > 0
    assert await rpc(http, url, "eth_getBalance", NOBODY, "latest") == "0x0"


async def test_parameters_that_make_no_sense_are_refused_by_the_chain(
    sandbox: SandboxNetwork, http: httpx.AsyncClient
) -> None:
    for method, *params in (
        ("eth_simulateV1",), ("eth_simulateV1", 3, "latest"), ("eth_call", [], {}),
        ("eth_getLogs", "x"), ("eth_sendRawTransaction", 7), ("eth_getBalance", NOBODY, "0xzz"),
        ("eth_simulateV1", {"blockStateCalls": [{"calls": [{"gas": {}}]}]}, "0x0"),
    ):  # fmt: skip
        assert "code" in await rpc(http, sandbox.rpc_url, method, *params), method
