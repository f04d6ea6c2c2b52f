"""How orders look: a page of history, one record."""

from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from quietswap.cli.connection import Link
from quietswap.cli.follow import STYLE
from quietswap.cli.render_quote import facts, short
from quietswap.cli.tokens import ETHER, Token, by_address

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient
    from quietswap.client.resources import History, OrderStatus


def when(moment: datetime | None) -> str:
    """Return a point in time on this machine's clock."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _token(address: str, client: "QuietswapClient", link: Link) -> Token:
    """Return a token to show; one whose decimals are unknown is shown in smallest units."""
    try:
        return by_address(address, client, has_node=link.rpc_url is not None, raw=link.raw)
    except click.UsageError:
        return Token(address, short(address), 0)


def page(found: "History", client: "QuietswapClient", link: Link) -> RenderableType:
    """Return one page of history as a table of two lines per order."""
    if not found.orders:
        return Text("No orders.")
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for name in ("created", "state", "swap", "order, transaction"):
        table.add_column(name, no_wrap=name != "swap", overflow="fold")
    for item in found.orders:
        sell = _token(item.summary.sell_token, client, link)
        buy = _token(item.summary.buy_token, client, link)
        sold = sell.brief(item.summary.sell_amount, raw=link.raw)
        bought = buy.brief(item.summary.buy_amount, raw=link.raw)
        references = f"{item.order_id}\n{short(item.tx_hash or '–')}"
        table.add_row(
            when(item.created_at).replace(" ", "\n"),
            Text(item.status, STYLE.get(item.status, "")),
            Text(f"{sold} {sell.symbol}\n→ {bought} {buy.symbol}"),
            Text(references),
        )
    start = found.pagination.offset
    tail = f"{start + 1} to {start + len(found.orders)} of {found.total}"
    if found.has_more:
        tail += f"; more with --offset {found.pagination.next_offset}"
    return Group(table, Text(tail, "dim"))


def record(found: "OrderStatus", client: "QuietswapClient", link: Link) -> RenderableType:
    """Return one order in full."""
    terms = found.order_params
    sell, buy = (_token(t, client, link) for t in (terms.from_token, terms.to_token))
    rows: list[tuple[str, RenderableType]] = [
        ("order", Text(found.order_id)),
        ("state", Text(found.status, STYLE.get(found.status, ""))),
        ("sell", sell.show(terms.amount, raw=link.raw)),
        ("at least", buy.show(terms.min_return_amount, raw=link.raw)),
        ("created", when(found.created_at)),
    ]
    if found.tx_hash:
        rows.append(("tx", Text(found.tx_hash)))
    if found.confirmed_at:
        rows.append(("confirmed", f"{when(found.confirmed_at)} in block {found.block_number:,}"))
    if found.gas_used is not None and found.effective_gas_price is not None:
        cost = ETHER.show(found.gas_used * found.effective_gas_price)
        rows.append(("gas", f"{found.gas_used:,} units, {cost}"))
    if found.error:
        rows.append(("why", Text(f"{found.error.code}: {found.error.message}", "yellow")))
    return facts(*rows)
