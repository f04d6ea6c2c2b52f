"""What captured answers of real nodes mean. `node_answers/` has them by node and by question."""

import json
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.chain import node_reads as reads
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import (
    BatchRefused,
    MalformedResult,
    Result,
    RpcErrorObject,
    read_replies,
)
from quietswap.rules.trial.codec import read_blocks
from quietswap.rules.trial.dry_run import read_plain
from quietswap.service.base.http_client import HttpClient, HttpReply
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.relays.answers import RelayOutcome
from quietswap.service.relays.classify_response import classify_response
from tests.defaults import NODE
from tests.fake_web import Answer, serving
from tests.manual_clock import ManualClock

ANSWERS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "node_answers" / "real-nodes.json").read_text()
)
GETH, HARDHAT = "geth-1.17.5", "hardhat-3.18.0"
ETHEREUMJS, GANACHE = "ethereumjs-client-0.10.5", "ganache-7.9.2"

EXECUTED, REFUSED, LACKS, UNKNOWN, VALUE = "executed", "refused", "lacks", "unknown", "value"
"""The EVM ran the call and ended it; the call was refused before it ran; the node has no such
method; the error says nothing about the call; there is no error."""

MEANINGS: dict[str, dict[str, str]] = {
    GETH: {
        "block:pending": VALUE,
        "balance:old": UNKNOWN,
        "nonce:future": UNKNOWN,
        "call:unknownHash": UNKNOWN,
        "call:revertString": EXECUTED,
        "call:outOfGas": UNKNOWN,
        "call:noFundsGasPrice": REFUSED,
        "call:lowFee": UNKNOWN,
        "call:invalidOpcode": EXECUTED,
        "call:loop": EXECUTED,
        "estimate:noFunds": REFUSED,
        "estimate:noFundsFee": REFUSED,
        "sim:exact": VALUE,
        "sim:revert": VALUE,
        "sim:oog": VALUE,
        "sim:invalid": VALUE,
        "sim:wrongNumber": REFUSED,
        "sim:wrongTime": REFUSED,
        "sim:skipNumber": REFUSED,
        "sim:lowFee": REFUSED,
        "sim:noFunds": REFUSED,
        "sim:badNonce": REFUSED,
        "sim:lowNonce": REFUSED,
        "sim:intrinsic": REFUSED,
        "sim:256blocks": REFUSED,
        "sim:stateAndDiff": UNKNOWN,
        "sim:system": VALUE,
        "sim:future": UNKNOWN,
        "sim:transfers": VALUE,
        "logs:future": UNKNOWN,
        "logs:backwards": UNKNOWN,
        "method:unknown": LACKS,
        "feeHistory": VALUE,
        "eth_config 60 s before Amsterdam, BPO2 active, no BPO3 planned": VALUE,
        "entry of a batch over --rpc.batch-response-max-size": UNKNOWN,
    },
    HARDHAT: {
        "eth_config": LACKS,
        "sim:exact": LACKS,
        "call:hugeGas": UNKNOWN,
        "call:revert": EXECUTED,
        "call:revertString": EXECUTED,
        "call:outOfGas": UNKNOWN,
        "nonce:future": UNKNOWN,
        "call:unknownHash": UNKNOWN,
        "call:invalidOpcode": EXECUTED,
        "feeHistory:1025": UNKNOWN,
        "method:unknown": LACKS,
        "call:blockOverride": UNKNOWN,
        "estimate:revert": EXECUTED,
    },
    ETHEREUMJS: {
        "eth_config": LACKS,
        "block:pending": UNKNOWN,
        "sim:exact": LACKS,
        "nonce:future": UNKNOWN,
        "call:blockHash": UNKNOWN,
        "call:revert": EXECUTED,
        "call:revertString": EXECUTED,
        "call:noFunds": REFUSED,
        "call:invalidOpcode": VALUE,
        "call:override": VALUE,
        "estimate:revert": VALUE,
        "maxPriorityFee": LACKS,
        "call:noBlock": UNKNOWN,
    },
    GANACHE: {
        "eth_config": LACKS,
        "sim:exact": LACKS,
        "call:revert": EXECUTED,
        "call:revertString": EXECUTED,
        "call:outOfGas": EXECUTED,
        "call:noFunds": REFUSED,
        "call:invalidOpcode": EXECUTED,
        "nonce:future": UNKNOWN,
        "call:blockHash": UNKNOWN,
    },
}
NETHERMIND = {"code": -32015, "message": "VM execution error.", "data": "Reverted 0x08c379a0"}
DOCUMENTED: list[tuple[str, dict[str, Any], str]] = [
    ("nethermind: a revert", NETHERMIND, EXECUTED),
    ("reth: gas of a block above its limit",
     {"code": -38015, "message": "Block gas limit exceeded by the block's transactions"}, REFUSED),
    ("reth: gas of all above rpc.gascap",
     {"code": -38026, "message": "Client adjustable limit reached"}, REFUSED),
    ("erigon: a revert",
     {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}, EXECUTED),
    ("erigon: a long answer of eth_call", {
        "code": -32000,
        "message": "call returned result on length 200000 exceeding --rpc.returndata.limit 100000",
    }, UNKNOWN),
    ("besu: a member that it does not know",
     {"code": -32602, "message": "Invalid call params"}, UNKNOWN),
    ("besu: fee below the base fee", {"code": -32602, "message": "Gas price too low"}, UNKNOWN),
    ("besu: nonces", {"code": -32602, "message": "Invalid nonces"}, UNKNOWN),
    ("besu: funds", {"code": -38014, "message": "Upfront cost exceeds balance"}, REFUSED),
    ("besu: intrinsic gas",
     {"code": -38013, "message": "Intrinsic gas exceeds gas limit"}, REFUSED),
    ("besu: times", {"code": -38021, "message": "Timestamps are not ascending"}, REFUSED),
]  # fmt: skip
"""Errors of nodes that were not run, as their sources write them (2026). Nethermind's busy is HTTP
503, no error of a call."""

SENT = {
    "tip 0 (default pool)": RelayOutcome.INVALID,
    "nonce low": RelayOutcome.NONCE_USED,
    "insufficient": RelayOutcome.INSUFFICIENT_FUNDS,
    "gas 2^24+1": RelayOutcome.INVALID,
    "intrinsic": RelayOutcome.INVALID,
    "floor data gas": RelayOutcome.INVALID,
    "chain 5": RelayOutcome.INVALID,
    "tip>cap": RelayOutcome.INVALID,
    "oversized": RelayOutcome.INVALID,
    "bad signature": RelayOutcome.INSUFFICIENT_FUNDS,
    "truncated": RelayOutcome.INVALID,
    "type 5": RelayOutcome.INVALID,
    "same again (queued)": RelayOutcome.ALREADY_KNOWN,
    "replacement underpriced": RelayOutcome.CONFLICT,
    "replacement 10% only fee": RelayOutcome.CONFLICT,
    "already known": RelayOutcome.ALREADY_KNOWN,
    "mined? then again": RelayOutcome.NONCE_USED,
}
"""What a relay means that hands on geth's answers to eth_sendRawTransaction."""


def answer(node: str, name: str) -> Result:
    captured = ANSWERS[node][name]
    [result] = read_replies(json.dumps([captured]).encode(), captured["id"], 1)
    return result


def meaning(result: Result) -> str:
    if not isinstance(result, RpcErrorObject):
        return VALUE
    if result.is_unsupported:
        return LACKS
    if result.is_execution:
        assert result.is_verdict
        return EXECUTED
    return REFUSED if result.is_verdict else UNKNOWN


@pytest.mark.parametrize(
    ("node", "name"), [(node, name) for node, names in MEANINGS.items() for name in names]
)
def test_a_captured_answer_means(node: str, name: str) -> None:
    assert meaning(answer(node, name)) == MEANINGS[node][name]


def test_each_captured_answer_to_a_call_has_a_meaning() -> None:
    others = ("batch", "host", "send:garbage", "eth_simulateV1 call", "eth_sendRawTransaction")
    for node, answers in ANSWERS.items():
        calls = {name for name in answers if not name.startswith(others)}
        assert calls == MEANINGS[node].keys(), node


@pytest.mark.parametrize(
    ("node", "name", "reason"),
    [
        (GETH, "call:revertString", "Transaction too old"),
        (HARDHAT, "call:revertString", "Transaction too old"),
        (ETHEREUMJS, "call:revertString", "Transaction too old"),
        (GANACHE, "call:revertString", "Transaction too old"),
        (GETH, "call:loop", "out of gas"),
        (GETH, "call:invalidOpcode", "invalid opcode: INVALID"),
    ],
)
def test_an_executed_call_names_its_reason(node: str, name: str, reason: str) -> None:
    run = read_plain(answer(node, name))
    assert (run.succeeded, run.reason) == (False, reason)


@pytest.mark.parametrize("name", ["call:lowFee", "call:noFundsGasPrice", "call:outOfGas"])
def test_a_call_that_never_ran_is_no_revert(name: str) -> None:
    assert read_plain(answer(GETH, name)).succeeded is None


@pytest.mark.parametrize(
    ("error", "expected"), [row[1:] for row in DOCUMENTED], ids=[row[0] for row in DOCUMENTED]
)
def test_a_documented_error_means(error: dict[str, Any], expected: str) -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "error": error}
    [result] = read_replies(json.dumps([reply]).encode(), 1, 1)
    assert meaning(result) == expected
    assert isinstance(result, RpcErrorObject)
    assert (result.data or "") == error.get("data", "").removeprefix("Reverted ")


def test_a_long_answer_in_a_simulation_of_erigon_is_no_success() -> None:
    text = "call returned result on length 200000 exceeding --rpc.returndata.limit 100000"
    call = {"returnData": "0x", "logs": [], "gasUsed": "0x5208", "status": "0x0"}
    call["error"] = {"code": -32000, "message": text}
    reply = {"jsonrpc": "2.0", "id": 1, "result": [{"calls": [call]}]}
    [result] = read_replies(json.dumps([reply]).encode(), 1, 1)
    [(_, [ran])] = read_blocks(result, 1)
    assert (ran.succeeded, ran.reason) == (False, text)


@pytest.mark.parametrize("name", SENT)
def test_a_captured_answer_to_a_signed_transaction_means(name: str) -> None:
    error = ANSWERS[GETH]["eth_sendRawTransaction"][name]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    assert classify_response(HttpReply(200, body, {})).outcome is SENT[name]


def test_each_captured_answer_to_a_signed_transaction_has_a_meaning() -> None:
    answers = ANSWERS[GETH]["eth_sendRawTransaction"].items()
    assert {name for name, error in answers if error != "taken"} == SENT.keys()
    body = json.dumps(ANSWERS[GETH]["send:garbage"]).encode()
    assert classify_response(HttpReply(200, body, {})).outcome is RelayOutcome.INVALID


def test_a_batch_with_an_error_gives_the_other_results() -> None:
    body = json.dumps(ANSWERS[GETH]["batch:mixed"]).encode()
    assert [meaning(one) for one in read_replies(body, 1, 2)] == [LACKS, VALUE]


@pytest.mark.parametrize("node", [GETH, HARDHAT, GANACHE])
def test_an_answer_to_an_empty_batch_is_none_to_a_batch(node: str) -> None:
    body = json.dumps(ANSWERS[node]["batch:empty"]).encode()
    with pytest.raises(MalformedResult):
        read_replies(body, 1, 2)


async def test_a_host_that_geth_does_not_serve_is_told_in_its_words() -> None:
    [name] = [name for name in ANSWERS[GETH] if name.startswith("host not in")]
    body = ANSWERS[GETH][name].encode()
    http = HttpClient()
    try:
        async with serving(lambda _: Answer(body, 403, "text/plain")) as web:
            rpc = NodeRpcClient(http, [web.url], ManualClock(), **NODE)
            with pytest.raises(NodeUnavailable, match=r"HTTP status 403: .*invalid host specified"):
                await rpc.batch([reads.HEIGHT])
    finally:
        await http.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sim:revert", "execution reverted"),
        ("sim:oog", "out of gas"),
        ("sim:invalid", "invalid opcode: INVALID"),
        ("sim:exact", ""),
    ],
)
def test_a_simulated_call_of_geth(name: str, reason: str) -> None:
    [(_, [call])] = read_blocks(answer(GETH, name), 1)
    assert (call.succeeded, call.reason) == (reason == "", reason)


def test_a_refusal_of_a_whole_batch_of_geth() -> None:
    [name] = [name for name in ANSWERS[GETH] if name.startswith("batch too large")]
    with pytest.raises(BatchRefused, match="batch too large"):
        read_replies(json.dumps(ANSWERS[GETH][name]).encode(), 101, 11)


def test_geth_names_no_fork_where_one_is_planned() -> None:
    [name] = [name for name in ANSWERS[GETH] if name.startswith("eth_config")]
    assert reads.NEXT_FORK.value(answer(GETH, name)) is None
