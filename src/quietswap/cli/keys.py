"""`quietswap keys`: issue, list and revoke API keys. A key is shown once and stored as a hash."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from quietswap.adapters.clock import SystemClock
from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.ports.stores import KeyStore, StoreDown
from quietswap.services.api_keys import hash_secret, new_key
from quietswap.storage.open import open_storage

T = TypeVar("T")


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@settings_option
@click.option("--name", default="default", show_default=True, help="What the key is for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(settings_path: Path | None, name: str, as_json: bool) -> None:
    """Issue a key and show it, this once."""
    key, secret = new_key(name, SystemClock().now_ms())
    _with_store(settings_path, lambda store: store.add(key, hash_secret(secret)))
    if as_json:
        click.echo(json.dumps({"id": key.id, "name": key.name, "key": secret}))
        return
    click.echo(f"{secret}\n")
    click.echo(f"Key {key.id} ({key.name}). Keep it now: it is stored only as a hash.", err=True)


@keys.command("list")
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(settings_path: Path | None, as_json: bool) -> None:
    """List all keys, oldest first, without their secrets."""
    found = _with_store(settings_path, lambda store: store.list())
    if as_json:
        rows = [
            {
                "id": k.id,
                "name": k.name,
                "createdAt": k.created_at_ms,
                "revokedAt": k.revoked_at_ms,
            }
            for k in found
        ]
        click.echo(json.dumps(rows))
        return
    for key in found:
        state = "revoked" if key.revoked_at_ms else "live"
        click.echo(f"{key.id}  {state:8} {key.name}")
    if not found:
        click.echo("No keys yet. Create one with: quietswap keys create", err=True)


@keys.command()
@settings_option
@click.argument("key_id")
def revoke(settings_path: Path | None, key_id: str) -> None:
    """Revoke a key at once; its orders stay."""
    now = SystemClock().now_ms()
    if not _with_store(settings_path, lambda store: store.revoke(key_id, now)):
        raise click.ClickException(f"there is no live key {key_id}")
    click.echo(f"Key {key_id} is revoked.")


def _with_store(path: Path | None, work: Callable[[KeyStore], Awaitable[T]]) -> T:
    settings = read_settings(path)

    async def run() -> T:
        storage = await open_storage(settings.storage.url)
        try:
            return await work(storage.keys)
        finally:
            await storage.close()

    try:
        return asyncio.run(run())
    except StoreDown as error:
        raise click.ClickException(f"the database does not answer: {error}") from error
