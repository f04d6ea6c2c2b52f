"""Exported orders: stored values to contract Structs, and these to CSV and JSON.

`stored` is the order without its types: its strings already have their JSON form.
"""

import csv
import io
import unicodedata
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import Any

import msgspec

from quietswap.rules.amounts import difference_bps, format_ether, format_units
from quietswap.rules.contract.exports import (
    ExportedOrder,
)
from quietswap.rules.orders.export import ExportPage, ExportRow
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tokens.token import Token
from quietswap.rules.wire import member_names
from quietswap.service.api.json import amount, iso_timestamp
from quietswap.service.orders import tax_tables

_encode = msgspec.json.Encoder().encode
_FORMULA = "=+-@|%\t\r\n"
"""A spreadsheet may run a cell that starts with one of these."""
_LONGEST_SYMBOL = 64
_values = attrgetter(*(field.name for field in msgspec.structs.fields(ExportedOrder)))


def exported_order(row: ExportRow, page: ExportPage) -> ExportedOrder:
    order = row.order
    stored: Any = order
    sell, buy = page.tokens.get(order.sell_token), page.tokens.get(order.buy_token)
    fee = None
    if order.gas_used is not None and order.effective_gas_price is not None:
        fee = order.gas_used * int(order.effective_gas_price)
    to_promise, to_minimum, to_reference = _delivered(order)
    return ExportedOrder(
        order_id=order.order_id,
        kind=stored.kind,
        status=stored.status,
        wallet=row.wallet,
        nonce=int(stored.nonce),
        tx_hash=order.tx_hash,
        created_at=iso_timestamp(order.created_at_ms),
        submitted_at=_time(order.submitted_at_ms),
        mined_at=_time(order.mined_at_ms),
        block_number=order.block_number,
        block_hash=row.block_hash,
        sell_token=order.sell_token,
        sell_symbol=_symbol(sell),
        sell_amount=stored.sell_amount,
        sell_amount_whole=_whole(order.sell_amount, sell),
        buy_token=order.buy_token,
        buy_symbol=_symbol(buy),
        quoted_amount=stored.buy_amount,
        minimum_amount=stored.min_buy_amount,
        received_amount=stored.received,
        received_whole=_whole(order.received, buy),
        received_reason=order.received_issue,
        to_promise_bps=to_promise,
        to_minimum_bps=to_minimum,
        gas_used=None if order.gas_used is None else amount(order.gas_used),
        effective_gas_price=stored.effective_gas_price,
        fee_paid_wei=None if fee is None else amount(fee),
        fee_paid_eth=None if fee is None else format_ether(fee),
        refund_status=order.refund_status,
        refund_wei=stored.refund_wei,
        refund_tx_hash=order.refund_tx,
        source=row.source,
        tier=row.tier,
        error_code=order.failure_code,
        reference_amount=stored.reference,
        reference_wei=stored.reference_wei,
        to_reference_bps=to_reference,
        conversion=stored.conversion,
    )


def _delivered(order: OrderView) -> list[int | None]:
    """Return what arrived against promise, minimum and reference, in bps."""
    against = order.buy_amount, order.min_buy_amount, order.reference
    if order.received is None or order.status != OrderStatus.CONFIRMED or order.kind == "cancel":
        return [None] * len(against)
    received = int(order.received)
    return [difference_bps(received, int(each)) if each and int(each) else None for each in against]


def _time(unix_ms: int | None) -> Any:
    return None if unix_ms is None else iso_timestamp(unix_ms)


def _symbol(token: Token | None) -> str | None:
    """Return a symbol without control characters and with a bounded length."""
    if token is None:
        return None
    return "".join(c for c in token.symbol[:_LONGEST_SYMBOL] if c.isprintable()) or None


def _whole(units: str | None, token: Token | None) -> str | None:
    return None if units is None or token is None else format_units(int(units), token.decimals)


Writer = Callable[[AsyncGenerator[ExportPage]], AsyncGenerator[bytes]]


def _csv(
    columns: Sequence[str], cells: Callable[[ExportedOrder], Sequence[object] | None]
) -> Writer:
    """Return what yields CSV (RFC 4180, UTF-8) with a head line; one chunk per page.

    `cells` of an order that the table leaves out are None.
    """

    async def chunks(pages: AsyncGenerator[ExportPage]) -> AsyncGenerator[bytes]:
        head = [columns]
        async with aclosing(pages):
            async for page in pages:
                rows = (cells(exported_order(row, page)) for row in page.rows)
                lines = [[_cell(each) for each in row] for row in rows if row is not None]
                yield csv_lines([*head, *lines])
                head = []
        if head:
            yield csv_lines(head)

    return chunks


csv_chunks = _csv(member_names(ExportedOrder), _values)


def csv_lines(rows: Sequence[Sequence[object]]) -> bytes:
    """Return lines of CSV (RFC 4180, UTF-8)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """Return a cell that no spreadsheet runs as a formula. Numbers stay numbers."""
    # some read the full-width forms of these characters as the characters
    first = unicodedata.normalize("NFKC", value[:1]) if isinstance(value, str) else ""
    is_formula = first.startswith(tuple(_FORMULA))
    return f"'{value}" if is_formula else value


async def json_chunks(pages: AsyncGenerator[ExportPage]) -> AsyncGenerator[bytes]:
    """Yield a JSON array with one order per line; one chunk per page.

    An array shows a cut transfer: without its last line it is not JSON.
    """
    before = b"[\n"
    async with aclosing(pages):
        async for page in pages:
            yield before + b",\n".join(_encode(exported_order(row, page)) for row in page.rows)
            before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


CSV_TYPE = "text/csv; charset=utf-8"

WRITERS: dict[str, tuple[Writer, str]] = {
    "csv": (csv_chunks, CSV_TYPE),
    "json": (json_chunks, "application/json"),
    "koinly": (_csv(tax_tables.KOINLY, tax_tables.koinly), CSV_TYPE),
    "cointracking": (_csv(tax_tables.COINTRACKING, tax_tables.cointracking), CSV_TYPE),
}
"""How each format is written, and its media type."""
