"""What must be true afterwards: the database, the API and the canonical chain tell one story."""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietswap.rules.orders.order import BY_NONCE, TRANSITIONS, OrderEventType, OrderStatus
from quietswap.rules.orders.order_changes import FINALIZED
from quietswap.sandbox.rpc import SandboxRpcClient
from quietswap.service.orders.tracking.resend import (
    FEE_SUFFICES,
    FEE_TOO_LOW,
    WOULD_FAIL,
    WOULD_WORK,
)
from quietswap.service.orders.transition import RELAY_SAID
from tests.chaos.clients import Promised
from tests.chaos.environment import CampaignEnvironment

_CHUNK = 200
_NOTICED_S = 20
"""Within this time after a deadline the service has looked at the order again."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """The canonical chain: where each hash is, who used which nonce, receipts and next nonces."""

    blocks_of: Mapping[str, Sequence[int]]
    users_of: Mapping[tuple[str, int], Sequence[str]]
    receipts: Mapping[str, Any]
    nonces: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoredState:
    """All orders as stored, and the diary of each by its id."""

    orders: Sequence[Row]
    diaries: Mapping[str, Sequence[Row]]

    @property
    def open(self) -> list[Row]:
        """Return the orders nobody has decided about."""
        return [row for row in self.orders if not OrderStatus(row["status"]).is_terminal]

    @property
    def resent(self) -> int:
        """Return how often bytes were sent once more."""
        return sum(row["attempts"] - 1 for row in self.orders)

    @property
    def corrected(self) -> int:
        """Return how often a verdict was taken back or replaced by the chain's."""
        lines = (line for diary in self.diaries.values() for line in diary)
        return sum(
            1 for line in lines if line["from_status"] in ("confirmed", "failed", "cancelled")
        )

    @property
    def ends(self) -> Counter[str]:
        """Return how many orders ended in which way."""
        return Counter(f"{r['status']} {r['failure_code'] or ''}".strip() for r in self.orders)


def read_stored_state(database: Path) -> StoredState:
    """Read the service's file as it is now."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        orders = [dict(row) for row in connection.execute("SELECT * FROM orders")]
        diaries: dict[str, list[Row]] = {row["order_id"]: [] for row in orders}
        for line in connection.execute("SELECT * FROM order_events ORDER BY order_id, version"):
            diaries[line["order_id"]].append(dict(line))
    return StoredState(orders, diaries)


async def read_chain(rpc: SandboxRpcClient, books: StoredState) -> ChainRecord:
    """Read every canonical block, and what the chain says of the stored orders."""
    head = int(await rpc.call("eth_blockNumber"), 16)
    blocks = await _batched(
        rpc, [("eth_getBlockByNumber", (hex(number), True)) for number in range(head + 1)]
    )
    blocks_of: dict[str, list[int]] = {}
    users_of: dict[tuple[str, int], list[str]] = {}
    for tx in (tx for block in blocks for tx in block["transactions"]):
        blocks_of.setdefault(tx["hash"], []).append(int(tx["blockNumber"], 16))
        users_of.setdefault((tx["from"], int(tx["nonce"], 16)), []).append(tx["hash"])
    hashes = [row["tx_hash"] for row in books.orders]
    receipts = await _batched(rpc, [("eth_getTransactionReceipt", (one,)) for one in hashes])
    wallets = sorted({row["wallet"] for row in books.orders})
    nonces = await _batched(rpc, [("eth_getTransactionCount", (w, "latest")) for w in wallets])
    return ChainRecord(
        blocks_of,
        users_of,
        dict(zip(hashes, receipts, strict=True)),
        {w: int(count, 16) for w, count in zip(wallets, nonces, strict=True)},
    )


async def _batched(rpc: SandboxRpcClient, calls: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(calls), _CHUNK):
        found += await rpc.batch(calls[start : start + _CHUNK])
    return found


def faults_of(
    stage: CampaignEnvironment, promised: Promised, books: StoredState, chain: ChainRecord
) -> list[str]:
    """Return everything that is not as it must be, in words."""
    return [
        *_broken_promises(promised, books),
        *_stuck(books, chain),
        *(text for row in books.orders for text in _lies(row, chain)),
        *(text for row in books.orders for text in _gaps(row, books.diaries[row["order_id"]])),
        *_mined_twice(chain),
        *_leaks(stage, books),
    ]


def may_go_on(row: Row) -> bool:
    """Return whether an open order may still be executed: its router's deadline is not over.

    Blocks of a campaign come faster than their times, so deadlines are ahead of the clock, and an
    order that its relay lost ends only when both are past it.
    """
    return row["deadline_s"] is not None and time.time() <= row["deadline_s"] + _NOTICED_S


def _stuck(books: StoredState, chain: ChainRecord) -> Iterator[str]:
    for row in books.open:
        is_free = chain.nonces[row["wallet"]] <= int(row["nonce"])
        if not (is_free and may_go_on(row)):
            yield f"{row['order_id']} is stuck in {row['status']}"


def _broken_promises(promised: Promised, books: StoredState) -> Iterator[str]:
    by_id = {row["order_id"]: row["tx_hash"] for row in books.orders}
    hashes = set(by_id.values())
    for order_id, tx_hash in promised.swaps.items():
        if order_id not in by_id or tx_hash not in ("", by_id[order_id]):
            yield f"order {order_id} {tx_hash} was promised and is {by_id.get(order_id)}"
    yield from (f"wrap {one} was promised and is lost" for one in promised.wraps - hashes)


def _lies(row: Row, chain: ChainRecord) -> Iterator[str]:
    """A terminal state and its evidence against the receipt."""
    receipt, name = chain.receipts[row["tx_hash"]], f"{row['order_id']} {row['tx_hash']}"
    said = {"confirmed": "0x1"}.get(row["status"])
    if row["failure_code"] == "REVERTED":
        said = "0x0"
    is_so = receipt["status"] if receipt else None
    if said != is_so:
        yield f"{name} is {row['status']} {row['failure_code']}, the receipt's status {is_so}"
    elif receipt and row["block_hash"] != receipt["blockHash"]:
        yield f"{name} names block {row['block_hash']}, it is in {receipt['blockHash']}"
    elif receipt and row["gas_used"] != int(receipt["gasUsed"], 16):
        yield f"{name} names another gas than the receipt"
    if row["failure_code"] in BY_NONCE and chain.nonces[row["wallet"]] <= int(row["nonce"]):
        yield f"{name} is {row['failure_code']}, and its nonce {row['nonce']} is free"


NOTES = frozenset({RELAY_SAID, WOULD_FAIL, WOULD_WORK, FEE_TOO_LOW, FEE_SUFFICES, FINALIZED})
"""Lines of the diary that say something and move nothing."""


def _gaps(row: Row, diary: Sequence[Row]) -> Iterator[str]:
    """The diary is a way through the transition table that ends at the stored state."""
    status = None
    for line in diary:
        if line["from_status"] != status:
            yield f"{row['order_id']} jumped from {status} to {line['from_status']}"
        is_first = line["sighting"] == "posted"
        if not is_first and not _is_allowed(line):
            yield f"{row['order_id']} moved by {line['sighting']} from {line['from_status']}"
        status = line["to_status"]
    if status != row["status"]:
        yield f"{row['order_id']} is {row['status']}, its diary ends at {status}"


def _is_allowed(line: Row) -> bool:
    if line["sighting"] in NOTES:
        return bool(line["from_status"] == line["to_status"])
    moves = TRANSITIONS[OrderStatus(line["from_status"])]
    return moves.get(OrderEventType(line["sighting"])) is OrderStatus(line["to_status"])


def _mined_twice(chain: ChainRecord) -> Iterator[str]:
    for tx_hash, blocks in chain.blocks_of.items():
        if len(blocks) > 1:
            yield f"{tx_hash} is in blocks {blocks}"
    for slot, hashes in chain.users_of.items():
        if len(hashes) > 1:
            yield f"{slot} was used by {hashes}"


def _leaks(stage: CampaignEnvironment, books: StoredState) -> Iterator[str]:
    for row in books.orders:
        if row["tx_hash"] in stage.sandbox.public:
            yield f"{row['tx_hash']} was in the public mempool"
        held = any(relay.pool.get(row["tx_hash"]) for relay in stage.sandbox.relays.values())
        if held and row["failure_code"] == "NOT_SENT" and row["attempts"] <= 1:
            yield f"{row['tx_hash']} is said not to have been sent, and a relay had it"
