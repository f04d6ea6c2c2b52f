"""`quietswap keys`: issue, list and revoke API keys. A key is shown once and stored as a hash."""

import json
from pathlib import Path

import click

from quietswap.adapters.clock import SystemClock
from quietswap.cli.database import place, with_storage
from quietswap.cli.settings_option import settings_option
from quietswap.services.api_keys import hash_secret, new_key


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
    with_storage(settings_path, lambda storage: storage.keys.add(key, hash_secret(secret)))
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
    found = with_storage(settings_path, lambda storage: storage.keys.list())
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
        where = place(settings_path)
        click.echo(f"No keys yet in {where}. Create one with: quietswap keys create", err=True)


@keys.command()
@settings_option
@click.argument("key_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(settings_path: Path | None, key_id: str, as_json: bool) -> None:
    """Revoke the key KEY_ID, as `quietswap keys list` shows it, at once. Its orders stay."""
    now = SystemClock().now_ms()
    if not with_storage(settings_path, lambda storage: storage.keys.revoke(key_id, now)):
        raise click.ClickException(f"there is no live key {key_id}: see quietswap keys list")
    if as_json:
        click.echo(json.dumps({"id": key_id, "revokedAt": now}))
        return
    click.echo(f"Key {key_id} is revoked.")
