"""Reads: the allow list, the check of parameters, bounds, and answers as the node sent them."""

from typing import Any

import httpx
import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import RpcCall, RpcErrorObject
from quietswap.rules.tx.keccak import keccak256
from quietswap.service.wallet_rpc.dispatch import CONNECTED_DATA, CONNECTED_TO
from tests.api.scripted_use_cases import ScriptedUseCases
from tests.api.scripted_wallet_rpc import HASH, WALLET
from tests.api.wallet_rpc.calls import BLOCK_HASH, READS, call, failed, post, request


@pytest.mark.parametrize(("method", "params"), READS.items())
async def test_a_read_reaches_the_node_unchanged(
    client: httpx.AsyncClient, inside: ScriptedUseCases, method: str, params: list[Any]
) -> None:
    inside.rpc.answers[method] = b'{"n":1.50,"b":1e400,"a":[ null ]}'
    answer = await post(client, request(method, params))
    assert answer.content.endswith(b'"result":{"n":1.50,"b":1e400,"a":[ null ]}}')
    assert inside.rpc.read == [[RpcCall(method, params)]]


@pytest.mark.parametrize(
    "method",
    [
        "eth_sendTransaction", "eth_sign", "eth_signTransaction", "personal_unlockAccount",
        "debug_traceTransaction", "admin_peers", "txpool_content", "eth_newFilter", "eth_subscribe",
        "anvil_setBalance", "evm_mine", "eth_getProof", "eth_simulateV1", "eth_createAccessList",
        "eth_chainid", "ETH_CHAINID", "eth_chainId ", "", "\0", "__class__", "eth_chainId\n",
        "../../etc/passwd", "<script>alert(1)</script>", "x" * 100_000, "\U0001f4a9",
    ],
)  # fmt: skip
async def test_every_other_method_does_not_exist(
    client: httpx.AsyncClient, inside: ScriptedUseCases, method: str
) -> None:
    error = await failed(client, -32601, method)
    assert len(error["message"]) < 200
    assert "<" not in error["message"]
    assert (f" {method[:60]} " in error["message"]) == method.isidentifier()
    assert (inside.rpc.read, inside.rpc.sent) == ([], [])


_BAD = {
    "eth_chainId": [[1]],
    "eth_blockNumber": [["latest"]],
    "eth_getBalance": [
        [], [None], ["0x12"], [WALLET + "0"], [1], [WALLET, "newest"], [WALLET, 5],
        [WALLET, "0x" + "1" * 17], [WALLET, {}], [WALLET, {"blockHash": "0x1"}],
        [WALLET, {"blockHash": BLOCK_HASH, "blockNumber": "0x1"}], [WALLET, {"block": "0x1"}],
        [WALLET, "latest", 1],
    ],
    "eth_getStorageAt": [[WALLET], [WALLET, "0x"], [WALLET, "0x" + "1" * 65]],
    "eth_getBlockByNumber": [["latest"], [1, False], ["latest", "false"], [None, False]],
    "eth_getBlockByHash": [["0x1", False], [BLOCK_HASH, 1]],
    "eth_call": [
        [], ["0x"], [[]], [{"to": "0x1"}], [{"to": WALLET, "data": "0x1"}],
        [{"to": WALLET, "data": "70"}], [{"to": WALLET, "data": "0x" + "00" * 131_073}],
        [{"to": WALLET, "gas": "0x2faf081"}], [{"to": WALLET, "gas": 21000}],
        [{"to": WALLET, "Gas": "0x1"}], [{"to": WALLET, "ga\u017f": "0x1"}],
        [{"to": WALLET, "value": "1"}], [{"to": WALLET, "accessList": [{}] * 65}],
        [{"to": WALLET}, "latest", {"0x1": {}}], [{"to": WALLET}, "latest", {WALLET: 1}],
        [{"to": WALLET}, "latest", {}, {}],
    ],
    "eth_estimateGas": [[{"from": "me"}]],
    "eth_feeHistory": [
        ["0x401", "latest"], ["0x0", "latest"], [1.5, "latest"], [True, "latest"], ["5", "latest"],
        ["0x5"], ["0x5", "latest", [101]], ["0x5", "latest", ["1"]], ["0x5", "latest", [0] * 101],
    ],
    "eth_getLogs": [
        [], [[]], [{"fromBlock": 1}], [{"blockHash": BLOCK_HASH, "fromBlock": "0x1"}],
        [{"address": "0x1"}], [{"address": [WALLET] * 65}], [{"topics": [[HASH] * 65]}],
        [{"topics": [None] * 5}], [{"topics": "0x"}], [{"topics": ["0x1"]}], [{"limit": "0x1"}],
    ],
    "eth_getTransactionCount": [["0x1", "latest"], [WALLET, "soon"]],
    "eth_getTransactionByHash": [["0x1"], [None], [HASH, HASH]],
    "eth_getTransactionReceipt": [["0x" + "g" * 64]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "params"), [(method, one) for method, all_ in _BAD.items() for one in all_]
)
async def test_bad_parameters_do_not_reach_the_node(
    client: httpx.AsyncClient, inside: ScriptedUseCases, method: str, params: list[Any]
) -> None:
    error = await failed(client, -32602, method, *params)
    assert error["message"].startswith("invalid parameters: ")
    assert len(error["message"]) < 300
    assert inside.rpc.read == []


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("eth_call", [{"Gas": "0x1"}], "call.gas is written in another case"),
        ("eth_sendRawTransaction", [{}], "transaction must be a string: 0x and hexadecimal digits"),
        ("eth_sendRawTransaction", ["0x0"], "an even number of hexadecimal digits"),
        ("eth_call", [{"to": WALLET, "data": 5}], "call.data must be a string"),
        ("eth_getBalance", [WALLET, 5], "block must be a block number in hex or earliest,"),
        ("eth_getBalance", [], "the method takes 1 to 2 (address, block), not 0"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_bad_parameters_are_told_with_what_they_must_be(
    client: httpx.AsyncClient, method: str, params: list[Any], said: str
) -> None:
    assert said in (await failed(client, -32602, method, *params))["message"]


@pytest.mark.parametrize(
    ("log_filter", "fits"),
    [
        ({"address": WALLET, "fromBlock": "0x0", "toBlock": "0x3e7"}, True),
        ({"address": WALLET, "fromBlock": "0x0", "toBlock": "0x3e8"}, False),
        ({"fromBlock": "0x1", "toBlock": "0xa"}, True),
        ({"fromBlock": "0x1", "toBlock": "0xb"}, False),
        ({}, True),
        ({"blockHash": BLOCK_HASH}, True),
        ({"fromBlock": "finalized", "toBlock": "finalized"}, True),
        ({"fromBlock": "finalized"}, False),
        ({"address": WALLET, "fromBlock": "earliest", "toBlock": "0x5"}, True),
        ({"address": WALLET, "fromBlock": "0xfc19", "toBlock": "latest"}, True),
        ({"address": WALLET, "fromBlock": "0xfc18"}, False),
        ({"address": WALLET, "fromBlock": "earliest"}, False),
        ({"fromBlock": "latest", "toBlock": "pending"}, True),
    ],
)
async def test_logs_are_read_from_a_bounded_number_of_blocks(
    client: httpx.AsyncClient, inside: ScriptedUseCases, log_filter: dict[str, Any], fits: bool
) -> None:
    inside.rpc.answers["eth_blockNumber"] = b'"0x10000"'
    if fits:
        assert (await call(client, "eth_getLogs", log_filter))["result"] == "0x10"
        return
    error = await failed(client, -32602, "eth_getLogs", log_filter)
    assert "block" in error["message"]
    assert all(one.method == "eth_blockNumber" for batch in inside.rpc.read for one in batch)


async def test_one_body_reads_few_whole_blocks(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    whole = [request("eth_getBlockByNumber", ["latest", True], n) for n in range(8)]
    logs = [request("eth_getLogs", [{}], n) for n in range(8, 12)]
    heads = [request("eth_getBlockByNumber", ["latest", False], n) for n in range(12, 40)]
    answers = (await post(client, whole + logs + heads)).json()
    over = [one["id"] for one in answers if one.get("error", {}).get("code") == -32005]
    assert over == [10, 11]
    assert len(inside.rpc.read[0]) == 38


async def test_an_error_of_the_node_is_told_with_its_data(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.answers["eth_call"] = RpcErrorObject(3, "execution reverted: no", "0x08c379a0")
    error = await failed(client, 3, "eth_call", {"to": WALLET})
    assert error == {"code": 3, "message": "execution reverted: no", "data": "0x08c379a0"}


async def test_a_node_that_is_away_ends_the_reads_only(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.answers["eth_gasPrice"] = NodeUnavailable("no node")
    body = [
        request("eth_gasPrice"),
        request("eth_chainId"),
        request("eth_sendRawTransaction", ["0x02"]),
    ]
    answers = (await post(client, body)).json()
    assert answers[0]["error"]["code"] == -32002
    assert "no node" not in answers[0]["error"]["message"]
    assert [one.get("result") for one in answers[1:]] == ["0x1", HASH]


async def test_an_unexpected_failure_is_logged_and_told_as_internal(
    client: httpx.AsyncClient, inside: ScriptedUseCases, logged: list[Any]
) -> None:
    inside.rpc.answers["eth_gasPrice"] = ZeroDivisionError("secret words")
    error = await failed(client, -32603, "eth_gasPrice")
    assert "secret words" not in str(error)
    failure = next(line for line in logged if line["event"] == "request_failed")
    assert error["data"]["details"]["requestId"] == failure["request"]
    assert (await call(client, "eth_chainId"))["result"] == "0x1"


async def test_the_receipt_is_the_node_s_alone(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.pending = {"hash": HASH, "blockNumber": None}
    inside.rpc.answers["eth_getTransactionReceipt"] = b"null"
    assert (await call(client, "eth_getTransactionReceipt", HASH))["result"] is None


async def test_a_live_order_is_a_pending_transaction_until_the_node_knows_it(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.answers["eth_getTransactionByHash"] = b"null"
    assert (await call(client, "eth_getTransactionByHash", HASH))["result"] is None
    inside.rpc.pending = {"hash": HASH, "blockNumber": None}
    found = (await call(client, "eth_getTransactionByHash", HASH))["result"]
    assert found == {"hash": HASH, "blockNumber": None}
    inside.rpc.answers["eth_getTransactionByHash"] = b'{"blockNumber":"0x1"}'
    found = (await call(client, "eth_getTransactionByHash", HASH))["result"]
    assert found == {"blockNumber": "0x1"}


@pytest.mark.parametrize(
    ("tag", "node", "live", "told"),
    [
        ("latest", "0x5", 9, "0x5"),
        ("pending", "0x5", None, "0x5"),
        ("pending", "0x5", 9, "0x9"),
        ("pending", "0x5", 3, "0x5"),
        ("0x1", "0x5", 9, "0x5"),
        (None, "0x5", 9, "0x5"),
    ],
)
async def test_the_pending_nonce_counts_live_orders_and_the_latest_does_not(
    client: httpx.AsyncClient,
    inside: ScriptedUseCases,
    tag: str | None,
    node: str,
    live: int | None,
    told: str,
) -> None:
    inside.rpc.answers["eth_getTransactionCount"] = f'"{node}"'.encode()
    inside.rpc.nonce = live
    params = [WALLET.lower()] if tag is None else [WALLET.lower(), tag]
    assert (await call(client, "eth_getTransactionCount", *params))["result"] == told


async def test_a_nonce_that_is_no_number_is_not_passed_on_as_one(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.rpc.answers["eth_getTransactionCount"] = b"[]"
    inside.rpc.nonce = 4
    await failed(client, -32002, "eth_getTransactionCount", WALLET, "pending")


def test_the_connection_check_is_no_contract() -> None:
    assert keccak256(b"quietswap wallet rpc")[12:].hex() == CONNECTED_TO[2:]
    assert keccak256(b"walletRpcTokenId()")[:4].hex() == CONNECTED_DATA[2:]


@pytest.mark.parametrize("member", ["data", "input"])
@pytest.mark.parametrize("block", [[], ["latest"], ["0x5"]])
async def test_a_page_learns_through_the_wallet_that_it_uses_this_url(
    client: httpx.AsyncClient, inside: ScriptedUseCases, member: str, block: list[str]
) -> None:
    asked = {"to": CONNECTED_TO.upper().replace("0X", "0x"), member: CONNECTED_DATA}
    result = bytes.fromhex((await call(client, "eth_call", asked, *block))["result"][2:])
    assert result[:32] == (32).to_bytes(32)
    length = int.from_bytes(result[32:64])
    assert result[64 : 64 + length] == b"rpc_1"
    assert len(result) == 96
    assert inside.rpc.read == []


async def test_another_call_of_that_address_is_the_node_s(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    await call(client, "eth_call", {"to": CONNECTED_TO, "data": "0x"})
    await call(client, "eth_call", {"to": WALLET, "data": CONNECTED_DATA})
    assert len(inside.rpc.read) == 2
