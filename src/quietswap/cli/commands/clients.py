"""`quietswap clients`: the owners of orders and quotes, with limits and usage."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from quietswap.cli.commands.keys import print_keys
from quietswap.cli.options.audit_log import audit_entry, recorded_in_audit_log
from quietswap.cli.options.client import client_name, limit_options, limits_from, the_client
from quietswap.cli.options.settings import settings_option, storage_url, with_storage
from quietswap.cli.options.times import time_text
from quietswap.clients.client import ApiKey, AuditEntry, Client, ClientLimits, DayUsage, day_of
from quietswap.clients.credentials import new_client
from quietswap.clock import SystemClock
from quietswap.errors.clients import usd_text
from quietswap.storage.factory import Storage


@click.group()
def clients() -> None:
    """Create, list, limit and disable clients: the owners of orders and quotes.

    A client has any number of API keys (`quietswap keys create --client`). To replace a key loses
    nothing: orders, history and limits belong to the client.
    """


@clients.command()
@settings_option
@click.argument("name", callback=client_name)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(settings_path: Path | None, name: str, as_json: bool) -> None:
    """Create a client with this NAME. It has no key and no limit yet."""
    client = new_client(name, SystemClock().now_ms())

    async def add(storage: Storage) -> None:
        if found := await storage.clients.find(name):
            raise click.ClickException(f"a client {name} exists already: {found[0].id}")
        await storage.clients.add(
            client, audit_entry("client_created", client=client.id, name=name)
        )

    with recorded_in_audit_log(settings_path, "client_created", client=client.id, name=name):
        with_storage(settings_path, add, creates=True)
    if as_json:
        click.echo(json.dumps(_row(client)))
        return
    click.echo(client.id)
    click.echo(
        f"Client {client.id} ({name}). Give it a key: quietswap keys create --client {client.id}",
        err=True,
    )


@clients.command("list")
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_clients(settings_path: Path | None, as_json: bool) -> None:
    """List all clients, oldest first. Times are UTC."""

    async def look(storage: Storage) -> list[tuple[Client, int]]:
        keys = await storage.keys.list()
        return [
            (client, sum(key.client_id == client.id and not key.revoked_at_ms for key in keys))
            for client in await storage.clients.list()
        ]

    found = with_storage(settings_path, look)
    if as_json:
        click.echo(json.dumps([{**_row(client), "keys": count} for client, count in found]))
    elif found:
        from quietswap.cli.output.tables import print_table

        header = ("client", "state", "name", "created", "keys")
        rows = [
            (one.id, _state(one), one.name, time_text(one.created_at_ms), str(count))
            for one, count in found
        ]
        print_table(header, rows)
    else:
        where = storage_url(settings_path)
        click.echo(f"No clients yet in {where}: quietswap clients create NAME", err=True)


@clients.command()
@settings_option
@click.argument("client")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(settings_path: Path | None, client: str, as_json: bool) -> None:
    """Show CLIENT (its id or name): keys, limits, and what it has used on this UTC day."""

    async def look(storage: Storage) -> tuple[Client, list[ApiKey], ClientLimits, DayUsage, int]:
        owner = await the_client(storage, client)
        return (
            owner,
            [key for key in await storage.keys.list() if key.client_id == owner.id],
            await storage.clients.limits(owner.id),
            await storage.usage.day(owner.id, day_of(SystemClock().now_ms())),
            await storage.usage.open_orders(owner.id),
        )

    owner, keys, limits, today, open_orders = with_storage(settings_path, look)
    usage = {
        "quotesToday": today.quotes,
        "ordersToday": today.orders,
        "usdToday": usd_text(today.usd_cents),
        "openOrders": open_orders,
    }
    if as_json:
        ids = [key.id for key in keys]
        body = {**_row(owner), "keys": ids, "limits": _limit_row(limits), "usage": usage}
        click.echo(json.dumps(body))
        return
    for name, value in {**_row(owner), **usage}.items():
        click.echo(f"{name:22} {time_text(value) if name.endswith('At') else value}")
    click.echo("\nlimits")
    for name, value in _limit_row(limits).items():
        click.echo(f"  {name:20} {_limit_text(value)}")
    click.echo("")
    if keys:
        print_keys(keys)
    elif not owner.is_web_session:
        click.echo(f"No key: quietswap keys create --client {owner.id}")


@clients.command()
@settings_option
@click.argument("client")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def disable(settings_path: Path | None, client: str, as_json: bool) -> None:
    """Refuse all keys of CLIENT within a second. Its open orders are still followed.

    `quietswap clients enable` undoes it.
    """
    _switch(settings_path, client, disabled=True, as_json=as_json)


@clients.command()
@settings_option
@click.argument("client")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def enable(settings_path: Path | None, client: str, as_json: bool) -> None:
    """Accept the keys of the disabled CLIENT again."""
    _switch(settings_path, client, disabled=False, as_json=as_json)


def _switch(settings_path: Path | None, word: str, *, disabled: bool, as_json: bool) -> None:
    state = "disabled" if disabled else "enabled"
    at_ms = SystemClock().now_ms() if disabled else None

    async def work(storage: Storage) -> tuple[Client, int]:
        owner = await the_client(storage, word)
        audit = audit_entry(f"client_{state}", client=owner.id, name=owner.name)
        if not await storage.clients.switch(owner.id, at_ms, audit):
            raise click.ClickException(f"the client {owner.id} ({owner.name}) is {state} already")
        return replace(owner, disabled_at_ms=at_ms), await storage.usage.open_orders(owner.id)

    with recorded_in_audit_log(settings_path, f"client_{state}", client=word[:100]):
        owner, still_open = with_storage(settings_path, work)
    if as_json:
        click.echo(json.dumps({**_row(owner), "openOrders": still_open}))
        return
    click.echo(f"Client {owner.id} ({owner.name}) is {state}.")
    if disabled and still_open:
        click.echo(f"Its {still_open} open orders are still followed: quietswap orders list")


@clients.command()
@settings_option
@click.argument("client")
@limit_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def limit(settings_path: Path | None, client: str, as_json: bool, **given: Any) -> None:
    """Set limits of CLIENT (its id or name); without an option, show them.

    A limit that is not named stays. They count within a second. `none` removes a limit,
    `--any-wallet` and `--any-token` remove a list.
    """

    async def work(storage: Storage) -> ClientLimits:
        owner = await the_client(storage, client)

        def changed(before: ClientLimits, after: ClientLimits) -> AuditEntry:
            old, new = _limit_row(before), _limit_row(after)
            rows = {n: {"from": old[n], "to": new[n]} for n in new if old[n] != new[n]}
            return audit_entry("client_limited", client=owner.id, **rows)

        def change(before: ClientLimits) -> ClientLimits:
            return limits_from(before, given)

        return await storage.clients.change_limits(owner.id, change, changed)

    with recorded_in_audit_log(settings_path, "client_limited", client=client[:100]) as record:
        after = with_storage(settings_path, work)
        record["limits"] = _limit_row(after)
    if as_json:
        click.echo(json.dumps(_limit_row(after)))
        return
    for name, value in _limit_row(after).items():
        click.echo(f"{name:20} {_limit_text(value)}")


def _limit_row(limits: ClientLimits) -> dict[str, Any]:
    return {
        "requestsPerMinute": limits.requests_per_minute,
        "quotesPerDay": limits.quotes_per_day,
        "openOrders": limits.open_orders,
        "usdPerSwap": _usd(limits.usd_cents_per_swap),
        "usdPerDay": _usd(limits.usd_cents_per_day),
        "wallets": sorted(limits.wallets),
        "tokens": sorted(limits.tokens),
    }


def _usd(cents: int | None) -> str | None:
    return None if cents is None else usd_text(cents)


def _limit_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "any"
    return "none" if value is None else str(value)


def _state(client: Client) -> str:
    return "live" if client.disabled_at_ms is None else "disabled"


def _row(client: Client) -> dict[str, Any]:
    return {
        "id": client.id,
        "name": client.name,
        "createdAt": client.created_at_ms,
        "disabledAt": client.disabled_at_ms,
    }
