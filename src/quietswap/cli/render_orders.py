"""How orders look: a page of history, one record."""

from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from quietswap.cli.connection import Link
from quietswap.cli.fitting import Fitting
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
    blocks: list[RenderableType] = []
    for item in found.orders:
        sell = _token(item.summary.sell_token, client, link)
        buy = _token(item.summary.buy_token, client, link)
        sold = f"{sell.brief(item.summary.sell_amount, raw=link.raw)} {sell.symbol}"
        bought = f"→ {buy.brief(item.summary.buy_amount, raw=link.raw)} {buy.symbol}"
        created, state = when(item.created_at), Text(item.status, STYLE.get(item.status, ""))
        tx = short(item.tx_hash or "–")
        table.add_row(
            created.replace(" ", "\n"),
            state,
            Text(f"{sold}\n{bought}"),
            Text(f"{item.order_id}\n{tx}"),
        )
        blocks += [Text.assemble(created, " ", state), Text(f"{sold}\n{bought}")]
        blocks += [Text(f"{item.order_id}\n{tx}\n")]
    start = found.pagination.offset
    tail = f"{start + 1} to {start + len(found.orders)} of {found.total}"
    if found.has_more:
        tail += f"; more with --offset {found.pagination.next_offset}"
    return Group(Fitting(table, Group(*blocks)), Text(tail, "dim"))


def record(found: "OrderStatus", client: "QuietswapClient", link: Link) -> RenderableType:
    """Return one order in full."""
    terms = found.order_params
    sell, buy = (_token(t, client, link) for t in (terms.from_token, terms.to_token))
    rows: list[tuple[str, RenderableType]] = [
        ("order", Text(found.order_id)),
        ("state", Text(found.status, STYLE.get(found.status, ""))),
        ("sell", sell.show(terms.amount, raw=link.raw)),
        ("at least", buy.show(terms.min_return_amount, raw=link.raw)),
        *_received(found, buy, client, link),
        ("created", when(found.created_at)),
    ]
    if found.tx_hash:
        rows.append(("tx", Text(found.tx_hash)))
    if found.confirmed_at:
        rows.append(
            ("confirmed", f"{when(found.confirmed_at)} in block {found.block_number or 0:,}")
        )
    if found.gas_used is not None and found.effective_gas_price is not None:
        cost = ETHER.show(found.gas_used * found.effective_gas_price)
        rows.append(("gas", f"{found.gas_used:,} units, {cost}"))
    elif found.error and found.error.gas_used and found.error.effective_gas_price:
        cost = ETHER.show(found.error.gas_used * found.error.effective_gas_price)
        rows.append(("gas", f"{found.error.gas_used:,} units, {cost}"))
    if found.error:
        rows.append(("why", Text(f"{found.error.code}: {found.error.message}", "yellow")))
    return facts(*rows)


def _received(
    found: "OrderStatus", buy: Token, client: "QuietswapClient", link: Link
) -> list[tuple[str, RenderableType]]:
    """Return what the chain says came, where the caller's own node knows the transaction."""
    from quietswap.client import ClientError, chain

    if link.rpc_url is None or found.status != "confirmed" or found.tx_hash is None:
        return []
    try:
        receipt = client.node(chain.receipt(found.tx_hash))
    except ClientError:
        return []
    if receipt is None or not receipt.sender:
        return []
    gained = chain.received(receipt, buy.address, receipt.sender)
    return [("received", Text(buy.show(gained, raw=link.raw), "bold green"))]
