"""Results of orders: stored with the inclusion, counted for statistics, and exported by time."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.operator.inclusion import StoredInclusion
from quietswap.rules.orders.export import ExportFilter
from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderKind, OrderStatus
from quietswap.rules.orders.statistics import TWO_RELAYS, Tally
from quietswap.rules.tx.address import Address, from_bytes
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.inclusion import EXPIRED, MINED, InclusionStore
from quietswap.service.storage.order_export import OF_ALL, OF_CLIENT, OF_WALLET, OrderExportStore
from quietswap.service.storage.order_statistics import TALLIES, OrderStatisticsStore
from tests.storage.examples import T0, WALLET, an_event, an_order
from tests.stored_orders import inclusion

OTHER = from_bytes(b"\x07" * 20)
EVER = 2**45


async def stored(storage: Storage, order: Order) -> Order:
    await storage.orders.add(order, an_event(order))
    return order


def confirmed(number: int, received: int | None, **changes: object) -> Order:
    """Return a confirmed swap, quoted 3000, sent at block 90, 12 s before block 100."""
    block = inclusion(received=received, refund=Refund(), block_time_ms=T0 + number + 12_500)
    plain = an_order(
        order_id=f"ord_{T0 + number:012x}{number:020x}",
        status=OrderStatus.CONFIRMED,
        created_at_ms=T0 + number,
        submitted_at_ms=T0 + number,
        submitted_head=98,
        buy_amount=3_000,
        source="kyberswap",
        inclusion=block,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "block",
    [
        inclusion(received=2**256 - 1, refund=Refund()),
        inclusion(received_issue="NO_LOGS", refund=Refund(RefundStatus.REPORTED, 2**70)),
        inclusion(received=0, refund=Refund(RefundStatus.PAID, 5, "0x" + "ef" * 32)),
        inclusion(received=9, refund=Refund(), reference=Reference(2**256 - 1, 2**70)),
        inclusion(facts=BlockFacts(2**256 - 1, 10_000, "Titan")),
        inclusion(),
    ],
)
async def test_a_result_is_stored_as_it_is(storage: Storage, block: object) -> None:
    fees = {"fee_cap": 2**256 - 1, "priority_fee": 0}
    order = await stored(storage, an_order(source="velora", **fees))
    mined = replace(order, status=OrderStatus.CONFIRMED, inclusion=block)  # type: ignore[arg-type]
    assert await storage.orders.update(mined, an_event(mined))
    found = await storage.orders.find(order.order_id)
    assert found is not None
    assert (found.inclusion, found.source) == (block, "velora")
    assert (found.fee_cap, found.priority_fee) == (2**256 - 1, 0)
    back = replace(found, status=OrderStatus.SUBMITTED, inclusion=None)
    assert await storage.orders.update(back, an_event(back))
    gone = await storage.orders.find(order.order_id)
    assert gone is not None
    assert gone.inclusion is None
    shown = await storage.orders.record(order.client_id, order.order_id)
    assert shown is not None
    assert (shown.received, shown.received_issue, shown.refund_status) == (None, None, None)
    assert (shown.reference, shown.reference_wei) == (None, None)


async def test_inclusions_of_all_clients_are_read_newest_first(storage: Storage) -> None:
    facts, fees = BlockFacts(2**70, 9_000, "Titan"), {"fee_cap": 2**71, "priority_fee": 2**69}
    for number, changes in enumerate(
        ({}, {"client_id": "client-2", "second_tier": 4, **fees}, {"submitted_head": None}, {})
    ):
        order = confirmed(number, 3_000, **changes)
        assert order.inclusion is not None
        block = replace(order.inclusion, block_time_ms=T0 + number, facts=facts)
        await stored(storage, replace(order, inclusion=block))
    reader = InclusionStore(storage.database)
    one = StoredInclusion(100, 98, "noreverts", 2, None, None, str(2**70), 9_000, "Titan")
    other = one._replace(tier=TWO_RELAYS, priority_fee=str(2**69), fee_cap=str(2**71))
    assert await reader.mined(T0, 9) == [one, other, one]
    assert await reader.mined(T0 + 1, 9) == [one, other]
    assert await reader.mined(T0, 1) == [one]


async def test_only_orders_that_no_block_has_are_expired(storage: Storage) -> None:
    over = Failure(FailureCode.EXPIRED, "it expired")
    for expires_at_ms, failure in ((T0, over), (T0 + 1, over), (T0 + 1, None)):
        status = OrderStatus.CANCELLED if failure else OrderStatus.SUBMITTED
        changes = {"status": status, "failure": failure, "expires_at_ms": expires_at_ms}
        await stored(storage, an_order(**changes))
    reader = InclusionStore(storage.database)
    assert [await reader.expired(T0 + late) for late in range(3)] == [2, 1, 0]


async def test_tallies_count_the_results_of_one_client(storage: Storage) -> None:
    paid = Refund(RefundStatus.PAID, 2**70, "0x" + "ef" * 32)
    await stored(storage, confirmed(1, 2_999))
    await stored(storage, confirmed(2, 3_000, attempts=3))
    third = confirmed(3, None)
    assert third.inclusion is not None
    await stored(storage, replace(third, inclusion=replace(third.inclusion, refund=paid)))
    failure = Failure(FailureCode.REVERTED, "it reverted")
    await stored(
        storage,
        confirmed(
            4, 0, status=OrderStatus.FAILED, failure=failure, source=None,
            inclusion=inclusion(succeeded=False, received=0, block_time_ms=T0 - 5),
        ),
    )  # fmt: skip
    expired = Failure(FailureCode.EXPIRED, "its time is over")
    await stored(
        storage,
        confirmed(
            0, 0, status=OrderStatus.CANCELLED, failure=expired, inclusion=None, second_tier=4
        ),
    )  # fmt: skip
    await stored(storage, confirmed(5, 9, client_id="client-2"))
    await stored(storage, confirmed(6, 9, kind=OrderKind.CANCEL))
    await stored(storage, confirmed(-1, 9))
    found = await OrderStatisticsStore(storage.database).tallies("client-1", T0, 100)
    swap = ("kyberswap", 2)
    assert set(found) == {
        Tally("orders", *swap, "confirmed", 0, 2),
        Tally("orders", *swap, "confirmed", 1, 1),
        Tally("orders", None, 2, "failed", 0, 1),
        Tally("reverted", None, 2, "", 0, 1),
        Tally("orders", "kyberswap", TWO_RELAYS, "cancelled", 0, 1),
        Tally("dropped", "kyberswap", TWO_RELAYS, "", 0, 1),
        Tally("blocks", *swap, "", 2, 3),
        Tally("blocks", None, 2, "", 2, 1),
        Tally("seconds", *swap, "", 12, 3),
        Tally("seconds", None, 2, "", 0, 1),
        Tally("delivered", *swap, "", -4, 1),
        Tally("delivered", *swap, "", 0, 1),
        Tally("refund", *swap, f"paid {2**70}", 0, 1),
    }
    newest = await OrderStatisticsStore(storage.database).tallies("client-1", T0, 1)
    assert [tally for tally in newest if tally.measure == "orders"] == [
        Tally("orders", None, 2, "failed", 0, 1)
    ]


async def _ids(storage: Storage, wanted: ExportFilter, page: int = 2) -> list[str]:
    export = OrderExportStore(storage.database, page)
    return [row.order.order_id async for rows in export.pages(wanted) for row in rows]


async def test_an_export_is_complete_and_in_order_of_time(storage: Storage) -> None:
    at = (5, 1, 3, 3, 3, 2, 4)
    mine = [
        await stored(storage, confirmed(number, 1, order_id=f"ord_{T0 + number:012x}{place:020x}"))
        for place, number in enumerate(at)
    ]
    wrap = await stored(
        storage, confirmed(3, 1, order_id=f"wrp_{T0 + 3:012x}{9:020x}", kind=OrderKind.WRAP)
    )
    foreign = await stored(storage, confirmed(6, 1, wallet=OTHER))
    other = await stored(storage, confirmed(7, 1, client_id="client-2"))

    def ids(orders: Sequence[Order], first: int, end: int, wallet: Address | None) -> list[str]:
        chosen = [
            o for o in orders
            if T0 + first <= o.created_at_ms < T0 + end and wallet in (None, o.wallet)
        ]  # fmt: skip
        return [o.order_id for o in sorted(chosen, key=lambda o: (o.created_at_ms, o.order_id))]

    own = [*mine, wrap, foreign]
    for first, end in ((0, 99), (3, 4), (2, 5), (5, 5), (8, 99)):
        for wallet in (None, WALLET, OTHER):
            for page in (1, 2, 100):
                limits = T0 + first, T0 + end
                wanted = ExportFilter(*limits, "client-1", wallet)
                assert await _ids(storage, wanted, page) == ids(own, first, end, wallet)
                of_all = await _ids(storage, ExportFilter(*limits, None, wallet), page)
                swaps = [o for o in (*own, other) if o is not wrap]
                wraps = [o for o in own if o is wrap]
                assert of_all == ids(swaps, first, end, wallet) + ids(wraps, first, end, wallet)


async def test_a_row_has_what_was_stored(storage: Storage) -> None:
    block = inclusion(received=2_999, refund=Refund(), reference=Reference(3_001, 7))
    order = await stored(storage, confirmed(1, None, inclusion=block))
    export = OrderExportStore(storage.database)
    [[row]] = [rows async for rows in export.pages(ExportFilter(0, EVER, order.client_id))]
    assert order.inclusion is not None
    more = (row.client_id, row.wallet, row.source, row.tier, row.block_hash)
    block_hash = order.inclusion.block_hash
    assert more == (order.client_id, order.wallet, order.source, order.tier, block_hash)
    told = {
        **{name: getattr(order, name) for name in (
            "order_id", "tx_hash", "created_at_ms", "submitted_at_ms", "sell_token", "buy_token",
        )},
        **{name: getattr(order.inclusion, name) for name in (
            "block_number", "block_time_ms", "gas_used", "received_issue",
        )},
        "kind": "swap", "status": "confirmed", "nonce": str(order.nonce),
        "sell_amount": str(order.sell_amount), "min_buy_amount": str(order.min_buy_amount),
        "buy_amount": "3000", "effective_gas_price": str(order.inclusion.effective_gas_price),
        "received": "2999", "refund_status": "none", "refund_wei": "0", "refund_tx": None,
        "failure_code": None, "reference": "3001", "reference_wei": "7",
    }  # fmt: skip
    assert {name: getattr(row.order, name) for name in told} == told
    assert row.order == await storage.orders.record(order.client_id, order.order_id)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("sql", "args", "index"),
    [
        (OF_WALLET, ("c", WALLET, 0, "", EVER, 9), "orders_of_wallet"),
        (OF_CLIENT, ("c", 0, "", EVER, 9), "orders_by_time"),
        (OF_ALL, ("ord_", "ord_f", 9), "sqlite_autoindex_orders_1"),
        (TALLIES, ("c", 0, 9), "orders_by_time"),
        (MINED, (0, 9), "orders_mined"),
        (EXPIRED, (0,), "orders_expired"),
    ],
)
async def test_each_statement_reads_by_its_index_without_sorting_orders(
    storage: Storage, sql: str, args: tuple[str | int, ...], index: str
) -> None:
    rows = await storage.database.fetch(f"EXPLAIN QUERY PLAN {sql}", *args)
    steps = [row[3] for row in rows]
    assert all(index in step for step in steps if step.split()[1] == "orders")
    assert any(index in step for step in steps)
    if sql is not TALLIES:
        assert not any("TEMP" in step for step in steps)
