"""`quietswap clients`: the owners of orders and quotes, with limits and usage."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from quietswap.cli.commands.keys import KEY_HEADER, key_rows
from quietswap.cli.options.client import client_name, the_client
from quietswap.cli.options.client_limits import limit_options, limits_from
from quietswap.cli.options.operator import OperatorContext, members, operator_command
from quietswap.cli.options.times import time_text
from quietswap.rules.clients import ApiKey, AuditEntry, Client, ClientLimits, DayUsage, day_of
from quietswap.rules.errors.clients import usd_text
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients.credentials import new_client
from quietswap.service.storage.factory import Storage


@click.group()
def clients() -> None:
    """Create, list, limit and disable clients: the owners of orders and quotes.

    A client has any number of API keys (`quietswap keys create --client`). To replace a key loses
    nothing: orders, history and limits belong to the client.
    """


@operator_command(clients)
@click.argument("name", callback=client_name)
def create(context: OperatorContext, name: str) -> None:
    """Create a client with this NAME. It has no key and no limit yet."""
    client = new_client(name, SystemClock().now_ms())
    audit = context.audit("client_created", client=client.id, name=name)

    async def add(storage: Storage) -> None:
        if found := await storage.clients.find(name):
            raise click.ClickException(f"a client {name} exists already: {found[0].id}")
        await storage.clients.add(client, audit)

    context.change("client_created", add, creates=True, client=client.id, name=name)
    give = f"Give it a key: quietswap keys create --client {client.id}"
    context.result(_row(client), client.id, f"Client {client.id} ({name}). {give}")


@operator_command(clients, "list", prints="a JSON array")
def list_clients(context: OperatorContext) -> None:
    """List all clients, oldest first. Times are UTC."""

    async def look(storage: Storage) -> tuple[Sequence[Client], Counter[str]]:
        keys = await storage.keys.list()
        counts = Counter(key.client_id for key in keys if not key.revoked_at_ms)
        return await storage.clients.list(), counts

    found, keys = context.run(look)
    rows = [
        (one.id, one.state, one.name, time_text(one.created_at_ms), str(keys[one.id]))
        for one in found
    ]
    header = ("client", "state", "name", "created", "keys")
    none = f"No clients yet in {context.url}: quietswap clients create NAME"
    context.listing([{**_row(one), "keys": keys[one.id]} for one in found], header, rows, none)


@operator_command(clients)
@click.argument("client")
def show(context: OperatorContext, client: str) -> None:
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

    owner, keys, limits, today, open_orders = context.run(look)
    usage = {
        "quotesToday": today.quotes,
        "ordersToday": today.orders,
        "usdToday": usd_text(today.usd_cents),
        "openOrders": open_orders,
    }
    lines = [
        f"{name:22} {time_text(value) if name.endswith('At') else value}"
        for name, value in {**_row(owner), **usage}.items()
    ]
    lines += ["\nlimits", *(f"  {line}" for line in _limit_lines(limits)), ""]
    if not keys and not owner.is_web_session:
        lines.append(f"No key: quietswap keys create --client {owner.id}")
    ids = [key.id for key in keys]
    body = {**_row(owner), "keys": ids, "limits": _limit_row(limits), "usage": usage}
    context.result(body, "\n".join(lines))
    if keys and not context.as_json:
        context.listing(ids, KEY_HEADER, key_rows(keys), "")


@operator_command(clients)
@click.argument("client")
def disable(context: OperatorContext, client: str) -> None:
    """Refuse all keys of CLIENT within a second. Its open orders are still followed.

    `quietswap clients enable` undoes it.
    """
    _switch(context, client, SystemClock().now_ms())


@operator_command(clients)
@click.argument("client")
def enable(context: OperatorContext, client: str) -> None:
    """Accept the keys of the disabled CLIENT again."""
    _switch(context, client, None)


def _switch(context: OperatorContext, word: str, disabled_at_ms: int | None) -> None:
    state = "enabled" if disabled_at_ms is None else "disabled"

    async def work(storage: Storage) -> tuple[Client, int]:
        owner = await the_client(storage, word)
        audit = context.audit(f"client_{state}", client=owner.id, name=owner.name)
        if not await storage.clients.switch(owner.id, disabled_at_ms, audit):
            raise click.ClickException(f"the client {owner.id} ({owner.name}) is {state} already")
        owner = replace(owner, disabled_at_ms=disabled_at_ms)
        return owner, await storage.usage.open_orders(owner.id)

    owner, still_open = context.change(f"client_{state}", work, client=word[:100])
    text = f"Client {owner.id} ({owner.name}) is {state}."
    if disabled_at_ms is not None and still_open:
        text += f"\nIts {still_open} open orders are still followed: quietswap orders list"
    context.result({**_row(owner), "openOrders": still_open}, text)


@operator_command(clients)
@click.argument("client")
@limit_options
def limit(context: OperatorContext, client: str, **given: Any) -> None:
    """Set limits of CLIENT (its id or name); without an option, show them.

    A limit that is not named stays. They count within a second. `none` removes a limit,
    `--any-wallet` and `--any-token` remove a list.
    """

    async def work(storage: Storage) -> ClientLimits:
        owner = await the_client(storage, client)

        def changed(before: ClientLimits, after: ClientLimits) -> AuditEntry:
            old, new = _limit_row(before), _limit_row(after)
            rows = {n: {"from": old[n], "to": new[n]} for n in new if old[n] != new[n]}
            return context.audit("client_limited", client=owner.id, **rows)

        change = partial(limits_from, given=given)
        return await storage.clients.change_limits(owner.id, change, changed)

    after = context.change(
        "client_limited", work, adds=lambda made: {"limits": _limit_row(made)}, client=client[:100]
    )
    context.result(_limit_row(after), "\n".join(_limit_lines(after)))


def _limit_row(limits: ClientLimits) -> dict[str, Any]:
    return {
        **members(limits, "requests_per_minute", "quotes_per_day", "open_orders"),
        "usdPerSwap": _usd(limits.usd_cents_per_swap),
        "usdPerDay": _usd(limits.usd_cents_per_day),
        "wallets": sorted(limits.wallets),
        "tokens": sorted(limits.tokens),
    }


def _usd(cents: int | None) -> str | None:
    return None if cents is None else usd_text(cents)


def _limit_lines(limits: ClientLimits) -> list[str]:
    lists = {name: ", ".join(sorted(getattr(limits, name))) for name in ("wallets", "tokens")}
    row = _limit_row(limits) | {name: text or "any" for name, text in lists.items()}
    return [f"{name:20} {'none' if value is None else value}" for name, value in row.items()]


def _row(client: Client) -> dict[str, Any]:
    return members(client, "id", "name", "created_at_ms", "disabled_at_ms")
