"""`quietswap orders`: the operator's view of stored orders and their diary."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from quietswap.adapters.clock import SystemClock
from quietswap.cli.database import place, with_storage
from quietswap.cli.settings_option import settings_option
from quietswap.domain.order import Order, OrderEvent
from quietswap.storage.open import Storage


@click.group()
def orders() -> None:
    """Look at stored orders and their diary."""


@orders.command("list")
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_orders(settings_path: Path | None, as_json: bool) -> None:
    """List the orders the tracker still follows, oldest first.

    A failed or cancelled order is followed too until its nonce is used: it could still be mined.
    """
    found = with_storage(settings_path, lambda storage: storage.orders.watched())
    if as_json:
        click.echo(json.dumps([_row(order) for order in found]))
        return
    if found:
        _print(found, SystemClock().now_ms())
    else:
        click.echo(f"No order is being followed in {place(settings_path)}.", err=True)


def _print(found: Sequence[Order], now_ms: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from quietswap.cli.connection import console
    from quietswap.cli.follow import STYLE
    from quietswap.cli.render_quote import short

    table = Table(
        box=None, padding=(0, 1), pad_edge=False, collapse_padding=True, header_style="dim"
    )
    for name in ("order", "state", "age", "wallet", "why"):
        table.add_column(name, justify="right" if name == "age" else "left", overflow="fold")
    for order in found:
        table.add_row(
            order.order_id,
            Text(order.status.value, STYLE.get(order.status.value, "")),
            _age(now_ms - order.created_at_ms),
            short(order.wallet),
            Text(order.failure.code.value if order.failure else "", "yellow"),
        )
    console().print(table)


def _age(span_ms: int) -> str:
    seconds = span_ms // 1000
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@orders.command()
@settings_option
@click.argument("order")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(settings_path: Path | None, order: str, as_json: bool) -> None:
    """Show ORDER (its id or transaction hash) with every event: when, why, on what evidence."""

    async def look(storage: Storage) -> tuple[Order, list[OrderEvent]] | None:
        found = await storage.orders.find(order) or await storage.orders.by_hash(order)
        if found is None:
            return None
        return found, list(await storage.orders.events(found.order_id))

    looked = with_storage(settings_path, look)
    if looked is None:
        raise click.ClickException(f"there is no order {order} in {place(settings_path)}")
    found, events = looked
    if as_json:
        click.echo(json.dumps({**_row(found), "events": [_event(event) for event in events]}))
        return
    for name, value in _row(found).items():
        click.echo(f"{name:18} {value if value is not None else '-'}")
    click.echo("\ndiary")
    for event in events:
        move = f"{event.from_status or '-'} -> {event.to_status}"
        click.echo(f"  {_time(event.at_ms)}  {event.sighting:16} {move:24} {event.evidence}")


def _time(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _row(order: Order) -> dict[str, Any]:
    block = order.inclusion
    return {
        "orderId": order.order_id,
        "kind": order.kind.value,
        "status": order.status.value,
        "txHash": order.tx_hash,
        "wallet": order.wallet,
        "nonce": order.nonce,
        "sellToken": order.sell_token,
        "buyToken": order.buy_token,
        "sellAmount": str(order.sell_amount),
        "minBuyAmount": str(order.min_buy_amount),
        "tier": order.tier,
        "attempts": order.attempts,
        "createdAt": _time(order.created_at_ms),
        "expiresAt": _time(order.expires_at_ms),
        "blockNumber": block.block_number if block else None,
        "failure": f"{order.failure.code}: {order.failure.message}" if order.failure else None,
        "followed": order.watched,
    }


def _event(event: OrderEvent) -> dict[str, Any]:
    return {
        "at": _time(event.at_ms),
        "by": event.sighting,
        "from": event.from_status,
        "to": event.to_status,
        "evidence": event.evidence,
    }
