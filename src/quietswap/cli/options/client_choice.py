"""The client that an operator's command names, by its id or its name."""

from pathlib import Path

import click

from quietswap.cli.options.database import with_storage
from quietswap.ports.clients import Client
from quietswap.storage.factory import Storage

_LONGEST_NAME = 100


def client_name(
    _ctx: click.Context | None, _param: click.Parameter | None, value: str | None
) -> str | None:
    """Return a new name of a client or a key. Raises click.BadParameter."""
    if value is None:
        return None
    if not 1 <= len(value) <= _LONGEST_NAME or not value.isprintable() or value != value.strip():
        raise click.BadParameter(
            f"a name has 1 to {_LONGEST_NAME} characters, all printable, and no space at its ends"
        )
    return value


async def the_client(storage: Storage, id_or_name: str) -> Client:
    """Return the one client with this id or name. Raises click.ClickException."""
    found = await storage.clients.find(id_or_name)
    if not found:
        raise click.ClickException(f"there is no client {id_or_name}: see quietswap clients list")
    if len(found) > 1:
        ids = ", ".join(client.id for client in found)
        raise click.ClickException(
            f"{len(found)} clients have the name {id_or_name}; use an id: {ids}"
        )
    return found[0]


def owner_of(settings_path: Path | None, client: str | None, key_id: str | None) -> str | None:
    """Return the client id that these options name. Raises click.ClickException for an unknown one.

    A key is never deleted, so one that is revoked or expired still names its client. The id of a
    client passes as a key, too: it is what `keyId` of `orders list --json` holds.
    """

    async def of_key(storage: Storage, key_id: str) -> str:
        for key in await storage.keys.list():
            if key.id == key_id:
                return key.client_id
        if key_id in {one.id for one in await storage.clients.find(key_id)}:
            return key_id
        raise click.ClickException(f"there is no key {key_id}: see quietswap keys list")

    if client and key_id:
        raise click.UsageError("--client and --key: give one of them")
    if client:
        return with_storage(settings_path, lambda storage: the_client(storage, client)).id
    if key_id:
        return with_storage(settings_path, lambda storage: of_key(storage, key_id))
    return None
