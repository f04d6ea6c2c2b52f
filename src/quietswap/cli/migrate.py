"""`quietswap migrate`: bring the database to this version's schema."""

import asyncio
from pathlib import Path

import click

from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.ports.stores import StoreDown
from quietswap.storage.migrate import SchemaTooNew
from quietswap.storage.open import BadDatabaseUrl, migrate_storage


@click.command()
@settings_option
def migrate(settings_path: Path | None) -> None:
    """Apply the migrations that are missing; run it before serving from PostgreSQL."""
    settings = read_settings(settings_path)
    try:
        applied = asyncio.run(migrate_storage(settings.storage.url))
    except (StoreDown, SchemaTooNew, BadDatabaseUrl) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"applied {len(applied)}: {', '.join(applied)}" if applied else "nothing to do")
