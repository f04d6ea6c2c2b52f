"""`quietswap keys`: create, list, rotate and revoke API keys, each shown once, stored as a hash."""

from collections.abc import Sequence
from typing import Any

import click

from quietswap.cli.options.client import client_name, the_client
from quietswap.cli.options.operator import OperatorContext, members, operator_command, secret_option
from quietswap.cli.options.times import EXPIRY, SPAN, time_text
from quietswap.rules.clients import ApiKey, Client, KeyScope
from quietswap.service.base.clock import SystemClock
from quietswap.service.clients import credentials
from quietswap.service.storage.factory import Storage


@click.group()
def keys() -> None:
    """Create, list, rotate and revoke API keys.

    A key opens the door for a client (see `quietswap clients`), which owns orders and quotes.
    """


@operator_command(keys)
@click.option(
    "--name", callback=client_name, default="default", show_default=True,
    help="What the key is for.",
)  # fmt: skip
@click.option(
    "--client", "client_word", metavar="CLIENT",
    help="Id or name of the client that the key is for. Without it, a client is created with the"
    " name of the key.",
)  # fmt: skip
@click.option(
    "--scope", type=click.Choice([scope.value for scope in KeyScope]),
    default=KeyScope.TRADE.value, show_default=True,
    help="trade: everything. read: GET only, so quotes, statuses and history, but no order.",
)  # fmt: skip
@click.option(
    "--expires", "expires_at", type=EXPIRY, metavar="TIME",
    help="When the key ends: 90d, 12h, or 2027-01-31 (UTC). Default: never.",
)  # fmt: skip
@secret_option("qs", "key")
def create(
    context: OperatorContext, name: str, client_word: str | None, scope: str,
    expires_at: int | None, typed_secret: str | None,
) -> None:  # fmt: skip
    """Create a key and show it. It cannot be shown again."""
    now = SystemClock().now_ms()
    fresh = credentials.new_client(name, now)
    key, secret = credentials.new_key(fresh.id, name, now, KeyScope(scope), expires_at)
    secret = typed_secret or secret
    digest = credentials.hash_secret(secret)

    async def add(storage: Storage) -> tuple[ApiKey, Client]:
        if (known := await storage.keys.find(digest)) is not None:
            state = known.state(now)
            raise click.ClickException(f"this key is stored already, as {known.id} ({state})")
        owner = fresh if client_word is None else await the_client(storage, client_word)
        stored = credentials.key_for(owner, key)
        details = {"key": key.id, "name": name, "client": owner.id, "scope": scope}
        audit = context.audit("key_created", **details, expiresAt=expires_at)
        await storage.keys.add(stored, digest, fresh if owner is fresh else None, audit)
        return stored, owner

    key, owner = context.change(
        "key_created", add, creates=True, adds=lambda made: {"client": made[1].id},
        key=key.id, name=name,
    )  # fmt: skip
    _show_once(context, key, owner.name, secret)


def _show_once(
    context: OperatorContext, key: ApiKey, client: str, secret: str, more: str = ""
) -> None:
    context.result(
        {**_row(key), "clientName": client, "key": secret},
        f"{secret}\n",
        f"Key {key.id} ({key.name}) of client {key.client_id} ({client}), scope {key.scope.value}, "
        f"expires {time_text(key.expires_at_ms, 'never')}. "
        f"Keep it now: it is stored only as a hash.{more}",
    )


@operator_command(keys, "list", prints="a JSON array")
@click.option("--client", "client_word", metavar="CLIENT", help="Only keys of this client.")
def list_keys(context: OperatorContext, client_word: str | None) -> None:
    """List all keys, oldest first, without their secrets. Times are UTC.

    The last use is written at most once a minute.
    """

    async def look(storage: Storage) -> list[ApiKey]:
        shown_keys = await storage.keys.list()
        if client_word is None:
            return list(shown_keys)
        owner = await the_client(storage, client_word)
        return [key for key in shown_keys if key.client_id == owner.id]

    shown_keys = context.run(look)
    none = f"No keys yet in {context.url}. Create one with: quietswap keys create"
    context.listing([_row(key) for key in shown_keys], KEY_HEADER, key_rows(shown_keys), none)


KEY_HEADER = ("key", "state", "scope", "client", "name", "created", "expires", "last use")


def key_rows(found: Sequence[ApiKey]) -> list[tuple[str, ...]]:
    """Return the cells below `KEY_HEADER`."""
    now = SystemClock().now_ms()
    return [
        (
            key.id,
            key.state(now),
            key.scope.value,
            key.client_id,
            key.name,
            time_text(key.created_at_ms),
            time_text(key.expires_at_ms, "never"),
            time_text(key.last_used_at_ms, "never"),
        )
        for key in found
    ]


def _row(key: ApiKey) -> dict[str, Any]:
    return members(
        key,
        "id",
        "name",
        "client_id",
        "scope",
        "created_at_ms",
        "revoked_at_ms",
        "expires_at_ms",
        "last_used_at_ms",
        "replaced_by",
    )


@operator_command(keys)
@click.argument("key_id")
@click.option(
    "--overlap", type=SPAN, default="24h", show_default=True,
    help="How long the old key works beside the new one: 30m, 24h, 7d; 0m ends it now.",
)  # fmt: skip
def rotate(context: OperatorContext, key_id: str, overlap: int) -> None:
    """Replace the key KEY_ID by a new one of the same client, and show the new one once.

    Name, scope and lifetime are the same. Orders and history belong to the client and stay. After
    the overlap the old key has expired. A key is rotated once; then its successor is rotated.
    """
    now = SystemClock().now_ms()

    async def work(storage: Storage) -> tuple[ApiKey, str, str, int]:
        old_key = await storage.keys.by_id(key_id)
        key, secret, old_ends = credentials.rotated(old_key, key_id, overlap, now)
        [owner] = await storage.clients.find(key.client_id)
        details = {"key": key.id, "old": key_id, "client": owner.id, "oldExpiresAt": old_ends}
        audit = context.audit("key_rotated", **details)
        if not await storage.keys.rotate(
            key, credentials.hash_secret(secret), key_id, old_ends, audit
        ):
            raise credentials.KeyRefused(f"the key {key_id} was revoked or rotated meanwhile")
        return key, owner.name, secret, old_ends

    key, client, secret, old_ends = context.change(
        "key_rotated", work, adds=lambda made: {"key": made[0].id}, old=key_id[:64]
    )
    verb = "ended at" if old_ends <= now else "works until"
    more = f"\nThe old key {key_id} {verb} {time_text(old_ends)} UTC."
    _show_once(context, key, client, secret, more)


@operator_command(keys)
@click.argument("key_id")
def revoke(context: OperatorContext, key_id: str) -> None:
    """Revoke the key KEY_ID (see `quietswap keys list`) immediately. Orders stay its client's."""
    now = SystemClock().now_ms()
    audit = context.audit("key_revoked", key=key_id)

    async def work(storage: Storage) -> str | None:
        if not await storage.keys.revoke(key_id, now, audit):
            raise credentials.no_live_key(key_id)
        revoked = await storage.keys.by_id(key_id)
        return None if revoked is None else revoked.replaced_by

    successor = context.change("key_revoked", work, key=key_id[:64])
    row = {"id": key_id, "revokedAt": now, "replacedBy": successor}
    context.result(row, f"Key {key_id} is revoked.")
    if successor is not None:
        click.echo(
            f"RPC URLs made with it belong to {successor} and go on. After a leak look for them and"
            " revoke them: quietswap rpc list, quietswap rpc revoke",
            err=True,
        )
