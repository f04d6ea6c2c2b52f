"""Limits and usage of clients, checked and counted in the transaction of a quote or an order.

A quote of a client without limits is counted and stored by one statement on PostgreSQL.

Parallel transactions of one client, of any number of processes, wait for each other at one row: a
quote at the usage row of its day, an order at the row of the limits. Each statement of PostgreSQL
(READ COMMITTED) sees what was committed before it, so the count after that wait is exact. SQLite
has one writer.
"""

import msgspec

from quietswap.rules.clients import ClientLimits, DayUsage, day_of
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.quotes.issued_quote import IssuedQuote, QuoteKind
from quietswap.rules.time_units import DAY_MS
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tx.address import Address
from quietswap.service.storage.database import Database, Row, Store, Transaction, Value

_NUMBERS = (
    "requests_per_minute",
    "quotes_per_day",
    "open_orders",
    "usd_cents_per_swap",
    "usd_cents_per_day",
)
LIMIT_COLUMNS = (*_NUMBERS, "wallets", "tokens")
_COLUMNS = ", ".join(LIMIT_COLUMNS)
_SELECT = f"SELECT {_COLUMNS} FROM client_limits WHERE client_id = ?"  # noqa: S608  constants only
_LOCK = f"""
UPDATE client_limits SET client_id = client_id WHERE client_id = ? RETURNING {_COLUMNS}
"""  # noqa: S608
"""Without a change: it makes parallel orders of the client wait for this transaction."""
_REPLACE = f"""
INSERT INTO client_limits (client_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (client_id) DO UPDATE SET {", ".join(f"{c} = excluded.{c}" for c in LIMIT_COLUMNS)}
"""  # noqa: S608
_INTO_USAGE = "INSERT INTO client_usage (client_id, day, quotes, orders, usd_cents)"
_ADD = """
ON CONFLICT (client_id, day) DO UPDATE SET quotes = client_usage.quotes + excluded.quotes,
orders = client_usage.orders + excluded.orders,
usd_cents = client_usage.usd_cents + excluded.usd_cents
"""
_USE = f"{_INTO_USAGE} VALUES (?, ?, ?, ?, ?) {_ADD} RETURNING quotes, orders, usd_cents"
UNLIMITED = f"""
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM client_limits WHERE client_id = ?
AND (COALESCE({", ".join(_NUMBERS)}) IS NOT NULL OR wallets <> '[]' OR tokens <> '[]'))
"""  # noqa: S608
"""One row if the client has no limits."""
USE_OF_UNLIMITED = f"{_INTO_USAGE} SELECT ?, ?, ?, ?, ? FROM unlimited {_ADD}"  # noqa: S608
"""Takes the values of `day_use`."""
_LIMITS_OF_USE = ", ".join(
    f"(SELECT {column} FROM client_limits l WHERE l.client_id = client_usage.client_id)"  # noqa: S608
    for column in LIMIT_COLUMNS
)
_USE_AND_LIMITS = f"{_USE}, {_LIMITS_OF_USE}"
"""One statement for both: a round trip less for each quote."""
_OPEN = """
SELECT COUNT(*) FROM (SELECT DISTINCT wallet, nonce FROM orders
WHERE client_id = ? AND status IN ('pending', 'submitted', 'mining') AND kind <> 'cancel') AS open
"""
"""An order and its speed-up have one nonce: only one of them can be mined."""
_COUNTED = """
SELECT COALESCE(MAX(usd_cents), 0) FROM orders
WHERE wallet = ? AND nonce = ? AND client_id || '' = ? AND order_id <> ? AND created_at_ms >= ?
AND status IN ('pending', 'submitted', 'mining')
"""


class UsageStore(Store):
    """What clients used. Quotes and orders are counted when they are stored."""

    async def day(self, client_id: str, day: int) -> DayUsage:
        """Return what a client used on a UTC day."""
        rows = await self._database.fetch(
            "SELECT quotes, orders, usd_cents FROM client_usage WHERE client_id = ? AND day = ?",
            client_id,
            day,
        )
        return DayUsage(*rows[0]) if rows else DayUsage()

    async def open_orders(self, client_id: str) -> int:
        """Return the number of swaps and wraps of a client that are in no final status."""
        rows = await self._database.fetch(_OPEN, client_id)
        return int(rows[0][0])


async def read_limits(place: Database | Transaction, client_id: str) -> ClientLimits:
    rows = await place.fetch(_SELECT, client_id)
    return limits_of(rows[0]) if rows else ClientLimits()


async def write_limits(transaction: Transaction, client_id: str, limits: ClientLimits) -> None:
    """Replace the limits of a client in an open transaction."""
    numbers: list[Value] = [getattr(limits, column) for column in _NUMBERS]
    lists = [msgspec.json.encode(sorted(one)).decode() for one in (limits.wallets, limits.tokens)]
    await transaction.fetch(_REPLACE, client_id, *numbers, *lists)


async def admit_quote(transaction: Transaction, quote: IssuedQuote) -> None:
    """Check the limits of the client and count the quote, no cancel. Raises their errors."""
    [(used, _, _, *row)] = await transaction.fetch(_USE_AND_LIMITS, *day_use(quote))
    limits = limits_of(row) if row[-1] is not None else ClientLimits()
    trade = quote.terms.trade
    limits.check_trade(quote.wallet, _tokens(trade.sell_token, trade.buy_token))
    if quote.kind is QuoteKind.SWAP:
        limits.check_value(quote.terms.usd_cents)
    limits.check_quotes(used, quote.issued_at_ms)


def day_use(quote: IssuedQuote) -> tuple[Value, ...]:
    """Return the values of `client_usage` that a quote adds: one quote, no order, no cents."""
    return quote.client_id, day_of(quote.issued_at_ms), 1, 0, 0


async def admit_order(transaction: Transaction, order: Order) -> None:
    """Check the limits of the client and count the stored order. Raises their errors."""
    if order.kind is OrderKind.CANCEL:
        return
    limits = await _locked_limits(transaction, order)
    value = max((order.usd_cents or 0) - await _counted(transaction, order), 0)
    day = day_of(order.created_at_ms)
    [(_, _, used)] = await transaction.fetch(_USE, order.client_id, day, 0, 1, value)
    limits.check_day(used, value, order.created_at_ms)
    await _check_open_orders(transaction, order, limits)


async def _counted(transaction: Transaction, order: Order) -> int:
    """Return the cents that this day counts already for the order's nonce: a speed-up adds none."""
    if not order.usd_cents:
        return 0
    since_ms = day_of(order.created_at_ms) * DAY_MS
    values = (order.wallet, str(order.nonce), order.client_id, order.order_id, since_ms)
    rows = await transaction.fetch(_COUNTED, *values)
    return int(rows[0][0])


async def admit_again(transaction: Transaction, order: Order) -> None:
    """Check the limits of an ended order that is pending again. It counts for the day once."""
    if order.kind is not OrderKind.CANCEL:
        limits = await _locked_limits(transaction, order)
        await _check_open_orders(transaction, order, limits)


async def _locked_limits(transaction: Transaction, order: Order) -> ClientLimits:
    rows = await transaction.fetch(_LOCK, order.client_id)
    limits = limits_of(rows[0]) if rows else ClientLimits()
    if order.kind is OrderKind.TRANSACTION:
        limits.check_unknown(order.wallet)
        return limits
    limits.check_trade(order.wallet, _tokens(order.sell_token, order.buy_token))
    if order.kind is OrderKind.SWAP:
        limits.check_value(order.usd_cents)
    return limits


async def _check_open_orders(transaction: Transaction, order: Order, limits: ClientLimits) -> None:
    if limits.open_orders is not None:
        rows = await transaction.fetch(_OPEN, order.client_id)
        limits.check_open_orders(rows[0][0])


def _tokens(sell: Address, buy: Address) -> tuple[Address, ...]:
    return tuple(token for token in (sell, buy) if token != NATIVE)


def limits_of(row: Row) -> ClientLimits:
    """Return the limits of a row of `LIMIT_COLUMNS`."""
    *numbers, wallets, tokens = row
    lists = (frozenset(map(Address, msgspec.json.decode(text))) for text in (wallets, tokens))
    return ClientLimits(*numbers, *lists)
