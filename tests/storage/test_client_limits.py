"""The limits of a client are exact, however many processes store its quotes and orders at once."""

import asyncio
import json
import os
import subprocess
from collections import Counter
from dataclasses import replace

import pytest

from quietswap.rules import errors
from quietswap.rules.clients import AuditEntry, Client, ClientLimits, DayUsage, day_of
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.quotes.issued_quote import CancelOrderTerms, SwapOrderTerms
from quietswap.rules.time_units import DAY_MS
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tx.address import Address
from quietswap.service.storage.factory import Storage
from tests import forked
from tests.storage import limit_worker
from tests.storage.examples import (
    BUY,
    OTHER_WALLET,
    SELL,
    T0,
    WALLET,
    a_quote,
    an_event,
    an_order,
    move_to,
    store,
)
from tests.storage.limit_worker import AT_ONCE, VALUE

CLIENT = Client("client-1", "a company", T0)
TODAY = day_of(T0)
MANY = 2 * AT_ONCE


async def limit(storage: Storage, **limits: object) -> ClientLimits:
    found = ClientLimits(**limits)  # type: ignore[arg-type]
    await storage.clients.change_limits(CLIENT.id, lambda _: found)
    return found


async def two_processes(url: str, what: str) -> Counter[str]:
    """Let two processes store 32 each at the same time; return all outcomes."""

    def store(number: int) -> "subprocess.CompletedProcess[str]":
        return forked.run([limit_worker.__file__, url, what, str(number)], os.environ)

    found: Counter[str] = Counter()
    for done in await asyncio.gather(*(asyncio.to_thread(store, number) for number in range(2))):
        assert done.returncode == 0, done.stderr
        found.update(json.loads(done.stdout))
    assert found.total() == MANY
    return found


async def test_64_parallel_orders_of_two_processes_meet_the_limit_of_open_orders_exactly(
    url: str, storage: Storage
) -> None:
    await limit(storage, open_orders=20)
    found = await two_processes(url, "orders")
    assert found == {"stored": 20, "OPEN_ORDER_LIMIT_EXCEEDED": 44}
    assert await storage.usage.open_orders(CLIENT.id) == 20
    used = DayUsage(orders=20, usd_cents=20 * VALUE)
    assert await storage.usage.day(CLIENT.id, TODAY) == used, "a refused order is not counted"
    assert len(await storage.orders.watched()) == 20


async def test_64_parallel_orders_of_two_processes_meet_the_usd_of_a_day_exactly(
    url: str, storage: Storage
) -> None:
    await limit(storage, usd_cents_per_day=25 * VALUE + VALUE - 1)
    found = await two_processes(url, "orders")
    assert found == {"stored": 25, "DAILY_VALUE_LIMIT_EXCEEDED": 39}
    assert (await storage.usage.day(CLIENT.id, TODAY)).usd_cents == 25 * VALUE
    assert len(await storage.orders.watched()) == 25


async def test_64_parallel_quotes_of_two_processes_meet_the_quotes_of_a_day_exactly(
    url: str, storage: Storage
) -> None:
    await limit(storage, quotes_per_day=33)
    found = await two_processes(url, "quotes")
    assert found == {"stored": 33, "QUOTE_LIMIT_EXCEEDED": 31}
    assert (await storage.usage.day(CLIENT.id, TODAY)).quotes == 33


async def test_64_parallel_quotes_of_two_processes_without_limits_are_counted_exactly(
    url: str, storage: Storage
) -> None:
    assert await two_processes(url, "quotes") == {"stored": MANY}
    assert await storage.usage.day(CLIENT.id, TODAY) == DayUsage(quotes=MANY)


async def test_64_parallel_reposts_of_ended_orders_meet_the_limit_of_open_orders_exactly(
    url: str, storage: Storage
) -> None:
    for serial in range(MANY):
        ended = an_order(
            order_id=f"order-{serial}", tx_hash=f"0x{serial:064x}", status=OrderStatus.FAILED
        )
        await store(storage.orders, ended)
    await limit(storage, open_orders=7)
    found = await two_processes(url, "reposts")
    assert found == {"stored": 7, "OPEN_ORDER_LIMIT_EXCEEDED": 57}
    assert await storage.usage.open_orders(CLIENT.id) == 7


async def test_without_limits_everything_is_counted_and_nothing_refused(storage: Storage) -> None:
    await store(storage.orders, an_order(usd_cents=150))
    await store(storage.orders, an_order(usd_cents=None))
    await storage.quotes.save(a_quote())
    assert await storage.usage.day(CLIENT.id, TODAY) == DayUsage(1, 2, 150)
    assert await storage.usage.day("client-2", TODAY) == DayUsage()
    assert await storage.clients.limits(CLIENT.id) == ClientLimits()


async def test_an_order_that_ended_makes_room(storage: Storage) -> None:
    await limit(storage, open_orders=1)
    first = await store(storage.orders, an_order())
    with pytest.raises(errors.OpenOrderLimitExceeded, match="as it may have: 1"):
        await store(storage.orders, an_order())
    await store(storage.orders, an_order(client_id="client-2"))
    await move_to(storage.orders, first, OrderStatus.CONFIRMED)
    await store(storage.orders, an_order())


async def test_a_reorganisation_is_never_refused(storage: Storage) -> None:
    first = await store(storage.orders, an_order())
    mined = await move_to(storage.orders, first, OrderStatus.CONFIRMED)
    await limit(storage, open_orders=0)
    await move_to(storage.orders, mined, OrderStatus.SUBMITTED)


async def test_a_cancel_is_neither_limited_nor_counted(storage: Storage) -> None:
    await limit(storage, open_orders=0, quotes_per_day=0, usd_cents_per_day=0, wallets=OTHER)
    cancel = an_order(kind=OrderKind.CANCEL, sell_token=NATIVE, buy_token=NATIVE)
    await store(storage.orders, cancel)
    await storage.quotes.save(a_quote(terms=CancelOrderTerms("order-1")))
    assert await storage.usage.day(CLIENT.id, TODAY) == DayUsage()
    assert await storage.usage.open_orders(CLIENT.id) == 0


OTHER = frozenset({OTHER_WALLET})


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (ClientLimits(wallets=OTHER), errors.WalletNotAllowed),
        (ClientLimits(tokens=frozenset({SELL})), errors.TokenNotAllowed),
        (ClientLimits(tokens=frozenset({BUY})), errors.TokenNotAllowed),
        (ClientLimits(usd_cents_per_swap=99_99), errors.SwapValueLimitExceeded),
    ],
)
async def test_what_a_client_may_not_trade_is_neither_quoted_nor_taken(
    storage: Storage, limits: ClientLimits, error: type[errors.RequestError]
) -> None:
    await storage.clients.change_limits(CLIENT.id, lambda _: limits)
    quote = a_quote()
    terms = replace(quote.terms, usd_cents=VALUE)
    with pytest.raises(error):
        await storage.quotes.save(replace(quote, terms=terms))
    order = an_order(usd_cents=VALUE)
    with pytest.raises(error):
        await store(storage.orders, order)
    assert await storage.orders.find(order.order_id) is None
    assert await storage.quotes.by_id(CLIENT.id, quote.quote_id) is None
    assert await storage.usage.day(CLIENT.id, TODAY) == DayUsage()


@pytest.mark.parametrize(
    "limits", [ClientLimits(usd_cents_per_swap=10**9), ClientLimits(usd_cents_per_day=10**9)]
)
async def test_a_swap_of_unknown_value_is_refused_where_a_usd_limit_stands(
    storage: Storage, limits: ClientLimits
) -> None:
    await storage.clients.change_limits(CLIENT.id, lambda _: limits)
    with pytest.raises(errors.SwapValueUnknown):
        await storage.quotes.save(a_quote())
    with pytest.raises(errors.SwapValueUnknown):
        await store(storage.orders, an_order())
    await store(storage.orders, an_order(kind=OrderKind.WRAP))


async def test_the_lists_allow_what_stands_on_them_and_a_limit_at_its_edge(
    storage: Storage,
) -> None:
    await limit(
        storage,
        wallets=frozenset({WALLET}),
        tokens=frozenset({SELL, BUY}),
        usd_cents_per_swap=VALUE,
        usd_cents_per_day=VALUE,
    )
    await store(storage.orders, an_order(usd_cents=VALUE))
    with pytest.raises(errors.DailyValueLimitExceeded) as refused:
        await store(storage.orders, an_order(usd_cents=1))
    assert refused.value.details == {
        "limitUsd": "100.00",
        "usedUsd": "100.00",
        "valueUsd": "0.01",
        "resetsAt": "2027-01-16T00:00:00Z",
    }
    tomorrow: Order = an_order(usd_cents=VALUE, created_at_ms=T0 + DAY_MS)
    await store(storage.orders, tomorrow)


async def test_eth_of_a_wrap_is_no_token_of_the_list(storage: Storage) -> None:
    weth = Address(SELL)
    await limit(storage, tokens=frozenset({weth}))
    kind = OrderKind.WRAP
    await store(storage.orders, an_order(kind=kind, sell_token=NATIVE, buy_token=weth))
    with pytest.raises(errors.TokenNotAllowed):
        await store(storage.orders, an_order(kind=kind, sell_token=NATIVE, buy_token=BUY))


async def test_the_value_of_a_quote_is_stored_and_read(storage: Storage) -> None:
    quote = a_quote()
    assert isinstance(quote.terms, SwapOrderTerms)
    quote = replace(quote, terms=replace(quote.terms, usd_cents=12_345))
    await storage.quotes.save(quote)
    assert await storage.quotes.by_id(CLIENT.id, quote.quote_id) == quote


async def test_limits_come_with_the_key_and_change(storage: Storage, other: Storage) -> None:
    from tests.storage.test_keys import _KEY

    await storage.keys.add(_KEY, b"1", CLIENT)
    set_to = await limit(storage, quotes_per_day=5, wallets=frozenset({WALLET}))
    assert await storage.keys.find(b"1") == replace(_KEY, limits=set_to)
    await limit(storage)
    assert await storage.keys.find(b"1") == replace(_KEY, limits=ClientLimits())
    assert await other.clients.limits(CLIENT.id) == ClientLimits()


async def test_what_is_stored_is_an_event_of_a_real_order(storage: Storage) -> None:
    """A refused order leaves neither bytes nor events."""
    await limit(storage, open_orders=0)
    order = an_order()
    with pytest.raises(errors.OpenOrderLimitExceeded):
        await storage.orders.add(order, an_event(order))
    assert await storage.orders.events(order.order_id) == []
    assert await storage.orders.raws([order.order_id]) == {}
    assert (await storage.orders.page(CLIENT.id, WALLET, None, 1, 0)).total == 0


@pytest.mark.parametrize(
    "sql", ["UPDATE audit_log SET event = 'x'", "DELETE FROM audit_log", "TRUNCATE audit_log"]
)
async def test_no_entry_of_the_audit_log_is_changed_or_deleted(storage: Storage, sql: str) -> None:
    if sql.startswith("TRUNCATE") and storage.database.dialect == "sqlite":
        sql = "DELETE FROM audit_log WHERE 1 = 1"
    entry = AuditEntry("aud_1", T0, {"user": "root"}, "client_created", {"client": "client-1"})
    await storage.audit.append(entry)
    with pytest.raises(Exception, match="append-only"):
        await storage.database.change(sql)
    assert await storage.audit.list(0, 10) == [entry]


async def test_a_transaction_of_unknown_content_meets_no_limit_in_usd_or_tokens(
    storage: Storage,
) -> None:
    """A wallet's RPC URL may take any transaction: what it moves is not known."""
    order = an_order(kind=OrderKind.TRANSACTION, sell_token=NATIVE, buy_token=NATIVE)
    await limit(storage, usd_cents_per_day=10**9)
    with pytest.raises(errors.SwapValueUnknown, match="cannot be valued") as unvalued:
        await store(storage.orders, order)
    assert "price" not in str(unvalued.value) + str(unvalued.value.suggestion)
    await limit(storage, tokens=frozenset({SELL, BUY}))
    with pytest.raises(errors.TokenNotAllowed, match="cannot be checked") as unchecked:
        await store(storage.orders, order)
    assert not unchecked.value.details, "it names no token that nobody meant"
    await limit(storage, open_orders=1)
    await store(storage.orders, order)


async def test_a_speed_up_is_the_same_order_for_the_limits(storage: Storage) -> None:
    await limit(storage, open_orders=1, usd_cents_per_day=15_000)
    slow = await store(storage.orders, an_order(usd_cents=10_000))
    await store(storage.orders, an_order(usd_cents=10_000, nonce=slow.nonce))
    assert await storage.usage.open_orders(CLIENT.id) == 1
    assert (await storage.usage.day(CLIENT.id, TODAY)).usd_cents == 10_000
    with pytest.raises(errors.DailyValueLimitExceeded):
        await store(storage.orders, an_order(usd_cents=10_000, nonce=slow.nonce + 10**6))
    larger = an_order(usd_cents=14_000, nonce=slow.nonce)
    await store(storage.orders, larger)
    assert (await storage.usage.day(CLIENT.id, TODAY)).usd_cents == 14_000
