"""Swaps through two relays with mixed faults: the report per relay says what the chain says."""

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount

from quietswap.rules.orders.statistics import percentiles
from quietswap.service.base.clock import SystemClock
from tests.e2e.conftest import Town
from tests.e2e.test_backup_relay import RELAYS, mined, running
from tests.example_counts import examples
from tests.patient import open_storage
from tests.spec.api_client import TERMINAL, ApiClient
from tests.waiting import wait_until

SWAPS = examples(300, short=40)
WALLETS = 10
OF_THE_FIRST = (
    "", "lose", "answer_lost", "already_known", "refund:0.01", "false_refund:0.02",
    "refuse:insufficient funds",
)  # fmt: skip
"""Under which the first relay is sent a swap, one after the other."""
OF_BLOCKS = ("relay", "backup_relay", "")
"""Which relay offers nothing to the builder, for one round of swaps after the other."""
NAMES = {("relay",): "MEV Blocker", ("backup_relay",): "Backup relay", RELAYS: "both relays"}


@dataclass
class Swap:
    """A swap that a client posted: the head then, and whether its relay took it at once."""

    wallet: LocalAccount
    order_id: str
    tx_hash: str
    head: int
    is_taken: bool


def post(desk: ApiClient, wallet: LocalAccount) -> Swap:
    """Quote, sign and post; a refusal after a relay had the bytes names the order, too."""
    signed = desk.swap(wallet, slippageBps="300")
    head = int(desk.rpc("eth_blockNumber"), 16)
    answer = desk.submit(signed)
    if answer.status_code == 200:
        found = answer.json()["data"]["order"]
        is_taken = found["status"] != "pending"
    else:
        found, is_taken = answer.json()["details"], False
    return Swap(wallet, found["orderId"], found["txHash"], head, is_taken)


BUILDERS = {"0x4838B106FCe9647Bdf1E7877BF73cE8B0BAD5f97": "Titan", "0x" + "b1" * 20: "unknown"}
"""Fee recipients of blocks, for one round of swaps after the other, and the builders' names."""


def rounds(desk: ApiClient) -> list[Swap]:
    """Return the swaps of all rounds, each mined or refused."""
    recipients = cycle(BUILDERS)
    wallets = [desk.wallet() for _ in range(WALLETS)]
    faults, swaps = cycle(OF_THE_FIRST), list[Swap]()
    for number in range(SWAPS // WALLETS):
        of_round = []
        desk.rpc("anvil_setCoinbase", next(recipients))
        for wallet, fault in zip(wallets, faults, strict=False):
            if fault:
                desk.town.fault("relay", fault)
            of_round.append(post(desk, wallet))
            desk.town.heal("relay")
        idle = OF_BLOCKS[number % len(OF_BLOCKS)]
        if idle:
            desk.town.fault(idle, "withhold")

        def all_decided(these: list[Swap] = of_round) -> bool:
            desk.mine()
            return all(
                mined(desk, one.tx_hash) or desk.status(one.order_id)["status"] == "failed"
                for one in these
            )

        desk.until(all_decided)
        desk.town.heal(*RELAYS)
        swaps += of_round
    return swaps


def received(desk: ApiClient) -> dict[str, tuple[str, ...]]:
    """Return the relays that were given each transaction, by hash. The first one refuses some.

    An order that goes to both at once may be mined by one before the other has looked at it, which
    then refuses its nonce. The report counts that one, too: it may have had the order.
    """
    found, shown = defaultdict[str, list[str]](list), desk.town.control.get("/relay").json()
    for relay in RELAYS:
        taken = {one["hash"] for one in shown[relay]["transactions"]}
        for tx_hash in taken | shown[relay]["refused"].keys():
            found[tx_hash].append(relay)
    return {tx_hash: tuple(relays) for tx_hash, relays in found.items()}


def paid_wei(desk: ApiClient, swap: Swap, block: int) -> int:
    """Return what the swap's block pays to the wallet: a plain transfer of ETH."""
    transactions = desk.rpc("eth_getBlockByNumber", hex(block), True)["transactions"]
    mine = [one for one in transactions if (one["to"] or "") == swap.wallet.address.lower()]
    return sum(int(one["value"], 16) for one in mine)


def taken_later(desk: ApiClient, order_ids: list[str]) -> dict[str, int | None]:
    """Return the head at which a relay took what it had not answered at first, as stored."""

    async def read() -> dict[str, int | None]:
        storage = await open_storage(desk.database_url, clock=SystemClock())
        found = [await storage.orders.find(order_id) for order_id in order_ids]
        await storage.close()
        return {order.order_id: order.submitted_head for order in found if order is not None}

    return asyncio.run(read())


def as_the_chain_shows(desk: ApiClient, swaps: list[Swap]) -> dict[str, Any]:
    """Return what the report has to say of each group of relays."""
    relays, groups = received(desk), defaultdict[str, Counter[str]](Counter)
    heads = taken_later(desk, [swap.order_id for swap in swaps if not swap.is_taken])
    blocks = defaultdict[str, Counter[int]](Counter)
    for swap in swaps:
        name = NAMES[relays.get(swap.tx_hash, RELAYS[:1])]
        group, receipt = groups[name], desk.rpc("eth_getTransactionReceipt", swap.tx_hash)
        group["orders"] += 1
        if receipt is None:
            group[desk.status(swap.order_id)["status"]] += 1
            continue
        assert receipt["status"] == "0x1", "nothing is sent that would revert"
        group["confirmed"] += 1
        number = int(receipt["blockNumber"], 16)
        taken_at = swap.head if swap.is_taken else heads[swap.order_id]
        if taken_at is not None:
            blocks[name][number - taken_at] += 1
        wei = paid_wei(desk, swap, number)
        group["paid"] += bool(wei)
        group["paidWei"] += wei
    return {name: _row(group, blocks[name]) for name, group in groups.items()}


def _row(group: "Counter[str]", blocks: "Counter[int]") -> dict[str, Any]:
    counts = ("orders", "confirmed", "failed", "cancelled")
    found = percentiles(blocks)
    shown = found and {"count": found.count, "p50": found.p50, "p90": found.p90, "p99": found.p99}
    paid = {"paid": group["paid"], "paidWei": str(group["paidWei"])}
    return {name: group[name] for name in counts} | paid | {"inclusionBlocks": shown}


def reported(desk: ApiClient) -> dict[str, Any]:
    """Return the same from GET /api/v1/mev/stats."""
    rows = desk.api.get("/api/v1/mev/stats").json()["data"]["relays"]
    counts = ("orders", "confirmed", "failed", "cancelled")
    return {
        row["name"]: {name: row[name] for name in counts}
        | {name: row["refunds"][name] for name in ("paid", "paidWei")}
        | {"inclusionBlocks": row["inclusionBlocks"]}
        for row in rows
    }


def inclusion_of_the_chain(desk: ApiClient, swaps: list[Swap]) -> dict[str, Any]:
    """Return what GET /api/v1/inclusion has to say of mined swaps that a relay took."""
    relays = received(desk)
    heads = taken_later(desk, [swap.order_id for swap in swaps if not swap.is_taken])
    groups = defaultdict[tuple[str, str], list[tuple[int, int, int]]](list)
    for swap in swaps:
        receipt = desk.rpc("eth_getTransactionReceipt", swap.tx_hash)
        taken_at = swap.head if swap.is_taken else heads[swap.order_id]
        if receipt is None or taken_at is None:
            continue
        block = desk.rpc("eth_getBlockByHash", receipt["blockHash"], False)
        cap = desk.rpc("eth_getTransactionByHash", swap.tx_hash)["maxFeePerGas"]
        base_fee, used, limit = (
            int(block[name], 16) for name in ("baseFeePerGas", "gasUsed", "gasLimit")
        )
        waited = max(int(block["number"], 16) - taken_at, 1)
        figures = waited, base_fee * 10_000 // int(cap, 16), used * 10_000 // limit
        builders = {address.lower(): name for address, name in BUILDERS.items()}
        for kind, name in (
            ("all", ""),
            ("relays", NAMES[relays.get(swap.tx_hash, RELAYS[:1])]),
            ("builders", builders[block["miner"].lower()]),
        ):
            groups[kind, name].append(figures)
    return {
        " ".join(key): [
            (found.count, found.p50, found.p90, found.p99)
            for values in zip(*members, strict=True)
            if (found := percentiles(Counter(values)))
        ]
        for key, members in groups.items()
    }


def inclusion_reported(desk: ApiClient) -> dict[str, Any]:
    """Return the same from GET /api/v1/inclusion."""
    report = desk.api.get("/api/v1/inclusion", params={"days": 1}).json()["data"]
    [endpoint] = report["groups"]
    assert (endpoint["tip"], report["complete"]) == ("none", True)
    assert endpoint["blocks"]["count"] == report["orders"]
    rows = {"all ": endpoint}
    rows |= {
        f"{kind} {row['name']}": row for kind in ("relays", "builders") for row in report[kind]
    }
    return {
        name: [tuple(row[of].values()) for of in ("blocks", "baseFeeBps", "fullnessBps")]
        for name, row in rows.items()
    }


@pytest.mark.timeout(900)
def test_the_report_of_many_swaps_is_that_of_the_chain(town: Town, tmp_path: Path) -> None:
    with running(town, tmp_path, QUOTES__SOURCES="sushi", SERVER__RATE_LIMIT="1000000") as (
        desk,
        _,
    ):
        try:
            with desk.no_blocks():
                swaps = rounds(desk)
        finally:
            desk.town.heal(*RELAYS)
        for swap in swaps:
            desk.follow(swap.order_id, *TERMINAL)
        wait_until(
            lambda: reported(desk) == as_the_chain_shows(desk, swaps),
            lambda: f"it differs: {reported(desk)}, {as_the_chain_shows(desk, swaps)}",
            every_s=2,
        )
        found = reported(desk)
        assert found.keys() >= {"both relays", "MEV Blocker"}
        assert sum(group["orders"] for group in found.values()) == len(swaps)
        assert sum(group["paid"] for group in found.values()) > 0
        assert sum(group["failed"] + group["cancelled"] for group in found.values()) > 0
        included = inclusion_reported(desk)
        assert included == inclusion_of_the_chain(desk, swaps)
        assert included.keys() >= {"all ", "relays MEV Blocker", "builders Titan"}
        assert desk.town.control.get("/mempool-leaks").json()["leaks"] == []
