"""`quietswap orders`: stored orders, their event logs and exports, for the operator."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from quietswap.cli.options import operator
from quietswap.cli.options.client import owner_of, owner_options, the_client
from quietswap.cli.options.operator import OperatorContext, members, operator_command
from quietswap.cli.options.times import SINCE, since_option
from quietswap.cli.order_export import write_orders
from quietswap.cli.order_tokens import amount_text, tokens_at
from quietswap.cli.output.tokens import ETHER, DisplayToken, in_parts, wallet_address
from quietswap.rules.amounts import difference_bps
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.contract.exports import FORMATS
from quietswap.rules.foreign_text import visible
from quietswap.rules.orders.export import ExportFilter
from quietswap.rules.orders.new_order import action_of, unwrapped_of, with_ether
from quietswap.rules.orders.order import Order, OrderEvent, OrderStatus
from quietswap.rules.time_units import HOUR_S, MINUTE_S
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tx.address import Address
from quietswap.rules.wire import HASH_PATTERN
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.order_search import OrderFilter, search_orders

_BY_RELAY = ("relay_accepted", "relay_said", "refused", "not_sent", "would_fail")
"""Event types that record a relay's response. For `would_fail` the relay was queried too."""


@click.group()
def orders() -> None:
    """Show stored orders and their event logs."""


_LIMIT = 50


@operator_command(orders, "list", prints="a JSON array")
@click.option("--all", "every", is_flag=True, help="Also final orders; newest first.")
@click.option("--wallet", help="Only orders of this wallet; this and the next options imply --all.")
@owner_options
@click.option(
    "--status", type=click.Choice([status.value for status in OrderStatus]),
    help="Only orders with this status.",
)  # fmt: skip
@since_option
@click.option(
    "--limit", type=click.IntRange(1, 100_000), help=f"At most so many (default {_LIMIT})."
)
def list_orders(
    context: OperatorContext, every: bool, wallet: str | None, client: str | None,
    key_id: str | None, status: str | None, since: int | None, limit: int | None,
) -> None:  # fmt: skip
    """List the orders that the tracker still follows, oldest first, or search all orders.

    A failed or cancelled order is followed until its nonce is used, because it can still be mined.
    Any option except --json searches all orders, newest first. This scans the whole table, which
    takes seconds with millions of orders. In --json keyId is the client's id, as clientId.
    """
    order_filter = OrderFilter(
        wallet=wallet_address(wallet) if wallet else None,
        client_id=owner_of(context, client, key_id),
        status=OrderStatus(status) if status else None,
        since_ms=since,
    )
    searches = every or limit is not None or order_filter != OrderFilter()

    async def look(storage: Storage) -> Sequence[Order]:
        if not searches:
            return await storage.orders.watched()
        return await search_orders(storage.database, order_filter, (limit or _LIMIT) + 1)

    matches = context.run(look)
    if searches and len(matches) > (limit or _LIMIT):
        matches = matches[: limit or _LIMIT]
        click.echo(f"the newest {len(matches)}; there are more: --limit", err=True)
    if matches and not context.as_json:
        _print(matches, SystemClock().now_ms())
        return
    none_text = "No such order" if searches else "No order is being followed"
    context.listing([_row(order) for order in matches], (), (), f"{none_text} in {context.url}.")


def _print(found: Sequence[Order], now_ms: int) -> None:
    from rich.text import Text

    from quietswap.cli.output.console import open_screen
    from quietswap.cli.output.order_progress import STYLE
    from quietswap.cli.output.quote import short
    from quietswap.cli.output.text_table import text_table

    names = ("order", "state", "age", "wallet", "why")
    table = text_table(*names, right=("age",), collapse_padding=True)
    for order in found:
        table.add_row(
            order.order_id,
            Text(order.status.value, STYLE.get(order.status.value, "")),
            _age(now_ms - order.created_at_ms),
            short(order.wallet),
            Text(order.failure.code.value if order.failure else order.relay_answer or "", "yellow"),
        )
    open_screen().print(table)


def _age(span_ms: int) -> str:
    seconds = span_ms // 1000
    for unit, size in (("h", HOUR_S), ("m", MINUTE_S)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@operator_command(orders)
@click.argument("order")
def show(context: OperatorContext, order: str) -> None:
    """Show ORDER (its id or transaction hash) and its event log with times and evidence.

    Amounts are in whole tokens if the service's node knows the decimals. --json prints smallest
    units; its keyId is the client's id, as clientId.
    """

    async def look(storage: Storage) -> tuple[Order, Sequence[OrderEvent]]:
        stored = await storage.orders.find(order) or await storage.orders.by_hash(order)
        if stored is None:
            raise click.ClickException(f"there is no order {order} in {context.url}")
        return stored, await storage.orders.events(stored.order_id)

    found, events = context.run(look)
    tokens = tokens_at(context, {found.sell_token, found.buy_token})
    row = {**_row(found), "relay": relay_verdict(events)}
    pair = (("sell", tokens.get(found.sell_token)), ("buy", tokens.get(found.buy_token)))
    units = {name: members(each, "symbol", "decimals") if each else None for name, each in pair}
    body = {**row, "tokens": units, "events": [_event(event) for event in events]}
    row |= _amounts(found, tokens)
    del row["unwrapped"]  # it is in receivedAmount
    del row["keyId"]  # for programs only: it repeats clientId
    row["kind"] = row.pop("action")
    lines = [f"{name:18} {value if value is not None else '-'}" for name, value in row.items()]
    lines += ["", "event log"]
    for event in events:
        move = f"{event.from_status or '-'} -> {event.to_status}"
        lines.append(f"  {_time(event.at_ms)}  {event.event_type:16} {move:24} {event.evidence}")
    context.result(body, "\n".join(map(visible, lines)))


def _hash(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return a transaction hash in lower case. Raises click.BadParameter."""
    if not re.fullmatch(HASH_PATTERN, value.lower()):
        raise click.BadParameter(f"{value!r} is no transaction hash: 0x and 64 hexadecimal digits")
    return value.lower()


@operator_command(orders)
@click.argument("tx_hash", metavar="HASH", callback=_hash)
@click.option("--client", required=True, metavar="CLIENT", help="Whose order it is: id or name.")
def adopt(context: OperatorContext, tx_hash: str, client: str) -> None:
    """Make an order for a mined transaction that no order has.

    After a restore, or a failover that lost the last commits, its client then finds it by status
    and history, with its receipt. Nothing is sent. Without its quote a swap becomes a plain
    transaction.
    """
    from quietswap.service.orders.adopt_mined import AdoptMined, NothingToAdopt
    from quietswap.service.server.container import adapters_of_a_command, order_timeouts

    settings = context.settings()

    async def work(storage: Storage) -> Order:
        owner = await the_client(storage, client)
        async with adapters_of_a_command(settings) as outside:
            adopted = AdoptMined(
                rpc=outside.rpc,
                chain=outside.chain,
                quotes=storage.quotes,
                orders=storage.orders,
                clock=SystemClock(),
                limits=order_timeouts(settings),
            )
            try:
                return await adopted(owner.id, tx_hash)
            except (NothingToAdopt, NodeUnavailable) as error:
                raise click.ClickException(f"nothing was changed: {error}") from error

    order = context.change(
        "order_adopted", work, adds=lambda made: {"order": made.order_id}, tx=tx_hash, client=client
    )
    text = (
        f"order {order.order_id} ({action_of(order)}): the service follows it from its next block"
    )
    context.result(_row(order), text)


def relay_verdict(events: Sequence[OrderEvent]) -> str | None:
    """Return the relay's last response with its time; None without a response."""
    relay_events = [event for event in events if event.event_type in _BY_RELAY]
    return (
        f"{relay_events[-1].evidence} ({_time(relay_events[-1].at_ms)})" if relay_events else None
    )


def _time(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _row(order: Order) -> dict[str, Any]:
    block = order.inclusion
    return {
        "orderId": order.order_id,
        "kind": order.kind.value,
        "action": action_of(order),
        "keyId": order.client_id,
        "clientId": order.client_id,
        "status": order.status.value,
        **members(order, "tx_hash", "wallet", "nonce", "sell_token", "buy_token"),
        "sellAmount": str(order.sell_amount),
        "minBuyAmount": str(order.min_buy_amount),
        "conversion": order.conversion,
        **members(order, "tier", "attempts"),
        "createdAt": _time(order.created_at_ms),
        "expiresAt": _time(order.expires_at_ms),
        "executableUntil": None if order.deadline_s is None else _time(order.deadline_s * 1000),
        "blockNumber": block.block_number if block else None,
        **_result(order),
        "relayAnswer": order.relay_answer,
        "failure": f"{order.failure.code}: {order.failure.message}" if order.failure else None,
        "followed": order.watched,
    }


def _result(order: Order) -> dict[str, Any]:
    """Return what the block brought; None for what is unknown."""
    block = order.inclusion
    received = None if block is None else block.received
    is_comparable = (
        received is not None and block is not None and block.succeeded and order.buy_amount
    )
    refund, ether = None if block is None else block.refund, unwrapped_of(order)
    return {
        "source": order.source,
        "receivedAmount": None if received is None else str(received),
        "unwrapped": None if ether is None else str(ether),
        "receivedReason": None if block is None else block.received_issue,
        "toPromiseBps": difference_bps(received or 0, order.buy_amount) if is_comparable else None,
        "feePaidWei": None if block is None else str(block.gas_used * block.effective_gas_price),
        "refundStatus": None if refund is None else refund.status.value,
        "refundWei": None if refund is None else str(refund.amount_wei),
        "refundTxHash": None if refund is None else refund.tx_hash,
    }


def _amounts(order: Order, tokens: dict[Address, DisplayToken]) -> dict[str, str]:
    """Return the amounts for people: in ETH what the swap's transaction wrapped or unwrapped."""
    sold, bought = with_ether(order.conversion, order.sell_token, order.buy_token)
    tokens = tokens | {NATIVE: ETHER}
    amounts = {
        "sellAmount": amount_text(order.sell_amount, sold, tokens),
        "minBuyAmount": amount_text(order.min_buy_amount, bought, tokens),
    }
    if order.inclusion is not None and (units := order.inclusion.received) is not None:
        ether, arrived = unwrapped_of(order), amount_text(units, order.buy_token, tokens)
        amounts["receivedAmount"] = arrived if ether is None else in_parts(units, ether)
    return amounts


def _event(event: OrderEvent) -> dict[str, Any]:
    moved = {"from": event.from_status, "to": event.to_status}
    by = {"at": _time(event.at_ms), "by": event.event_type}
    return {**by, **moved, "evidence": event.evidence}


@orders.command()
@operator.settings_option
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True,
    help="Lines of CSV, or one JSON array.",
)  # fmt: skip
@click.option(
    "--from", "since", type=SINCE, metavar="TIME",
    help="Created at this time or later: 2026-01-01 (UTC), 12h, 7d.",
)  # fmt: skip
@click.option(
    "--to", "until", type=SINCE, metavar="TIME", help="Created before this time; by default now."
)
@click.option("--wallet", help="Only orders of this wallet.")
@owner_options
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="A new file; by default standard output.",
)  # fmt: skip
def export(
    settings_path: Path | None, form: str, since: int | None, until: int | None,
    wallet: str | None, client: str | None, key_id: str | None, output: Path | None,
) -> None:  # fmt: skip
    """Write every order of a range with amounts, fees, hashes and times.

    Orders of a client come oldest first. Without --client and --key they come by kind (swap, wrap,
    cancel, approval, transaction), and those of a kind oldest first. Memory does not grow
    with the number of orders. Whole tokens need the service's node: without it these columns are
    empty.
    """
    context, since_ms = OperatorContext(settings_path), since or 0
    until_ms = SystemClock().now_ms() + 1 if until is None else until
    if since_ms >= until_ms:
        raise click.UsageError("--to: it must be later than --from")
    export_filter = ExportFilter(
        since_ms=since_ms,
        until_ms=until_ms,
        client_id=owner_of(context, client, key_id),
        wallet=Address(wallet_address(wallet)) if wallet else None,
    )

    context.run(lambda it: write_orders(it, context, export_filter, form, output))
