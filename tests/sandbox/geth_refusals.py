"""Calls that geth refuses, made for the head of a chain, by the name of its captured answer."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quietswap.rules.tokens.token import WETH
from quietswap.sandbox.chain.transactions import TransactionFields, sign
from quietswap.sandbox.contracts.abi import WALLETS

ALICE = WALLETS[0]
NOBODY = "0x1212121212121212121212121212121212121212"
UNKNOWN_HASH = "0x" + "ab" * 32
_REVERTS = "0xa9059cbb" + NOBODY[2:].rjust(64, "0") + "ff" * 32
"""transfer(address,uint256) of more WETH than anyone has."""

Head = dict[str, Any]
Call = tuple[str, list[Any]]
ANSWERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "chain" / "node_answers" / "real-nodes.json").read_text("utf-8")
)["geth-1.17.5"]
"""As geth gave them."""


def shape(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error without the figures and addresses of one chain."""
    text = re.sub(r": (address|have) .*", "", error["message"])
    return error | {"message": re.sub(r"\b(0x)?[0-9a-f]{64}\b|\b\d+\b", "N", text)}


def number(head: Head, later: int = 0) -> str:
    return hex(int(head["number"], 16) + later)


def time(head: Head, later: int = 0) -> str:
    return hex(int(head["timestamp"], 16) + later)


def call(**fields: Any) -> dict[str, Any]:
    own = {"from": ALICE.address, "to": WETH, "data": "0x18160ddd", "gas": hex(3 * 65536)}
    return own | {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": "0x0"} | fields


def simulated(*blocks: dict[str, Any], tag: str = "latest") -> Call:
    return "eth_simulateV1", [{"blockStateCalls": list(blocks), "validation": True}, tag]


def block(*calls: dict[str, Any], **own: str) -> dict[str, Any]:
    return {"blockOverrides": own, "calls": list(calls)}


def priced(**fields: Any) -> Call:
    return simulated(block(call(**fields), baseFeePerGas=hex(10**9)))


def raw(tip: int) -> str:
    fields = TransactionFields(0, ALICE.address, b"", 21_000, 10**11, tip)
    return "0x" + sign(fields, ALICE.private_key).raw.hex()


REFUSED: dict[str, Callable[[Head], Call]] = {
    "sim:wrongNumber": lambda head: simulated(block(call(), number=number(head))),
    "sim:wrongTime": lambda head: simulated(block(call(), time=time(head))),
    "sim:skipNumber": lambda head: simulated(
        block(call(), number=number(head, 5), time=time(head, 12))
    ),
    "sim:lowFee": lambda _: priced(maxFeePerGas="0x1"),
    "sim:noFunds": lambda _: priced(**{"from": NOBODY}),
    "sim:badNonce": lambda _: priced(nonce=hex(10**6)),
    "sim:intrinsic": lambda _: priced(gas=hex(21_000)),
    "sim:256blocks": lambda _: simulated(*(block() for _ in range(257))),
    "sim:future": lambda head: simulated(block(call()), tag=number(head, 9)),
    "call:unknownHash": lambda _: ("eth_call", [call(), {"blockHash": UNKNOWN_HASH}]),
    "call:lowFee": lambda _: ("eth_call", [call(maxFeePerGas="0x1"), "latest"]),
    "nonce:future": lambda head: ("eth_getTransactionCount", [NOBODY, number(head, 9)]),
    "logs:future": lambda head: (
        "eth_getLogs", [{"fromBlock": number(head), "toBlock": number(head, 9)}],
    ),
    "logs:backwards": lambda head: (
        "eth_getLogs", [{"fromBlock": number(head), "toBlock": number(head, -1)}],
    ),
}  # fmt: skip
FAILED: dict[str, Callable[[Head], Call]] = {
    "sim:revert": lambda _: priced(data=_REVERTS),
    "sim:oog": lambda _: priced(data="0xd0e30db0", gas=hex(0x5700), value="0x1"),
}
"""Simulations that are executed: the error is that of a call."""
