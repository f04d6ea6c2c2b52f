"""Output of orders: one page of the history, or one order."""

import contextlib
from collections.abc import Collection
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.output import order_end, order_progress
from quietswap.cli.output.local_time import when
from quietswap.cli.output.order_progress import AS_REPORTED, STYLE, failure_text
from quietswap.cli.output.quote import facts, short
from quietswap.cli.output.responsive_table import ResponsiveTable
from quietswap.cli.output.swap_result import against_pools
from quietswap.cli.output.text_table import text_table
from quietswap.cli.output.tokens import ETHER, DisplayToken, by_address, in_parts
from quietswap.rules.orders.new_order import action, unwrapped, with_ether
from quietswap.rules.tokens.token import NATIVE

if TYPE_CHECKING:
    from quietswap.client import OrderEnd, QuietswapClient
    from quietswap.rules.contract import orders


Rows = list[tuple[str, RenderableType]]


def display_token(address: str, client: "QuietswapClient", context: CommandContext) -> DisplayToken:
    """Return the token; if its decimals are unknown, one that shows smallest units."""
    try:
        return by_address(address, client, context)
    except click.UsageError:
        return DisplayToken(address, short(address), 0, context.raw)


def history_table(
    found: "orders.OrderHistoryResponse",
    client: "QuietswapClient",
    context: CommandContext,
    signed: Collection[str] = (),
    *,
    is_live: bool = False,
) -> RenderableType:
    """Return one page of the history, with one to three lines per order by terminal width.

    Orders with a hash of `signed` are left out: the caller shows them. A page of one status
    `is_live`: it has no total that later pages could be read by.
    """
    shown = [item for item in found.orders if (item.tx_hash or "").lower() not in signed]
    if not shown:
        return Group() if signed else Text("No orders.")
    wide = text_table("created", "state", "swap", "order", folds=())
    table = text_table("created", "state", "swap", "order, transaction", folds=("swap",))
    blocks: list[RenderableType] = []
    for item in shown:
        pair = with_ether(item.conversion, item.summary.sell_token, item.summary.buy_token)
        sell, buy = (display_token(each, client, context) for each in pair)
        sold = f"{sell.brief(item.summary.sell_amount)} {sell.symbol}"
        if item.kind != "swap":
            sold = f"{action(item.kind, item.summary.sell_token)}: {sold}"
        bought = f"→ {buy.brief(item.summary.buy_amount)} {buy.symbol}"
        bought = bought if item.status not in ("cancelled", "failed") else "→ nothing"
        bought = bought if item.kind in {"swap", "wrap"} else ""  # other kinds buy nothing
        relay = [order_progress.relay_text(item.relay_answer)] if item.relay_answer else []
        created, state = when(item.created_at), Text(item.status, STYLE.get(item.status, ""))
        tx = short(item.tx_hash or "–")
        swap, order = _lines(sold, bought, *relay), _lines(item.order_id, tx)
        table.add_row(_lines(*created.split(" ")), state, swap, order)
        one_line = Text("; ".join((f"{sold} {bought}", *relay)))
        wide.add_row(created[: len("2026-11-20 08:00")], state, one_line, Text(item.order_id))
        blocks += [Text.assemble(created, " ", state), swap, order, Text()]
    start = found.pagination.offset
    tail = f"{start + 1} to {start + len(found.orders)} of {found.total}"
    if found.has_more:
        tail += f"; more with --offset {found.pagination.next_offset}"
        tail += "" if is_live else f" --as-of {found.total}"
    tail += "; states as the service reports them"
    return Group(ResponsiveTable(wide, ResponsiveTable(table, Group(*blocks))), Text(tail, "dim"))


def _lines(*lines: str) -> Group:
    """Return one text for each line: a console shows a line feed within a text as a character."""
    return Group(*map(Text, lines))


def order_details(
    found: "orders.OrderStatusResponse",
    client: "QuietswapClient",
    context: CommandContext,
    end: "OrderEnd | None" = None,
) -> RenderableType:
    """Return the facts of an order, and with `end` what the caller's own node shows of it."""
    is_shown = end is not None and end.is_final
    by = AS_REPORTED if is_shown else ""
    state = Text(order_progress.reported_text(found.status), STYLE.get(found.status, ""))
    if end is not None:
        state = Text(*order_end.headline(end))
    reported, found = found, found if end is None else end.own_record
    terms = found.order_params
    moved = display_token(terms.to_token, client, context)
    pair = with_ether(found.conversion, terms.from_token, terms.to_token)
    sell, buy = (display_token(each, client, context) for each in pair)
    rows: Rows = [
        ("order", Text(found.order_id)),
        ("state", state),
        *_checked(end),
        ("sell", f"{sell.show(terms.amount)}{by}"),
        ("at least", f"{buy.show(terms.min_return_amount)}{by}"),
        *(_reported(found, moved, context) or _received(found, moved, client, end, context)),
        *against_pools(found),
        ("created", when(found.created_at)),
    ]
    own = client.orders.get(found.order_id)
    if found.tx_hash:
        rows.append(("tx", Text(found.tx_hash)))
    if own is not None and reported.tx_hash and reported.tx_hash.lower() != own.tx_hash:
        text = f"the service names another transaction than the one signed here: {own.tx_hash}"
        rows.append(("careful", Text(text, "yellow")))
    if end is not None and end.receipt is not None and is_shown:
        rows.append(("block", f"{end.receipt.block_number:,}"))
    elif found.confirmed_at:
        at = f"{when(found.confirmed_at)} in block {found.block_number or 0:,}{AS_REPORTED}"
        rows.append(("confirmed", at))
    gas, price = order_progress.gas_cost(found)
    if gas and price:
        by = "" if end is not None and end.receipt is not None else by
        rows.append(("gas", f"{gas:,} units, {ETHER.show(gas * price)}{by}"))
    if found.refund is not None and found.refund.status != "none":
        words = "reported by the relay, not seen on chain"
        if found.refund.status == "paid":
            words = f"paid by {short(found.refund.tx_hash or '')}"
        rows.append(("refund", f"{ETHER.show(found.refund.amount_wei)}, {words}"))
    if found.error:
        plain = f"{found.error.code}: {found.error.message}"
        failure = plain if is_shown else failure_text(found.error)
        rows.append(("why", Text(failure + AS_REPORTED, "yellow")))
    if found.relay_answer:
        rows.append(("relay", Text(order_progress.relay_text(found.relay_answer), "yellow")))
    return facts(*rows)


def _checked(end: "OrderEnd | None") -> Rows:
    if end is None:
        return []
    style = "green" if end.is_final and not end.is_contradicted else "yellow"
    return [("checked", Text(order_end.conclusion(end), style))]


def _reported(
    found: "orders.OrderStatusResponse", moved: DisplayToken, context: CommandContext
) -> Rows:
    """Return what the service reports as received, without the caller's own node."""
    if context.rpc_url is not None or found.received is None or found.status != "confirmed":
        return []
    if found.received.amount is None:
        return [("received", f"not known: {found.received.reason}")]
    text = _arrived(found, found.received.amount, moved)
    if found.delivered is not None:
        text += f" ({found.delivered.to_promise_bps / 100:+.2f} % against the quote)"
    return [("received", Text(f"{text}, as the service reports"))]


def _arrived(found: "orders.OrderStatusResponse", amount: int, moved: DisplayToken) -> str:
    """Return what arrived of the token that the swap itself moved, in ETH where it unwrapped it."""
    minimum = int(found.order_params.min_return_amount)
    ether = unwrapped(found.conversion, minimum, arrived=amount)
    return moved.show(amount) if ether is None else in_parts(amount, ether, raw=moved.raw)


def _received(
    found: "orders.OrderStatusResponse",
    moved: DisplayToken,
    client: "QuietswapClient",
    end: "OrderEnd | None",
    context: CommandContext,
) -> Rows:
    """Return the amount received, if the caller's node has the receipt."""
    from quietswap.client import ClientError, node_calls

    own = client.orders.get(found.order_id)
    tx_hash = found.tx_hash if own is None else own.tx_hash
    source = ", in the transaction that the service names" if own is None else ""
    receipt = None if end is None else end.receipt
    is_mined = found.status == "confirmed" or receipt is not None
    if context.rpc_url is None or not is_mined or tx_hash is None:
        return []
    with contextlib.suppress(ClientError):
        receipt = receipt or client.node(node_calls.receipt(tx_hash))
    if receipt is None or not receipt.succeeded:
        return []
    terms = found.order_params
    gained, is_wrap = int(terms.min_return_amount), NATIVE in (terms.from_token, terms.to_token)
    # one to one with ETH; a receipt shows neither ETH, nor the new WETH as a transfer
    if not is_wrap and receipt.sender:
        gained = node_calls.received(receipt, moved.address, receipt.sender)
    elif not is_wrap or not gained:
        return []
    return [("received", Text.assemble((_arrived(found, gained, moved), "bold green"), source))]
