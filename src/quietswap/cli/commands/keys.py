"""`quietswap keys`: create, list, rotate and revoke API keys, each shown once, stored as a hash."""

import json
import re
import sys
from pathlib import Path

import click

from quietswap.cli.options.audit_log import audit_entry, recorded_in_audit_log
from quietswap.cli.options.client import client_name, the_client
from quietswap.cli.options.settings import settings_option, storage_url, with_storage
from quietswap.cli.options.times import EXPIRY, SPAN, time_text
from quietswap.clients.client import ApiKey, Client, KeyScope
from quietswap.clients.credentials import hash_secret, new_client, new_key
from quietswap.clock import SystemClock
from quietswap.storage.factory import Storage


@click.group()
def keys() -> None:
    """Create, list, rotate and revoke API keys.

    A key opens the door for a client (see `quietswap clients`), which owns orders and quotes.
    """


@keys.command()
@settings_option
@click.option(
    "--name",
    callback=client_name,
    default="default",
    show_default=True,
    help="What the key is for.",
)
@click.option(
    "--client",
    "client_word",
    metavar="CLIENT",
    help="Id or name of the client that the key is for. Without it, a client is created with the"
    " name of the key.",
)
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in KeyScope]),
    default=KeyScope.TRADE.value,
    show_default=True,
    help="trade: everything. read: GET only, so quotes, statuses and history, but no order.",
)
@click.option(
    "--expires",
    "expires_at",
    type=EXPIRY,
    metavar="TIME",
    help="When the key ends: 90d, 12h, or 2027-01-31 (UTC). Default: never.",
)
@click.option(
    "--secret-stdin",
    is_flag=True,
    help="Read the key from standard input: qs_ and 64 hexadecimal digits of 256 random bits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(
    settings_path: Path | None, name: str, client_word: str | None, scope: str,
    expires_at: int | None, secret_stdin: bool, as_json: bool,
) -> None:  # fmt: skip
    """Create a key and show it. It cannot be shown again."""
    now = SystemClock().now_ms()
    client = new_client(name, now)
    key, secret = new_key(client.id, name, now, KeyScope(scope), expires_at)
    if secret_stdin:
        secret = _typed_secret()
    digest = hash_secret(secret)

    async def add(storage: Storage) -> tuple[ApiKey, Client]:
        found = await storage.keys.find(digest)
        if found is not None:
            state = _state(found, now)
            raise click.ClickException(f"this key is stored already, as {found.id} ({state})")
        return await _add(storage, key, digest, client, client_word)

    with recorded_in_audit_log(settings_path, "key_created", key=key.id, name=name) as record:
        key, owner = with_storage(settings_path, add, creates=True)
        record["client"] = owner.id
    _show_once(key, owner.name, secret, as_json=as_json)


async def _add(
    storage: Storage, key: ApiKey, digest: bytes, fresh: Client, client_word: str | None
) -> tuple[ApiKey, Client]:
    """Store a key of a chosen client, or of a new one. Raises click.ClickException."""
    owner = fresh
    if client_word is not None:
        owner = await the_client(storage, client_word)
        if owner.is_web_session:
            raise click.ClickException(
                f"{owner.id} is a visitor's session of the wallet page: a key would open its orders"
            )
        if owner.disabled_at_ms is not None:
            raise click.ClickException(f"the client {owner.id} ({owner.name}) is disabled")
    stored = new_owner(key, owner)
    details = {"key": stored.id, "name": stored.name, "client": owner.id, "scope": key.scope.value}
    audit = audit_entry("key_created", **details, expiresAt=key.expires_at_ms)
    await storage.keys.add(stored, digest, fresh if owner is fresh else None, audit)
    return stored, owner


def new_owner(key: ApiKey, owner: Client) -> ApiKey:
    """Return a new key as one of `owner`."""
    return ApiKey(key.id, key.name, key.created_at_ms, None, owner.id, key.scope, key.expires_at_ms)


def _show_once(key: ApiKey, client: str, secret: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**_row(key), "clientName": client, "key": secret}))
        return
    click.echo(f"{secret}\n")
    click.echo(
        f"Key {key.id} ({key.name}) of client {key.client_id} ({client}), scope {key.scope.value}, "
        f"expires {time_text(key.expires_at_ms, 'never')}. "
        "Keep it now: it is stored only as a hash.",
        err=True,
    )


_SECRET = re.compile(r"qs_[0-9a-f]{64}")


def _typed_secret() -> str:
    """Return the key on standard input. Raises click.UsageError, which never shows the input."""
    secret = sys.stdin.read(256).strip()
    if not _SECRET.fullmatch(secret):
        raise click.UsageError(
            "--secret-stdin: a key is qs_ and 64 lower-case hexadecimal digits; make one with: "
            'echo "qs_$(openssl rand -hex 32)"'
        )
    return secret


@keys.command("list")
@settings_option
@click.option("--client", "client_word", metavar="CLIENT", help="Only keys of this client.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(settings_path: Path | None, client_word: str | None, as_json: bool) -> None:
    """List all keys, oldest first, without their secrets. Times are UTC.

    The last use is written at most once a minute.
    """

    async def look(storage: Storage) -> list[ApiKey]:
        found = await storage.keys.list()
        if client_word is None:
            return list(found)
        owner = await the_client(storage, client_word)
        return [key for key in found if key.client_id == owner.id]

    found = with_storage(settings_path, look)
    if as_json:
        click.echo(json.dumps([_row(key) for key in found]))
    elif found:
        print_keys(found)
    else:
        where = storage_url(settings_path)
        click.echo(f"No keys yet in {where}. Create one with: quietswap keys create", err=True)


def print_keys(found: list[ApiKey]) -> None:
    """Print a table of keys."""
    from quietswap.cli.output.tables import print_table

    now = SystemClock().now_ms()
    header = ("key", "state", "scope", "client", "name", "created", "expires", "last use")
    rows = [
        (
            key.id,
            _state(key, now),
            key.scope.value,
            key.client_id,
            key.name,
            time_text(key.created_at_ms),
            time_text(key.expires_at_ms, "never"),
            time_text(key.last_used_at_ms, "never"),
        )
        for key in found
    ]
    print_table(header, rows)


def _state(key: ApiKey, now_ms: int) -> str:
    if key.revoked_at_ms is not None:
        return "revoked"
    if key.expires_at_ms is not None and key.expires_at_ms <= now_ms:
        return "expired"
    return "disabled" if key.is_client_disabled else "live"


def _row(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "clientId": key.client_id,
        "scope": key.scope.value,
        "createdAt": key.created_at_ms,
        "revokedAt": key.revoked_at_ms,
        "expiresAt": key.expires_at_ms,
        "lastUsedAt": key.last_used_at_ms,
        "replacedBy": key.replaced_by,
    }


@keys.command()
@settings_option
@click.argument("key_id")
@click.option(
    "--overlap",
    type=SPAN,
    default="24h",
    show_default=True,
    help="How long the old key works beside the new one: 30m, 24h, 7d; 0m ends it now.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def rotate(settings_path: Path | None, key_id: str, overlap: int, as_json: bool) -> None:
    """Replace the key KEY_ID by a new one of the same client, and show the new one once.

    Name, scope and lifetime are the same. Orders and history belong to the client and stay. After
    the overlap the old key has expired. A key is rotated once; then its successor is rotated.
    """
    now = SystemClock().now_ms()

    async def work(storage: Storage) -> tuple[ApiKey, str, str, int]:
        old = await _rotatable(storage, key_id)
        [owner] = await storage.clients.find(old.client_id)
        ends = old.expires_at_ms
        old_ends = now + overlap if ends is None else min(ends, now + overlap)
        ends = None if ends is None else now + ends - old.created_at_ms
        key, secret = new_key(old.client_id, old.name, now, old.scope, ends)
        details = {"key": key.id, "old": old.id, "client": owner.id, "oldExpiresAt": old_ends}
        audit = audit_entry("key_rotated", **details)
        if not await storage.keys.rotate(key, hash_secret(secret), old.id, old_ends, audit):
            raise click.ClickException(f"the key {key_id} was revoked or rotated meanwhile")
        return key, owner.name, secret, old_ends

    with recorded_in_audit_log(settings_path, "key_rotated", old=key_id[:64]) as record:
        key, client, secret, old_ends = with_storage(settings_path, work)
        record["key"] = key.id
    _show_once(key, client, secret, as_json=as_json)
    if not as_json:
        verb = "ended at" if old_ends <= now else "works until"
        click.echo(f"The old key {key_id} {verb} {time_text(old_ends)} UTC.", err=True)


async def _rotatable(storage: Storage, key_id: str) -> ApiKey:
    """Return the key if it may be rotated. Raises click.ClickException."""
    key = next((key for key in await storage.keys.list() if key.id == key_id), None)
    if key is None or key.revoked_at_ms is not None:
        raise click.ClickException(f"there is no live key {key_id}: see quietswap keys list")
    if key.is_client_disabled:
        raise click.ClickException(f"the client {key.client_id} of {key_id} is disabled")
    if key.replaced_by is not None:
        raise click.ClickException(
            f"the key {key_id} was replaced by {key.replaced_by} already. If the new secret is"
            f" lost: quietswap keys rotate {key.replaced_by}"
        )
    return key


@keys.command()
@settings_option
@click.argument("key_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(settings_path: Path | None, key_id: str, as_json: bool) -> None:
    """Revoke the key KEY_ID (see `quietswap keys list`) immediately. Orders stay its client's."""
    now = SystemClock().now_ms()
    audit = audit_entry("key_revoked", key=key_id)

    async def work(storage: Storage) -> str | None:
        if not await storage.keys.revoke(key_id, now, audit):
            raise click.ClickException(f"there is no live key {key_id}: see quietswap keys list")
        revoked = await storage.keys.by_id(key_id)
        return None if revoked is None else revoked.replaced_by

    with recorded_in_audit_log(settings_path, "key_revoked", key=key_id[:64]):
        successor = with_storage(settings_path, work)
    if as_json:
        click.echo(json.dumps({"id": key_id, "revokedAt": now, "replacedBy": successor}))
    else:
        click.echo(f"Key {key_id} is revoked.")
    if successor is not None:
        click.echo(
            f"RPC URLs made with it belong to {successor} and go on. After a leak look for them and"
            " revoke them: quietswap rpc list, quietswap rpc revoke",
            err=True,
        )
