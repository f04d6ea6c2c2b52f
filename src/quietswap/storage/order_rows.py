"""The columns of `orders` and `order_events`, and the conversion in both directions."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from quietswap.amounts import difference_bps
from quietswap.chain.address import Address
from quietswap.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEvent,
    OrderKind,
    OrderStatus,
)
from quietswap.orders.received import Reference, Refund, RefundStatus
from quietswap.orders.stores import OrderListItem, OrderPage
from quietswap.quoting.quote import Trade
from quietswap.storage.database import Database, Row, Value

FIXED = (
    "order_id", "client_id", "kind", "wallet", "nonce", "tx_hash", "sell_token", "buy_token",
    "sell_amount", "min_buy_amount", "created_at_ms", "source", "usd_cents",
    "quote_id", "deadline_s",
)  # fmt: skip
"""Written once, by the insert."""
_PLAIN = (
    "status", "buy_amount", "tier", "endpoint_type", "share_mode", "expires_at_ms",
    "watch_until_ms", "submitted_at_ms", "submitted_head", "sent_head", "attempts",
    "relay_answer", "second_tier",
)  # fmt: skip
_INCLUSION = (
    "block_number", "block_hash", "gas_used", "effective_gas_price", "block_time_ms", "succeeded",
)  # fmt: skip
_RESULT = (
    "received", "received_issue", "delivered_bps", "refund_status", "refund_wei", "refund_tx",
    "reference", "reference_wei",
)  # fmt: skip
"""What the block brought. `delivered_bps` is derived, for statistics in SQL."""
MOVING = (*_PLAIN, *_INCLUSION, *_RESULT, "failure_code", "failure_message", "watched")
"""Written by every update."""
COLUMNS = (*FIXED, *MOVING, "version")
EVENT_COLUMNS = "order_id, at_ms, sighting, from_status, to_status, evidence"

_MOST_BPS = 1_000_000
"""Larger differences are stored as this one, so that statistics have few different values."""
_AS_TEXT = frozenset(
    {"nonce", "sell_amount", "min_buy_amount", "buy_amount", "effective_gas_price"}
)
"""Integers that may exceed 64 bits are stored as decimal text."""


_TO_TEXT = _AS_TEXT | {"kind", "status"}


def _reader(columns: Sequence[str]) -> Callable[[object], list[Value]]:
    """Return a function that reads the stored values of these columns from a record."""
    read = attrgetter(*columns)
    to_text = [column in _TO_TEXT for column in columns]
    return lambda record: [
        str(value) if text else value for value, text in zip(read(record), to_text, strict=True)
    ]


_fixed, _plain, _included = _reader(FIXED), _reader(_PLAIN), _reader(_INCLUSION[:-1])


def fixed_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `FIXED`."""
    return tuple(_fixed(order))


def moving_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `MOVING`."""
    block, failure = order.inclusion, order.failure
    return (
        *_plain(order),
        *((None,) * 6 if block is None else (*_included(block), int(block.succeeded))),
        *((None,) * len(_RESULT) if block is None else _result(order, block)),
        *((None, None) if failure is None else (failure.code.value, failure.message)),
        int(order.watched),
    )


def _result(order: Order, block: Inclusion) -> tuple[Value, ...]:
    received, refund, reference = block.received, block.refund, block.reference
    has_bps = received is not None and block.succeeded and order.buy_amount > 0
    bps = difference_bps(received or 0, order.buy_amount) if has_bps else None
    return (
        None if received is None else str(received),
        block.received_issue,
        None if bps is None else max(-_MOST_BPS, min(bps, _MOST_BPS)),
        *((None,) * 3 if refund is None else _refund(refund)),
        *((None,) * 2 if reference is None else (str(reference.amount), str(reference.value_wei))),
    )


def _refund(refund: Refund) -> tuple[Value, ...]:
    return refund.status.value, str(refund.amount_wei), refund.tx_hash


def order_from(row: Row) -> Order:
    """Return the order of a row of `COLUMNS`, followed by its signed bytes or NULL."""
    *columns, raw = row
    cell: dict[str, Any] = {
        name: int(value) if name in _AS_TEXT and value is not None else value
        for name, value in zip(COLUMNS, columns, strict=True)
    }
    included = {name: cell.pop(name) for name in _INCLUSION}
    result = {name: cell.pop(name) for name in _RESULT}
    code, message = cell.pop("failure_code"), cell.pop("failure_message")
    included["succeeded"] = bool(included["succeeded"])
    included |= _result_from(result)
    converted = {
        "kind": OrderKind(cell["kind"]),
        "status": OrderStatus(cell["status"]),
        "watched": bool(cell["watched"]),
    }
    return Order(
        **cell | converted,
        raw=raw,
        inclusion=None if included["block_number"] is None else Inclusion(**included),
        failure=None if code is None else Failure(FailureCode(code), message),
    )


def _result_from(cells: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an Inclusion that `_RESULT` holds."""
    received, status, worth = cells["received"], cells["refund_status"], cells["reference"]
    refund = None
    if status is not None:
        refund = Refund(RefundStatus(status), int(cells["refund_wei"]), cells["refund_tx"])
    return {
        "received": None if received is None else int(received),
        "received_issue": cells["received_issue"],
        "refund": refund,
        "reference": worth and Reference(int(worth), int(cells["reference_wei"])),
    }


def event_values(event: OrderEvent) -> tuple[Value, ...]:
    """Return the values of `EVENT_COLUMNS`."""
    return (
        event.order_id,
        event.at_ms,
        event.event_type,
        event.from_status,
        event.to_status,
        event.evidence,
    )


def event_from(row: Row) -> OrderEvent:
    """Return the event of a row of `EVENT_COLUMNS`."""
    return OrderEvent(*row)


# The lines of a page of history: their columns are in the indexes, so that no row is read.

LINE = ", ".join(OrderListItem._fields)


def only(status: OrderStatus | None) -> str:
    """Return the condition of a status filter; its argument is the status."""
    return "" if status is None else "AND status = ?"


def indexed_by(dialect: str, status: OrderStatus | None) -> str:
    """Return what names a history's index to SQLite: some of its versions choose another index with
    the same order, where it must read each row.
    """
    if dialect != "sqlite":
        return ""
    return "INDEXED BY " + ("orders_history_by_status" if status else "orders_history")


def items(rows: Sequence[Row]) -> tuple[OrderListItem, ...]:
    """Return the lines of rows that begin with LINE."""
    width = len(OrderListItem._fields)
    return tuple(OrderListItem._make(row[:width]) for row in rows)


# Reads of one wallet's orders for its RPC URL, and pages of other orders than swaps alone.

# The SQL below is composed only of constants of this module and of order_rows.
_SELECT = f"""
SELECT {", ".join(f"o.{column}" for column in COLUMNS)}, b.raw
FROM orders o LEFT JOIN order_bytes b ON b.order_id = o.order_id
"""  # noqa: S608
# `client_id || ''` keeps SQLite from an index of all orders of a wallet: few of them are open.
CONTENDERS = f"""
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id || '' = ?
AND o.status IN ('pending', 'submitted', 'mining')
UNION ALL
{_SELECT} WHERE o.wallet = ? AND o.nonce = ? AND o.client_id = ?
AND o.watched = 1 AND o.failure_code IN ('REFUSED', 'EXPIRED')
"""
SAME_TRADE = f"""
{_SELECT} WHERE o.kind = 'swap' AND o.client_id = ? AND o.wallet = ? AND o.created_at_ms >= ?
AND o.sell_token = ? AND o.buy_token = ? AND o.sell_amount = ? AND o.min_buy_amount = ?
ORDER BY o.created_at_ms DESC, o.order_id DESC LIMIT 200
"""
_NEWEST = "ORDER BY created_at_ms DESC, order_id DESC LIMIT ?"
_OTHERS = "kind <> 'swap' AND client_id = ? AND wallet = ?"
_OTHER_KINDS = ", ".join(f"'{kind}'" for kind in OrderKind if kind is not OrderKind.SWAP)
"""Without their names SQLite would read all orders of the wallet."""
_OF_KIND = f"{_OTHERS} AND kind = ? {{status}}"
_PAGE_OF_KIND = f"SELECT {{line}} FROM orders WHERE {_OF_KIND} {_NEWEST} OFFSET ?"  # noqa: S608
_TOTAL_OF_KIND = f"SELECT COUNT(*) FROM orders WHERE {_OF_KIND}"  # noqa: S608


def _newest_of(kind: OrderKind) -> str:
    """Return the SQL of the newest orders of `kind`, whose index ends at the limit."""
    these = "client_id = ? AND wallet = ?" if kind is OrderKind.SWAP else _OTHERS
    table = "orders {swaps_by}" if kind is OrderKind.SWAP else "orders"
    newest = f"SELECT {{line}} FROM {table} WHERE {these} AND kind = '{kind}' {{status}} {_NEWEST}"  # noqa: S608
    return f"SELECT * FROM ({newest}) AS of_{kind}"  # noqa: S608


_PAGE_OF_ANY = f"""
SELECT {{line}} FROM ({" UNION ALL ".join(map(_newest_of, OrderKind))}) AS of_any
{_NEWEST} OFFSET ?
"""  # noqa: S608
_TOTAL_OF_ANY = f"""
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM (
SELECT n FROM order_counts WHERE client_id = ? AND wallet = ? {{status}} UNION ALL
SELECT COUNT(*) AS n FROM orders WHERE {_OTHERS} AND kind IN ({_OTHER_KINDS}) {{status}}
) AS counts
"""  # noqa: S608


class PageReads(NamedTuple):
    """Two statements and their arguments."""

    total: str
    of_total: Sequence[Value]
    page: str
    of_page: Sequence[Value]


def reads_of_kind(  # noqa: PLR0917  as `page_of_kind`
    dialect: str,
    client_id: str,
    wallet: Address,
    kind: OrderKind | None,
    status: OrderStatus | None,
    limit: int,
    offset: int,
) -> PageReads:
    """Return how `page_of_kind` reads from a database of `dialect`."""
    of: list[Value] = [client_id, wallet]
    total, page = (_TOTAL_OF_ANY, _PAGE_OF_ANY) if kind is None else (_TOTAL_OF_KIND, _PAGE_OF_KIND)
    if kind is not None:
        of.append(kind.value)
    if status is not None:
        of.append(status.value)
    total = total.format(status=only(status))
    page = page.format(line=LINE, status=only(status), swaps_by=indexed_by(dialect, status))
    if kind is not None:
        return PageReads(total, of, page, [*of, limit, offset])
    most = offset + limit
    return PageReads(total, [*of, *of], page, [*of, most] * len(OrderKind) + [limit, offset])


class WalletOrders:
    """The part of OrderStore that concerns one wallet's RPC URL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def contenders(self, client_id: str, wallet: Address, nonce: int) -> Sequence[Order]:
        """Return the client's orders with this nonce that may be mined, bytes included.

        These are open orders, and expired or refused ones that are still tracked.
        """
        of = (wallet, str(nonce), client_id)
        return [order_from(row) for row in await self._database.fetch(CONTENDERS, *of, *of)]

    async def same_trade(
        self, client_id: str, wallet: Address, trade: Trade, created_from_ms: int
    ) -> Sequence[Order]:
        """Return the client's swaps of exactly these amounts since then, bytes included."""
        rows = await self._database.fetch(
            SAME_TRADE,
            client_id,
            wallet,
            created_from_ms,
            trade.sell_token,
            trade.buy_token,
            str(trade.sell_amount),
            str(trade.min_buy_amount),
        )
        return [order_from(row) for row in rows]

    async def page_of_kind(
        self,
        client_id: str,
        wallet: Address,
        kind: OrderKind | None,
        status: OrderStatus | None,
        *,
        limit: int,
        offset: int,
    ) -> OrderPage:
        """Return orders of a kind that is no swap, or of any kind (None), newest first.

        Orders that are no swap are counted, so the cost grows with the wallet's orders of them. An
        order that arrives between the two reads may be in one of them only.
        """
        dialect = self._database.dialect
        reads = reads_of_kind(dialect, client_id, wallet, kind, status, limit, offset)
        [[total]] = await self._database.fetch(reads.total, *reads.of_total)
        rows = await self._database.fetch(reads.page, *reads.of_page)
        return OrderPage(items(rows), total)
