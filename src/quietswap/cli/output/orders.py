"""Output of orders: one page of the history, or one order."""

import contextlib
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.output.progress import STYLE, failure_text, gas_cost
from quietswap.cli.output.quote import facts, short
from quietswap.cli.output.responsive_table import ResponsiveTable
from quietswap.cli.output.tokens import ETHER, DisplayToken, by_address

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient
    from quietswap.contract.orders import OrderHistoryResponse, OrderStatusResponse


def when(moment: datetime | None) -> str:
    """Return a time in this machine's time zone, empty for None."""
    if moment is None:
        return ""
    with contextlib.suppress(OverflowError):  # the first or the last day that a date can have
        moment = moment.astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _token(address: str, client: "QuietswapClient", context: CommandContext) -> DisplayToken:
    """Return the token; if its decimals are unknown, one that shows smallest units."""
    try:
        return by_address(address, client, has_node=context.rpc_url is not None, raw=context.raw)
    except click.UsageError:
        return DisplayToken(address, short(address), 0)


def history_table(
    found: "OrderHistoryResponse", client: "QuietswapClient", context: CommandContext
) -> RenderableType:
    """Return one page of the history, with one to three lines per order by terminal width."""
    if not found.orders:
        return Text("No orders.")
    wide = _table("created", "state", "swap", "order", folds=False)
    table = _table("created", "state", "swap", "order, transaction", folds=True)
    blocks: list[RenderableType] = []
    for item in found.orders:
        sell = _token(item.summary.sell_token, client, context)
        buy = _token(item.summary.buy_token, client, context)
        sold = f"{sell.brief(item.summary.sell_amount, raw=context.raw)} {sell.symbol}"
        sold = sold if item.kind == "swap" else f"{item.kind}: {sold}"
        bought = f"→ {buy.brief(item.summary.buy_amount, raw=context.raw)} {buy.symbol}"
        bought = bought if item.status not in ("cancelled", "failed") else "→ nothing"
        bought = bought if item.kind in {"swap", "wrap"} else ""  # other kinds buy nothing
        created, state = when(item.created_at), Text(item.status, STYLE.get(item.status, ""))
        tx = short(item.tx_hash or "–")
        table.add_row(
            _lines(*created.split(" ")),
            state,
            _lines(sold, bought),
            _lines(item.order_id, tx),
        )
        wide.add_row(
            created[: len("2026-11-20 08:00")], state, Text(f"{sold} {bought}"), Text(item.order_id)
        )
        blocks += [Text.assemble(created, " ", state), _lines(sold, bought)]
        blocks += [_lines(item.order_id, tx, "")]
    start = found.pagination.offset
    tail = f"{start + 1} to {start + len(found.orders)} of {found.total}"
    if found.has_more:
        tail += f"; more with --offset {found.pagination.next_offset}"
    return Group(ResponsiveTable(wide, ResponsiveTable(table, Group(*blocks))), Text(tail, "dim"))


def _lines(*lines: str) -> Group:
    """Return one text for each line: a console shows a line feed within a text as a character."""
    return Group(*map(Text, lines))


def _table(*names: str, folds: bool) -> Table:
    """Return an empty table. With `folds`, the swap column may use several lines."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name, no_wrap=name != "swap" or not folds, overflow="fold")
    return table


def order_details(
    found: "OrderStatusResponse", client: "QuietswapClient", context: CommandContext
) -> RenderableType:
    """Return all facts of one order."""
    terms = found.order_params
    sell, buy = (_token(t, client, context) for t in (terms.from_token, terms.to_token))
    rows: list[tuple[str, RenderableType]] = [
        ("order", Text(found.order_id)),
        ("state", Text(found.status, STYLE.get(found.status, ""))),
        ("sell", sell.show(terms.amount, raw=context.raw)),
        ("at least", buy.show(terms.min_return_amount, raw=context.raw)),
        *(_reported(found, buy, context) or _received(found, (sell, buy), client, context)),
        ("created", when(found.created_at)),
    ]
    own = client.orders.get(found.order_id)
    if found.tx_hash:
        rows.append(("tx", Text(found.tx_hash)))
    if own is not None and found.tx_hash is not None and found.tx_hash.lower() != own.tx_hash:
        text = f"the service names another transaction than the one signed here: {own.tx_hash}"
        rows.append(("careful", Text(text, "yellow")))
    if found.confirmed_at:
        rows.append(
            ("confirmed", f"{when(found.confirmed_at)} in block {found.block_number or 0:,}")
        )
    gas, price = gas_cost(found)
    if gas and price:
        rows.append(("gas", f"{gas:,} units, {ETHER.show(gas * price)}"))
    if found.refund is not None and found.refund.status != "none":
        words = "reported by the relay, not seen on chain"
        if found.refund.status == "paid":
            words = f"paid by {short(found.refund.tx_hash or '')}"
        rows.append(("refund", f"{ETHER.show(found.refund.amount_wei)}, {words}"))
    if found.error:
        rows.append(("why", Text(failure_text(found.error), "yellow")))
    return facts(*rows)


def _reported(
    found: "OrderStatusResponse", buy: DisplayToken, context: CommandContext
) -> list[tuple[str, RenderableType]]:
    """Return what the service reports as received, without the caller's own node."""
    if context.rpc_url is not None or found.received is None or found.status != "confirmed":
        return []
    if found.received.amount is None:
        return [("received", f"not known: {found.received.reason}")]
    text = buy.show(found.received.amount, raw=context.raw)
    if found.delivered is not None:
        text += f" ({found.delivered.to_promise_bps / 100:+.2f} % against the quote)"
    return [("received", Text(f"{text}, as the service reports"))]


def _received(
    found: "OrderStatusResponse",
    pair: tuple[DisplayToken, DisplayToken],
    client: "QuietswapClient",
    context: CommandContext,
) -> list[tuple[str, RenderableType]]:
    """Return the amount received, if the caller's node has the receipt."""
    from quietswap.client import ClientError, node_calls

    own = client.orders.get(found.order_id)
    tx_hash = found.tx_hash if own is None else own.tx_hash
    source = ", in the transaction that the service names" if own is None else ""
    if context.rpc_url is None or found.status != "confirmed" or tx_hash is None:
        return []
    try:
        receipt = client.node(node_calls.receipt(tx_hash))
    except ClientError:
        return []
    if receipt is None or not receipt.succeeded:
        return []
    buy, gained = pair[1], int(found.order_params.min_return_amount)
    # one to one with ETH; a receipt shows neither ETH, nor the new WETH as a transfer
    if ETHER not in pair and receipt.sender:
        gained = node_calls.received(receipt, buy.address, receipt.sender)
    elif ETHER not in pair or not gained:
        return []
    shown = Text.assemble((buy.show(gained, raw=context.raw), "bold green"), source)
    return [("received", shown)]
