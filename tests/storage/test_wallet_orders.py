"""What a wallet's RPC URL reads of orders and quotes, on both databases."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.order import AT_LARGE, Failure, FailureCode, OrderKind, OrderStatus
from quietswap.rules.quotes.issued_quote import QuoteKind, Trade
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.order_pages import CONTENDERS, SAME_TRADE, page_sql, total_sql
from tests.storage.examples import (
    BUY,
    OTHER_WALLET,
    ROUTER,
    SELL,
    T0,
    WALLET,
    a_quote,
    an_event,
    an_order,
    store,
)
from tests.storage.sqlite_plans import plan_of


async def test_contenders_are_what_may_be_mined_at_a_nonce(storage: Storage) -> None:
    live = await store(storage.orders, an_order(nonce=2**63, status=OrderStatus.MINING))
    for changes in (
        {"nonce": 9}, {"wallet": OTHER_WALLET}, {"client_id": "client-2"},
        {"status": OrderStatus.CONFIRMED},
    ):  # fmt: skip
        await store(storage.orders, an_order(**({"nonce": 2**63} | changes)))
    ended = {}
    for code in FailureCode:
        dead = an_order(nonce=2**63, status=OrderStatus.FAILED, failure=Failure(code, "why"))
        ended[code] = await store(storage.orders, dead)
    over = await store(
        storage.orders, replace(ended[FailureCode.EXPIRED], order_id="over", tx_hash="0xover")
    )
    assert await storage.orders.update(replace(over, watched=False), None)
    found = await storage.orders.contenders("client-1", WALLET, 2**63)
    assert {order.order_id for order in found} == {
        live.order_id,
        *(ended[code].order_id for code in AT_LARGE),
    }
    assert all(order.raw for order in found)


async def test_swaps_of_the_same_trade_are_found_with_their_bytes(storage: Storage) -> None:
    same = Trade(SELL, BUY, 5, 4, 3)
    fields = {"sell_amount": 5, "min_buy_amount": 4, "created_at_ms": T0 + 10}
    wanted = await store(storage.orders, an_order(**fields))
    for changes in (
        {"sell_amount": 6}, {"min_buy_amount": 5}, {"buy_token": ROUTER}, {"created_at_ms": T0 + 9},
        {"wallet": OTHER_WALLET}, {"client_id": "client-2"}, {"kind": OrderKind.TRANSACTION},
    ):  # fmt: skip
        await store(storage.orders, an_order(**(fields | changes)))
    found = await storage.orders.same_trade("client-1", WALLET, same, T0 + 10)
    assert list(found) == [wanted]


async def test_recent_quotes_by_target_and_calldata(storage: Storage) -> None:
    quotes = [a_quote(issued_at_ms=T0 + n) for n in range(4)]
    other = a_quote(params=replace(quotes[0].params, data=b"\x09", to=SELL), issued_at_ms=T0 + 9)
    for quote in (*quotes, other, a_quote(client_id="client-2"), a_quote(wallet=OTHER_WALLET)):
        await storage.quotes.save(quote)
    target, data = quotes[3].params.to, quotes[3].params.data
    of = ("client-1", WALLET, QuoteKind.SWAP, T0 + 2)
    assert list(await storage.quotes.since(*of, target=target)) == [quotes[3], quotes[2]]
    assert list(await storage.quotes.since(*of, target=target, data=data)) == [quotes[3]]
    assert not await storage.quotes.since(*of, target=target, data=data + b"\x01")
    assert list(await storage.quotes.since(*of, target=SELL, data=b"\x09")) == [other]


async def test_other_kinds_have_pages_of_their_own(storage: Storage) -> None:
    orders = [
        await store(
            storage.orders,
            an_order(kind=OrderKind.APPROVAL, status=status, created_at_ms=T0 + n),
        )
        for n, status in enumerate([OrderStatus.PENDING] * 3 + [OrderStatus.FAILED])
    ]
    await store(storage.orders, an_order())
    await store(storage.orders, an_order(kind=OrderKind.TRANSACTION))
    await store(storage.orders, an_order(kind=OrderKind.APPROVAL, client_id="client-2"))
    ids = [order.order_id for order in reversed(orders)]
    page = partial(storage.orders.page, "client-1", WALLET, kind=OrderKind.APPROVAL)
    first = await page(None, limit=2, offset=0)
    assert ([line.order_id for line in first.orders], first.total) == (ids[:2], 4)
    assert {line.kind for line in first.orders} == {"approval"}
    rest = await page(None, limit=10, offset=2)
    assert ([line.order_id for line in rest.orders], rest.total) == (ids[2:], 4)
    failed = await page(OrderStatus.FAILED, limit=10, offset=0)
    assert ([line.order_id for line in failed.orders], failed.total) == (ids[:1], 1)


@pytest.mark.parametrize("kind", [None, OrderKind.SWAP])
async def test_a_page_tells_what_a_swap_did_with_ether(
    storage: Storage, kind: OrderKind | None
) -> None:
    did = [None, "wrap", "unwrap", None]
    for n, conversion in enumerate(did):
        await store(storage.orders, an_order(created_at_ms=T0 - n, conversion=conversion))
    await store(storage.orders, an_order(kind=OrderKind.CANCEL, created_at_ms=T0 - 9))
    for status in (None, OrderStatus.PENDING):
        page = await storage.orders.page("client-1", WALLET, status, 3, 1, kind)
        assert [line.conversion for line in page.orders] == did[1:]


async def test_a_page_of_any_kind_has_all_orders_of_the_wallet(storage: Storage) -> None:
    statuses = [OrderStatus.PENDING, OrderStatus.CONFIRMED, OrderStatus.MINING, OrderStatus.FAILED]
    of_kind = {
        kind: [
            await store(storage.orders, an_order(kind=kind, status=status, created_at_ms=T0 + n))
            for n, status in enumerate(statuses)
        ]
        for kind in OrderKind
    }
    for stranger in ({"client_id": "client-2"}, {"wallet": OTHER_WALLET}):
        await store(storage.orders, an_order(**stranger))

    async def page(status: OrderStatus | None, limit: int, offset: int) -> tuple[list[str], int]:
        of = ("client-1", WALLET, status, limit, offset)
        found = await storage.orders.page(*of, kind=None)
        return [line.order_id for line in found.orders], found.total

    orders = [order for same in of_kind.values() for order in same]
    orders.sort(key=lambda order: (order.created_at_ms, order.order_id), reverse=True)
    ids = [order.order_id for order in orders]
    assert await page(None, 200, 0) == (ids, len(ids))
    assert await page(None, 6, 4) == (ids[4:10], len(ids))
    for status in OrderStatus:
        wanted = [order.order_id for order in orders if order.status is status]
        assert await page(status, 200, 0) == (wanted, len(wanted))
        assert await page(status, 2, 1) == (wanted[1:3], len(wanted))


@pytest.mark.parametrize("kind", list(OrderKind))
async def test_every_kind_has_a_status_record_of_its_client(
    storage: Storage, kind: OrderKind
) -> None:
    order = await store(storage.orders, an_order(kind=kind))
    found = await storage.orders.record("client-1", order.order_id)
    assert found is not None
    assert found.kind == kind.value
    assert await storage.orders.record("client-2", order.order_id) is None


@pytest.mark.parametrize("status", [None, OrderStatus.FAILED])
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_page_of_another_kind_is_read_by_its_index(
    storage: Storage, status: OrderStatus | None
) -> None:
    of = ("client-1", WALLET, status) if status else ("client-1", WALLET)
    page = (page_sql("sqlite", status, OrderKind.APPROVAL), (*of, *of, 10, 0))
    total = (total_sql(status, OrderKind.APPROVAL), of)
    for sql, args in (page, total):
        plan = await plan_of(storage, sql, args)
        assert " INDEX orders_of_other_kinds " in plan
        assert "TEMP" not in plan, "the index already has the order"


@pytest.mark.parametrize("status", [None, OrderStatus.FAILED])
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_page_of_any_kind_reads_swaps_by_their_index(
    storage: Storage, status: OrderStatus | None
) -> None:
    of = ("client-1", WALLET, status) if status else ("client-1", WALLET)
    swaps = "orders_history_by_status" if status else "orders_history"
    args = (*of, *of, *(*of, 10) * len(OrderKind), 10, 0)
    plan = await plan_of(storage, page_sql("sqlite", status, None), args)
    assert f" COVERING INDEX {swaps} " in plan
    assert " INDEX orders_of_other_kinds " in plan
    counts = await plan_of(storage, total_sql(status, None), (*of, *of))
    assert "SEARCH order_counts " in counts
    assert " INDEX orders_of_other_kinds " in counts
    assert "orders_history" not in counts


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_the_reads_of_a_submission_do_not_scan(storage: Storage) -> None:
    cases = [
        (CONTENDERS, (WALLET, "1", "client-1") * 2, ("orders_open", "orders_at_large")),
        (SAME_TRADE, ("client-1", WALLET, T0, SELL, BUY, "1", "1"), ("orders_history",)),
    ]
    for sql, args, indexes in cases:
        plan = await plan_of(storage, sql, args)
        assert "SCAN" not in plan
        for index in indexes:
            assert f"USING INDEX {index} " in plan


async def test_one_quote_is_spent_at_one_nonce(storage: Storage) -> None:
    """However many orders of it are stored at once; a speed-up has the same nonce."""
    quote = a_quote()
    await storage.quotes.save(quote)

    async def place(nonce: int) -> int | None:
        fresh = an_order(quote_id=quote.quote_id, nonce=nonce)
        with suppress(ValidationError):
            return (await store(storage.orders, fresh)).nonce
        return None

    [spent] = [n for n in await asyncio.gather(*map(place, range(8))) if n is not None]
    assert await place(spent) == spent
    with pytest.raises(ValidationError, match="spent by another transaction") as refused:
        await store(storage.orders, an_order(quote_id=quote.quote_id, nonce=spent + 1))
    assert refused.value.details is not None
    assert refused.value.details["reason"] == "QUOTE_USED"
    other = a_quote()
    await storage.quotes.save(other)
    await store(storage.orders, an_order(quote_id=other.quote_id, nonce=spent + 1))
    await store(storage.orders, an_order(quote_id="deleted", nonce=spent + 2))


async def test_equal_quotes_are_spent_together(storage: Storage) -> None:
    """Orders that name some of them at once, in any order, wait for each other: no deadlock."""
    quotes = [a_quote() for _ in range(4)]
    for quote in quotes:
        await storage.quotes.save(quote)
    ids = [quote.quote_id for quote in quotes]

    async def place(nonce: int) -> int | None:
        fresh = an_order(quote_id=ids[nonce % 4], nonce=nonce)
        seen = ids[: nonce % 4 + 1] if nonce % 2 else ids[::-1]
        with suppress(ValidationError):
            await storage.orders.add(fresh, an_event(fresh), seen)
            return nonce
        return None

    [spent] = [n for n in await asyncio.gather(*map(place, range(16))) if n is not None]
    fresh = an_order(quote_id=ids[0], nonce=spent)
    await storage.orders.add(fresh, an_event(fresh), ids)
