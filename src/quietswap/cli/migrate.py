"""`quietswap migrate`: bring the database to this version's schema."""

import asyncio
import json
from pathlib import Path

import click

from quietswap.cli.outcomes import NotReached
from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.ports.stores import StoreDown
from quietswap.storage.copy import CannotCopy, copy_storage
from quietswap.storage.migrate import SchemaTooNew
from quietswap.storage.open import BadDatabaseUrl, migrate_storage


@click.command()
@settings_option
@click.option(
    "--from",
    "source",
    metavar="URL",
    help="Also copy all of sqlite:///FILE into an empty PostgreSQL.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def migrate(settings_path: Path | None, source: str | None, as_json: bool) -> None:
    """Apply the migrations that are missing; run it before serving from PostgreSQL."""
    url = read_settings(settings_path).storage.url
    copied: dict[str, int] = {}
    try:
        applied = asyncio.run(migrate_storage(url))
        if source is not None:
            copied = asyncio.run(copy_storage(source, url))
    except StoreDown as error:
        raise NotReached(f"{error}: is storage.url right, and the database up?") from error
    except BadDatabaseUrl as error:
        raise click.UsageError(str(error)) from error
    except (SchemaTooNew, CannotCopy) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"applied": list(applied), "copied": copied}))
        return
    for table, rows in copied.items():
        click.echo(f"copied {rows} rows of {table}")
    if applied or not copied:
        click.echo(f"applied {len(applied)}: {', '.join(applied)}" if applied else "nothing to do")
