"""What captured answers of real nodes mean. `node_answers/` has them by node and by question."""

import json
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.chain.rpc_wire import BatchRefused, Result, RpcErrorObject, read_replies
from quietswap.rules.trial.codec import read_blocks
from quietswap.rules.trial.dry_run import read_plain
from quietswap.service.node import reads

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
"""As its source writes it; `busy` is an HTTP status of it, not an error of a call."""


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


def test_a_revert_of_nethermind_is_known_by_code_and_data() -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "error": NETHERMIND}
    [result] = read_replies(json.dumps([reply]).encode(), 1, 1)
    assert meaning(result) == EXECUTED
    assert isinstance(result, RpcErrorObject)
    assert result.data == "0x08c379a0"


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
    assert reads.next_fork(answer(GETH, name)) is None
