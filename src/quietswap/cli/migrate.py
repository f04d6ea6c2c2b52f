"""`quietswap migrate`: bring the database to this version's schema."""

import asyncio
import json
from pathlib import Path

import click

from quietswap.cli.outcomes import NotReached
from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.ports.stores import StoreDown
from quietswap.storage.migrate import SchemaTooNew
from quietswap.storage.open import BadDatabaseUrl, migrate_storage


@click.command()
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def migrate(settings_path: Path | None, as_json: bool) -> None:
    """Apply the migrations that are missing; run it before serving from PostgreSQL."""
    settings = read_settings(settings_path)
    try:
        applied = asyncio.run(migrate_storage(settings.storage.url))
    except StoreDown as error:
        raise NotReached(f"{error}: is storage.url right, and the database up?") from error
    except (SchemaTooNew, BadDatabaseUrl) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"applied": list(applied)}))
        return
    click.echo(f"applied {len(applied)}: {', '.join(applied)}" if applied else "nothing to do")
