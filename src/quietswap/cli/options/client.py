"""The client that an operator's command names, by its id or its name."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from quietswap.cli.options.operator import OperatorContext
from quietswap.rules.clients import Client
from quietswap.service.storage.factory import Storage

F = TypeVar("F", bound=Callable[..., Any])

_LONGEST_NAME = 100


def client_name(_context: click.Context, _param: click.Parameter, value: str) -> str:
    """Return a new name of a client or a key. Raises click.BadParameter."""
    if not 1 <= len(value) <= _LONGEST_NAME or not value.isprintable() or value != value.strip():
        raise click.BadParameter(
            f"a name has 1 to {_LONGEST_NAME} characters, all printable, and no space at its ends"
        )
    return value


async def the_client(storage: Storage, id_or_name: str) -> Client:
    """Return the one client with this id or name. Raises click.ClickException."""
    clients = await storage.clients.find(id_or_name)
    if len(clients) == 1:
        return clients[0]
    text = f"there is no client {id_or_name}: see quietswap clients list"
    if clients:
        ids = ", ".join(client.id for client in clients)
        text = f"{len(clients)} clients have the name {id_or_name}; use an id: {ids}"
    raise click.ClickException(text)


def owner_options(command: F) -> F:
    """Add the options whose values `owner_of` takes."""
    by_key = click.option(
        "--key", "key_id", metavar="KEY_ID", help="Only orders of the client of this key."
    )
    return click.option(
        "--client", metavar="CLIENT", help="Only orders of this client: its id or name."
    )(by_key(command))


def owner_of(context: OperatorContext, client: str | None, key_id: str | None) -> str | None:
    """Return the client id that these options name. Raises click.ClickException for an unknown one.

    A key is never deleted, so one that is revoked or expired still names its client. The id of a
    client passes as a key, too: it is what `keyId` of `orders list --json` holds.
    """

    async def of_key(storage: Storage, key_id: str) -> str:
        if key := await storage.keys.by_id(key_id):
            return key.client_id
        if key_id in {one.id for one in await storage.clients.find(key_id)}:
            return key_id
        raise click.ClickException(f"there is no key {key_id}: see quietswap keys list")

    if client and key_id:
        raise click.UsageError("--client and --key: give one of them")
    if client:
        return context.run(lambda storage: the_client(storage, client)).id
    if key_id:
        return context.run(lambda storage: of_key(storage, key_id))
    return None
