"""Logs of a receipt, as a node and as a hostile token write them."""

import json
from typing import Any

import msgspec
import pytest

from quietswap.rules.chain import node_reads as reads
from quietswap.rules.chain.records import Receipt
from quietswap.rules.safety.wallet_effects import TRANSFER
from quietswap.rules.tx.address import Address
from tests.stored_orders import USDC

ME = Address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
HASH = "0x" + "aa" * 32
_PAD = "0x" + "0" * 24


def log(amount: int = 5, **changes: Any) -> dict[str, Any]:
    topics = ["0x" + TRANSFER.hex(), _PAD + "33" * 20, _PAD + ME[2:].lower()]
    return {"address": USDC.lower(), "topics": topics, "data": f"0x{amount:064x}"} | changes


def receipt(**changes: Any) -> Receipt | None:
    plain: dict[str, Any] = {
        "transactionHash": HASH,
        "blockNumber": "0x10",
        "blockHash": "0x" + "bb" * 32,
        "status": "0x1",
        "gasUsed": "0x5208",
        "effectiveGasPrice": "0x1",
        "from": ME.lower(),
        "logs": [log()],
    }
    wire = {name: value for name, value in (plain | changes).items() if value is not ...}
    return reads.receipt(HASH).read(json.dumps(wire).encode())


def test_the_movements_of_the_sender_are_read() -> None:
    found = receipt(logs=[log(5), log(6), log(7, topics=[*log()["topics"][:2], _PAD + "44" * 20])])
    assert found is not None
    assert (found.sender, found.movements) == (ME, {USDC.lower(): 11})


@pytest.mark.parametrize(
    "changes",
    [
        {"logs": ...},
        {"logs": None},
        {"logs": {}},
        {"logs": [None]},
        {"logs": [log(address="0x12")]},
        {"logs": [log(address=7)]},
        {"logs": [log(data="0x123")]},
        {"logs": [log(data="123")]},
        {"logs": [log(topics=[*log()["topics"], "0x12"])]},
        {"logs": [log(topics=log()["topics"] * 2)]},
        {"from": ...},
        {"from": None},
        {"from": "0x12"},
        {"from": 7},
    ],
)
def test_without_readable_logs_the_receipt_still_counts(changes: dict[str, Any]) -> None:
    found = receipt(**changes)
    assert found is not None
    assert found.succeeded
    assert found.movements is None


def test_foreign_logs_of_any_form_are_not_parsed() -> None:
    odd = [
        log(topics=[], data="0x"),
        log(topics=["0x12"], data="0x12"),
        log(topics=[log()["topics"][0], "0x12"], data="0x99", address="0x0"),
    ]
    found = receipt(logs=[*odd, log()])
    assert found is not None
    assert found.movements == {USDC.lower(): 5}


def test_a_hundred_thousand_logs_are_summed() -> None:
    others = ",".join(json.dumps(log(1, address=f"0x{n:040x}")) for n in range(50))
    own = ",".join([json.dumps(log(3))] * 50)
    logs = f"[{','.join([others, own] * 1_000)}]".encode()
    found = reads.movements(ME, msgspec.Raw(logs))
    assert found is not None
    assert found[USDC.lower()] == 150_000
    assert len(found) == 51
